#include "supervisor/policy/actions/band_profiles.hpp"

#include <algorithm>
#include <utility>

namespace penstock::policy {

void BandProfiles::make() {
  if (!profiles_.empty()) return;
  const Snapshot& snapshot = pass_.snapshot();
  std::vector<std::vector<SlotsReturn>> returns(snapshot.bands.size());
  for (const std::uint32_t each : pass_.running()) {
    const Member& member = snapshot.members[each];
    for (const Place& place : member.places)
      returns[place.band].push_back({snapshot.workloads[member.workload].ends_by.value_or(kNever), place.slots});
  }
  for (std::size_t i = 0; i < started_.size(); ++i) returns[started_on_[i]].push_back(started_[i]);
  profiles_.reserve(snapshot.bands.size());
  for (std::uint32_t band = 0; band < snapshot.bands.size(); ++band)
    profiles_.emplace_back(snapshot.now, pass_.trial().room(band).free(), std::move(returns[band]));
}

OwnPlace BandProfiles::choose(const Member& member, Duration limit) {
  make();
  OwnPlace best;
  const auto look_at = [&](std::uint32_t band) {
    if (!pass_.trial().could_hold(member, band)) return;
    const OwnPlace here{band, of(band).earliest(member.slots, limit), of(band).free_now()};
    if (best.band == kNone || here.at < best.at || (here.at == best.at && here.free > best.free)) best = here;
  };
  if (member.allowed_bands.empty())
    for (std::uint32_t band = 0; band < profiles_.size(); ++band) look_at(band);
  else
    for (const std::uint32_t band : member.allowed_bands) look_at(band);
  return best;
}

void BandProfiles::keep_from_searches(std::uint32_t band) {
  if (std::find(reserved_.begin(), reserved_.end(), band) == reserved_.end()) {
    reserved_.push_back(band);
    failed_.clear();
  }
  if (const std::int64_t free = pass_.trial().room(band).free(); free > 0) pass_.trial().take({{band, free}});
}

void BandProfiles::reserve(const OwnPlace& place, std::int64_t slots, Duration limit) {
  if (place.at != kNever)
    of(place.band).occupy(place.at, limit, slots);
  else
    of(place.band).occupy(pass_.snapshot().now, Duration::max(), std::min(place.free, slots));
  keep_from_searches(place.band);
}

std::vector<Place> BandProfiles::place_in_gap(const Member& member, Duration limit) {
  if (member.slots == 0) return {};
  const bool anywhere = member.allowed_bands.empty() && member.blocked_bands.empty() && member.label.empty();
  const auto as_much = [&](const Failed& failed) { return failed.slots <= member.slots && failed.limit <= limit; };
  if (anywhere && std::any_of(failed_.begin(), failed_.end(), as_much)) return {};
  for (const std::uint32_t band : reserved_) {
    if (!pass_.trial().could_hold(member, band) || !of(band).is_free_now(member.slots, limit)) continue;
    pass_.trial().give_back({{band, member.slots}});
    return {{band, member.slots}};
  }
  if (anywhere) failed_.push_back({member.slots, limit});
  return {};
}

void BandProfiles::note_start(const std::vector<Place>& places, Duration limit) {
  const Instant now = pass_.snapshot().now;
  for (const Place& place : places) {
    if (!profiles_.empty()) {
      of(place.band).occupy(now, limit, place.slots);
      continue;
    }
    started_.push_back({later(now, limit), place.slots});
    started_on_.push_back(place.band);
  }
}

}  // namespace penstock::policy
