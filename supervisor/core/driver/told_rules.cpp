#include "supervisor/core/driver/told_rules.hpp"

#include <algorithm>
#include <optional>

#include "supervisor/policy/plan.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {

ToldRules::ToldRules(const PassUnderWay& pass, const policy::Snapshot& snapshot, const policy::Plan& plan)
    : pass_(pass),
      snapshot_(snapshot),
      limits_(snapshot, plan),
      held_(snapshot.workloads.size(), 0),
      used_(snapshot.bands.size(), 0) {
  for (const policy::Entitlement& each : plan.entitlements) {
    held_[each.workload] += each.milli_slots;
    used_[each.band] += each.milli_slots;
  }
  const auto leaves = [this](std::uint32_t member) {
    const auto granularity = static_cast<std::int64_t>(pass_.granularity_of(snapshot_.members[member].workload));
    for (const policy::Place& place : snapshot_.members[member].places) used_[place.band] += place.slots * granularity;
  };
  for (const policy::Preemption& each : plan.preemptions) leaves(each.member);
  for (std::uint32_t member = 0; member < snapshot.members.size(); ++member)
    if (snapshot.members[member].state == policy::MemberState::Leaving) leaves(member);
}

policy::Explanation ToldRules::of(policy::Explanation why, std::uint64_t least) {
  const auto granularity = static_cast<std::int64_t>(pass_.granularity_of(why.workload));
  if (const std::optional<policy::OwnerLimit> limit = limits_.of(why)) {
    why.hold = policy::Hold::ProjectLimit;
    why.need = limit->need, why.have = limit->have;
    why.subject = pass_.owners.projects()[limit->node];
    return why;
  }
  if (why.resource != policy::Resource::Gpu || why.member >= snapshot_.members.size()) return why;
  if (why.hold != policy::Hold::NoRoom) return why;
  const std::int64_t rest = static_cast<std::int64_t>(least) - held_[why.workload];
  const auto first = static_cast<std::int64_t>(pass_.members[why.member].milli);
  if (rest > first) why.need += (rest - first) / granularity;
  if (const std::uint32_t list = snapshot_.members[why.member].band_list; list != policy::kNone)
    why.have = std::min(why.have, roomiest_of(list) / granularity);
  return why;
}

std::int64_t ToldRules::roomiest_of(std::uint32_t band_list) {
  const auto [known, is_new] = rooms_.try_emplace(band_list, 0);
  if (!is_new) return known->second;
  for (const std::uint32_t band : snapshot_.band_lists[band_list]) {
    if (band >= snapshot_.bands.size() || snapshot_.bands[band].state != policy::BandState::Enabled) continue;
    const std::int64_t all = snapshot_.bands[band].capacity.gpu;  // Thousandths, also where slots count.
    known->second = std::max(known->second, all - used_[band]);
  }
  return known->second;
}

}  // namespace penstock::supervisor
