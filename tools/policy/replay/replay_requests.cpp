#include "tools/policy/replay/replay_requests.hpp"

#include <algorithm>
#include <tuple>

#include "supervisor/policy/slot_granularity.hpp"
#include "supervisor/policy/slot_trial.hpp"

namespace penstock::policy {

ReplayRequests::ReplayRequests(const ReplayTrace& trace, const Parts& parts, const TypicalRequests& typical)
    : parts_(parts), by_slots_(parts.sharing != Sharing::QuotaTree) {
  empty_.bands = trace.bands;
  if (by_slots_) {
    std::uint64_t granularity = 1000;
    for (const ReplayJob& job : trace.jobs)
      if (job.devices == 1) granularity = granularity_with(granularity, static_cast<std::uint64_t>(job.device_share));
    granularity_ = static_cast<std::int64_t>(granularity);
    for (Band& band : empty_.bands) {
      band.slots = band.capacity.gpu / granularity_;
      band.light_places = static_cast<std::int64_t>(kTraceLinesMax);  // CPU and memory bound them.
    }
  }
  const ReplayRooms rooms{empty_.bands, typical};
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::vector<std::uint32_t>>,
           std::uint32_t>
      known;
  for (const ReplayJob& job : trace.jobs) {
    const auto [kind, is_new] =
        known.try_emplace({job.members, job.devices, job.device_share, job.cpu_milli, job.memory_mib, job.bands},
                          static_cast<std::uint32_t>(known.size()));
    if (is_new) add_kind(job, rooms);
    kinds_.push_back(kind->second);
  }
}

std::int64_t ReplayRequests::slots_of(const ReplayJob& job) const {
  return (job.devices * job.device_share + granularity_ - 1) / granularity_;
}

RoomDemand ReplayRequests::demand_of(const ReplayJob& job) const {
  RoomDemand demand{job.cpu_milli, job.memory_mib << 20, 0, 0};
  const std::int64_t milli = by_slots_ ? slots_of(job) * granularity_ : job.devices * job.device_share;
  (milli < 1000 ? demand.part : demand.whole) = milli < 1000 ? milli : milli / 1000;
  return demand;
}

std::vector<Member> ReplayRequests::members_of(const ReplayJob& job) const {
  std::vector<Member> members;
  for (std::int64_t i = 0; i < (by_slots_ ? 1 : job.members); ++i) {
    Member& member = members.emplace_back();
    member.name = job.name + "." + std::to_string(i);
    member.requested = i;
    member.single_band = !by_slots_ || job.members == 1;
    if (by_slots_) {
      member.slots = slots_of(job) * job.members;
      continue;
    }
    member.request = {job.cpu_milli, job.memory_mib << 20, 0};
    if (job.devices == 1 && job.device_share < 1000) {
      member.devices = 1;
      member.device_share = job.device_share;
    } else {
      member.request.gpu = job.devices * 1000;
    }
  }
  return members;
}

std::int64_t ReplayRequests::together_on(const ReplayJob& job, std::uint32_t band) const {
  if (!by_slots_ || job.devices == 0 || job.members == 1) return 1;
  return std::max<std::int64_t>(1, std::min(job.members, empty_.bands[band].slots / slots_of(job)));
}

std::vector<RoomHolding> ReplayRequests::holdings_of(const ReplayJob& job, const std::vector<Member>& members) const {
  std::vector<RoomHolding> all;
  const RoomDemand demand = demand_of(job);
  if (!by_slots_) {
    for (const Member& member : members)
      all.push_back(
          {member.places.front().band, demand, member.device_groups.empty() ? kNone : member.device_groups.front()});
    return all;
  }
  const std::int64_t each = slots_of(job);
  for (const Place& place : members.front().places) {
    for (std::int64_t i = 0; i < place.slots / each; ++i) all.push_back({place.band, demand, kNone});
    // Of a member that lies across two bands, rather too much than too little.
    if (const std::int64_t rest = place.slots % each; rest > 0)
      all.push_back({place.band, {demand.cpu_milli, demand.memory, (rest * granularity_ + 999) / 1000, 0}, kNone});
  }
  return all;
}

void ReplayRequests::add_kind(const ReplayJob& job, const ReplayRooms& rooms) {
  std::vector<std::uint32_t>& possible = possible_.emplace_back();
  const RoomDemand demand = demand_of(job);
  std::int64_t together = 0;
  const auto look = [&](std::uint32_t band) {
    const std::int64_t here = rooms.room_for(band, demand, job.members);
    if (here > 0) possible.push_back(band);
    together += here;
  };
  if (job.bands.empty())
    for (std::uint32_t band = 0; band < empty_.bands.size(); ++band) look(band);
  for (const std::uint32_t band : job.bands) look(band);
  std::sort(possible.begin(), possible.end());
  possible.erase(std::unique(possible.begin(), possible.end()), possible.end());
  const bool gang = by_slots_ && job.devices > 0 && job.members > 1;
  in_parts_.push_back(together >= job.members && gang && !fits_as_gang(job, possible, rooms));
  if (together < job.members || in_parts_.back()) possible.clear();
}

bool ReplayRequests::fits_as_gang(const ReplayJob& job, const std::vector<std::uint32_t>& possible, ReplayRooms rooms) {
  std::vector<Member> members = members_of(job);
  members.front().band_list = 0;
  empty_.band_lists = {possible};
  members.front().places = SlotTrial{empty_, 0, parts_}.find(members.front());
  if (members.front().places.empty()) return false;
  std::vector<RoomHolding> holdings = holdings_of(job, members);
  return rooms.take(holdings);
}

}  // namespace penstock::policy
