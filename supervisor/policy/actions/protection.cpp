#include "supervisor/policy/actions/protection.hpp"

#include "supervisor/policy/sharing/min_runtime.hpp"

namespace penstock::policy {
namespace {

bool is_protected(const QuotaPass& pass, std::uint32_t victim, std::uint32_t reclaimer) {
  const Workload& source = pass.snapshot().workloads[victim];
  if (!source.last_start) return false;
  const std::vector<Owner>& owners = pass.trial().owners();
  const Parts& parts = pass.parts();
  Duration least{};
  if (reclaimer == kNone)
    least = preempt_min_runtime(owners, source.project, parts.preempt_min_runtime);
  else if (parts.reclaim_by_common_ancestor)
    least = reclaim_min_runtime_between(owners, reclaimer, source.project, parts.reclaim_min_runtime);
  else
    least = reclaim_min_runtime(owners, source.project, parts.reclaim_min_runtime);
  return pass.snapshot().now < later(*source.last_start, least);
}

}  // namespace

bool may_be_taken_from(const QuotaPass& pass, std::uint32_t victim, std::uint32_t reclaimer) {
  if (!pass.holds_anything(victim)) return false;
  // A job that begins on a promise keeps its place for this pass: else jobs could take one place from each other in
  // every pass, and none of them would ever run.
  if (pass.parts().own_rules && pass.begins_on_carried(victim)) return false;
  return !is_protected(pass, victim, reclaimer) || pass.order().state(victim) == GangState::AboveMin;
}

bool keeps_protected_core(const QuotaPass& pass, std::uint32_t victim, std::uint32_t reclaimer) {
  return !is_protected(pass, victim, reclaimer) || pass.order().all_at_min(victim);
}

}  // namespace penstock::policy
