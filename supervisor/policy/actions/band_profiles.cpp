#include "supervisor/policy/actions/band_profiles.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <utility>

namespace penstock::policy {

void BandProfiles::make() {
  if (!profiles_.empty()) return;
  const Snapshot& snapshot = pass_.snapshot();
  std::vector<std::vector<SlotsReturn>> returns(snapshot.bands.size());
  for (const std::uint32_t each : pass_.running()) {
    const Member& member = snapshot.members[each];
    const Workload& owner = snapshot.workloads[member.workload];
    const bool counts = ends_ == Ends::Assumed || owner.limit_is_kept;
    for (const Place& place : member.places)
      returns[place.band].push_back({counts ? owner.ends_by.value_or(kNever) : kNever, place.slots});
  }
  for (std::size_t i = 0; i < started_.size(); ++i) returns[started_on_[i]].push_back(started_[i]);
  profiles_.reserve(snapshot.bands.size());
  for (std::uint32_t band = 0; band < snapshot.bands.size(); ++band)
    profiles_.emplace_back(snapshot.now, pass_.trial().room(band).free(), std::move(returns[band]),
                           pass_.parts().overrun);
}

std::vector<OwnPlace> BandProfiles::choose(const Member& member, Duration limit, Instant not_before) {
  make();
  if (member.part_list != kNone) return choose_parts(member, limit, not_before);
  if (const OwnPlace one = choose_one(member, limit, not_before); one.band != kNone) return {one};
  return member.single_band ? std::vector<OwnPlace>{} : choose_whole(member, limit, not_before);
}

/// All parts at the time when the last one can start.
std::vector<OwnPlace> BandProfiles::choose_parts(const Member& member, Duration limit, Instant not_before) {
  for (Instant at = not_before;;) {
    std::vector<OwnPlace> chosen;
    Instant last = at;
    for (const MemberPart& part : pass_.snapshot().part_lists[member.part_list]) {
      const std::vector<OwnPlace> of_part = choose(part_of(member, part), limit, at);
      if (of_part.empty()) return {};
      last = std::max(last, of_part.front().at);
      chosen.insert(chosen.end(), of_part.begin(), of_part.end());
    }
    if (last == at || last == kNever) {
      for (OwnPlace& each : chosen) each.at = last;
      return chosen;
    }
    at = last;
  }
}

OwnPlace BandProfiles::choose_one(const Member& member, Duration limit, Instant not_before) {
  OwnPlace best;
  const auto look_at = [&](std::uint32_t band) {
    if (!pass_.trial().could_hold(member, band)) return;
    const OwnPlace here{band, of(band).earliest(member.slots, limit, not_before), of(band).free_now(), member.slots};
    if (best.band == kNone || here.at < best.at || (here.at == best.at && here.free > best.free)) best = here;
  };
  for (const std::uint32_t band : bands_for(member)) look_at(band);
  return best;
}

/// The bands that it names, or all.
std::vector<std::uint32_t> BandProfiles::bands_for(const Member& member) const {
  const std::span<const std::uint32_t> listed = pass_.snapshot().bands_of(member);
  std::vector<std::uint32_t> bands{listed.begin(), listed.end()};
  if (!listed.empty()) return bands;
  bands.resize(profiles_.size());
  std::iota(bands.begin(), bands.end(), 0U);
  return bands;
}

std::vector<OwnPlace> BandProfiles::choose_whole(const Member& member, Duration limit, Instant not_before) {
  for (Instant at = not_before;;) {
    std::vector<OwnPlace> by_time;
    for (const std::uint32_t band : bands_for(member)) {
      Member part = member;
      part.slots = band < profiles_.size() ? pass_.trial().room(band).slots : 0;
      if (part.slots > 0 && pass_.trial().could_hold(part, band))
        by_time.push_back({band, of(band).earliest(part.slots, limit, at), of(band).free_now(), part.slots});
    }
    std::stable_sort(by_time.begin(), by_time.end(),
                     [](const OwnPlace& a, const OwnPlace& b) { return a.at != b.at ? a.at < b.at : a.free > b.free; });
    std::vector<OwnPlace> chosen = first_that_hold(by_time, member.slots);
    Instant last = at;
    for (const OwnPlace& each : chosen) last = std::max(last, each.at);
    // Another job may have taken one of them by the time when the last is free.
    if (last == at || last == kNever) {
      for (OwnPlace& each : chosen) each.at = last;
      return chosen;
    }
    at = last;
  }
}

/// Whole bands of one size, or of several where the pool allows that.
std::vector<OwnPlace> BandProfiles::first_that_hold(const std::vector<OwnPlace>& by_time, std::int64_t slots) const {
  std::map<std::int64_t, std::vector<OwnPlace>, std::greater<>> sizes;
  for (const OwnPlace& each : by_time) {
    const std::int64_t added = pass_.trial().room(each.band).slots;
    std::vector<OwnPlace>& equal = sizes[added];
    equal.push_back(each);
    if (slots % added == 0 && std::ssize(equal) * added >= slots) return equal;
    if (!pass_.parts().mixed_sizes) continue;
    std::vector<OwnPlace> mixed;
    std::int64_t missing = slots;
    for (const auto& [size, bands] : sizes) {
      const std::int64_t count = std::min(missing / size, std::ssize(bands));
      mixed.insert(mixed.end(), bands.begin(), bands.begin() + count);
      missing -= count * size;
    }
    if (missing == 0) return mixed;
  }
  return {};
}

void BandProfiles::keep_from_searches(std::uint32_t band) {
  if (std::find(reserved_.begin(), reserved_.end(), band) == reserved_.end()) {
    reserved_.push_back(band);
    failed_.clear();
  }
  if (const std::int64_t free = pass_.trial().room(band).free(); free > 0) pass_.trial().take({{band, free}});
}

void BandProfiles::reserve(const OwnPlace& place, Duration limit) {
  if (place.at != kNever)
    of(place.band).occupy(place.at, limit, place.slots);
  else
    of(place.band).occupy(pass_.snapshot().now, Duration::max(), std::min(place.free, place.slots));
  keep_from_searches(place.band);
}

std::vector<Place> BandProfiles::place_in_gap(const Member& member, Duration limit) {
  if (member.slots == 0) return {};
  const bool anywhere = member.band_list == kNone;
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
