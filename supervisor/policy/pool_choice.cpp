#include "supervisor/policy/pool_choice.hpp"

#include <algorithm>

namespace penstock::policy {

std::vector<std::uint32_t> pools_wanted(const std::vector<std::uint32_t>& of_job,
                                        const std::vector<std::uint32_t>& of_project, std::uint32_t pool_default) {
  if (!of_job.empty()) return of_job;
  return of_project.empty() ? std::vector<std::uint32_t>{pool_default} : of_project;
}

PoolFallback::PoolFallback(std::vector<std::uint32_t> pools, std::uint32_t pool) : pools_(std::move(pools)) {
  const auto at = std::find(pools_.begin(), pools_.end(), pool);
  if (at != pools_.end()) index_ = static_cast<std::size_t>(at - pools_.begin());
}

void PoolFallback::after_pass(Outcome outcome) {
  if (outcome == Outcome::Sent) index_ = 0;
  if (outcome == Outcome::Waits) index_ = (index_ + 1) % pools_.size();
}

std::vector<PoolFallback::Outcome> pool_outcomes(const std::vector<MemberOutcome>& members,
                                                 const std::vector<bool>& held, const Plan& plan) {
  using Outcome = PoolFallback::Outcome;
  std::vector<bool> leaves(members.size(), false);
  for (const Preemption& each : plan.preemptions) leaves[each.member] = true;
  std::vector<bool> placed(held.size(), false);
  std::vector<bool> sent(held.size(), false);
  std::vector<bool> gated(held.size(), false);
  std::vector<bool> waits(held.size(), false);
  for (std::uint32_t member = 0; member < members.size(); ++member) {
    const MemberOutcome& each = members[member];
    // A member that leaves is still in its pool: no other member of its gang may start in another pool meanwhile.
    const bool going = leaves[member] || each.state == MemberState::Leaving;
    const bool holds = each.state == MemberState::Running || each.state == MemberState::Starting ||
                       each.state == MemberState::Promised || each.state == MemberState::Leaving;
    if (holds && !going) placed[each.owner] = true;
    if (holds && going) sent[each.owner] = true;
    if (each.state == MemberState::Gated) gated[each.owner] = true;
    if (each.state == MemberState::Pending) waits[each.owner] = true;
  }
  for (const Start& each : plan.starts) placed[members[each.member].owner] = true;
  // A start that is reserved for some time to come has no place yet.
  for (const Reservation& each : plan.reservations)
    if (!each.places.empty()) placed[members[each.member].owner] = true;
  std::vector<Outcome> outcomes;
  for (std::uint32_t owner = 0; owner < held.size(); ++owner)
    outcomes.push_back(placed[owner]                                  ? Outcome::Placed
                       : sent[owner]                                  ? Outcome::Sent
                       : !waits[owner] || gated[owner] || held[owner] ? Outcome::Skipped
                                                                      : Outcome::Waits);
  return outcomes;
}

std::vector<PoolFallback::Outcome> pool_outcomes(const Snapshot& snapshot, const Plan& plan) {
  std::vector<MemberOutcome> members;
  for (const Member& each : snapshot.members) members.push_back({each.workload, each.state});
  std::vector<bool> held;
  for (const Workload& each : snapshot.workloads) held.push_back(each.held);
  return pool_outcomes(members, held, plan);
}

}  // namespace penstock::policy
