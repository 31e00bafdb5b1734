#include "supervisor/policy/actions/victim_search.hpp"

#include <algorithm>
#include <cstddef>

namespace penstock::policy {
namespace {

/// A member that was passed on the way and does not help stays.
void spare_needless(const Snapshot& snapshot, SlotTrial& trial, const Member& subject,
                    std::vector<std::uint32_t>& victims) {
  for (std::size_t i = victims.size(); i-- > 0;) {
    const std::size_t mark = trial.mark();
    trial.take(snapshot.members[victims[i]].places);
    if (trial.find(subject).empty())
      trial.undo_to(mark);
    else
      victims.erase(victims.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

std::vector<std::uint32_t> find_victims(const Snapshot& snapshot, SlotTrial& trial, const Member& subject,
                                        const std::vector<std::uint32_t>& candidates) {
  const std::size_t mark = trial.mark();
  for (const std::uint32_t each : candidates) trial.give_back(snapshot.members[each].places);
  const bool possible = !trial.find(subject).empty();
  trial.undo_to(mark);
  if (!possible) return {};
  std::vector<std::uint32_t> victims;
  for (const std::uint32_t each : candidates) {
    const std::vector<Place>& places = snapshot.members[each].places;
    trial.give_back(places);
    victims.push_back(each);
    // Only a band that has changed can make the difference.
    const bool changed = std::any_of(places.begin(), places.end(), [&](const Place& place) {
      return subject.part_list != kNone || trial.fits_on(subject, place.band) ||
             (subject.slots > 1 && trial.unused(place.band));
    });
    if (changed && !trial.find(subject).empty()) break;
  }
  spare_needless(snapshot, trial, subject, victims);
  return victims;
}

}  // namespace penstock::policy
