#include "supervisor/policy/actions/gang_room.hpp"

#include <algorithm>

#include "supervisor/policy/fitting/band_score.hpp"

namespace penstock::policy {

GangRoom::GangRoom(const Trial& trial, const std::vector<std::uint32_t>& members) : trial_(&trial) {
  if (members.size() < 2) return;
  const auto& all = trial.snapshot().members;
  const Member& first = all[members.front()];
  const auto is_alike = [&](std::uint32_t member) {
    const Member& each = all[member];
    return each.devices == 0 && each.request == first.request && each.band_list == first.band_list;
  };
  if (!std::all_of(members.begin(), members.end(), is_alike)) return;
  member_ = members.front();
  wanted_ = std::ssize(members);
  for (const std::uint32_t band : trial.bands())
    if (is_allowed(band)) fits_anyway_ += count(trial.room(band).later());
}

bool GangRoom::is_allowed(std::uint32_t band) const {
  return trial_->room(band).open && band_allowed(trial_->snapshot(), trial_->snapshot().members[member_], band);
}

/// At most as many as are wanted.
std::int64_t GangRoom::count(const Resources& room) const {
  const Resources& request = trial_->snapshot().members[member_].request;
  if (!request.within(room)) return 0;
  std::int64_t most = wanted_;
  for (std::size_t resource = 0; resource < kResources; ++resource)
    if (request.of(resource) > 0) most = std::min(most, room.of(resource) / request.of(resource));
  return most;
}

std::int64_t GangRoom::gain(std::uint32_t band, const Resources& room) const {
  if (wanted_ == 0 || !is_allowed(band)) return 0;
  return count(room) - count(trial_->room(band).later());
}

bool GangRoom::might_fit(const Rooms& rooms) const {
  std::int64_t more = 0;
  if (is_enough(more)) return true;
  for (const auto& [band, room] : rooms) more += gain(band, room);
  return is_enough(more);
}

bool GangRoom::might_fit(const BestCaseRoom& best_case) const {
  std::int64_t fits = 0;
  for (const std::uint32_t band : trial_->bands()) {
    if (fits >= wanted_) break;
    if (is_allowed(band)) fits += best_case.might_hold_of(member_, band, wanted_);
  }
  return fits >= wanted_;
}

}  // namespace penstock::policy
