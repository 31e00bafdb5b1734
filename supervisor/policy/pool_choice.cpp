#include "supervisor/policy/pool_choice.hpp"

#include <algorithm>

namespace penstock::policy {

std::vector<std::uint32_t> pools_wanted(const std::vector<std::uint32_t>& of_job,
                                        const std::vector<std::uint32_t>& of_project, std::uint32_t pool_default) {
  if (!of_job.empty()) return of_job;
  return of_project.empty() ? std::vector<std::uint32_t>{pool_default} : of_project;
}

Result<void> check_pool_list(const std::vector<std::uint32_t>& pools, std::uint32_t pool_count) {
  for (auto pool = pools.begin(); pool != pools.end(); ++pool) {
    if (*pool >= pool_count)
      return Error{ErrorCode::InvalidArgument, std::to_string(*pool), "a list of pools names one that does not exist",
                   "name pools of the configuration"};
    if (std::find(pools.begin(), pool, *pool) != pool)
      return Error{ErrorCode::InvalidArgument, std::to_string(*pool), "a list of pools names one twice",
                   "name each pool once"};
  }
  return {};
}

void PoolTurn::after_pass(Outcome outcome) {
  if (outcome == Outcome::Sent) index_ = 0;
  if (outcome == Outcome::Waits) index_ = (index_ + 1) % pools_.size();
}

std::vector<PoolTurn::Outcome> pool_outcomes(const Snapshot& snapshot, const Plan& plan) {
  using Outcome = PoolTurn::Outcome;
  std::vector<bool> leaves(snapshot.members.size(), false);
  for (const Preemption& each : plan.preemptions) leaves[each.member] = true;
  std::vector<bool> placed(snapshot.workloads.size(), false);
  std::vector<bool> sent(snapshot.workloads.size(), false);
  for (std::uint32_t member = 0; member < snapshot.members.size(); ++member) {
    const Member& each = snapshot.members[member];
    const bool holds = each.state == MemberState::Running || each.state == MemberState::Starting ||
                       each.state == MemberState::Promised || each.state == MemberState::Leaving;
    // Who leaves is still in its pool: nobody else of its gang may start in another one meanwhile.
    if (holds && !leaves[member] && each.state != MemberState::Leaving) placed[each.workload] = true;
    if (holds && (leaves[member] || each.state == MemberState::Leaving)) sent[each.workload] = true;
  }
  for (const Start& each : plan.starts) placed[snapshot.members[each.member].workload] = true;
  for (const Reservation& each : plan.reservations) placed[snapshot.members[each.member].workload] = true;
  std::vector<bool> skipped(snapshot.workloads.size(), false);
  std::vector<bool> waits(snapshot.workloads.size(), false);
  for (const Member& each : snapshot.members) {
    if (each.state == MemberState::Gated) skipped[each.workload] = true;
    if (each.state == MemberState::Pending) waits[each.workload] = true;
  }
  std::vector<Outcome> outcomes;
  for (std::uint32_t workload = 0; workload < snapshot.workloads.size(); ++workload)
    outcomes.push_back(placed[workload]                                                             ? Outcome::Placed
                       : sent[workload]                                                             ? Outcome::Sent
                       : !waits[workload] || skipped[workload] || snapshot.workloads[workload].held ? Outcome::Skipped
                                                                                                    : Outcome::Waits);
  return outcomes;
}

}  // namespace penstock::policy
