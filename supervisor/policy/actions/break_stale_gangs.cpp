// A gang that has lost members and does not recover gives up the rest. Spec: policy-runai 9, the last action.
#include <algorithm>

#include "supervisor/policy/quota_pass.hpp"

namespace penstock::policy {
namespace {

/// Whether members hold places while a gang has fewer than its minimum, and no member has finished.
bool is_stale(const QuotaPass& pass, std::uint32_t workload) {
  const std::vector<MemberSet>& sets = pass.snapshot().workloads[workload].sets;
  std::vector<std::int64_t> used(sets.size(), 0);
  bool any = false;
  for (const std::uint32_t member : pass.order().members(workload)) {
    const MemberState state = pass.trial().state(member);
    if (state == MemberState::Succeeded) return false;
    if (!is_active(state) && state != MemberState::Leaving) continue;
    any = true;
    ++used[pass.snapshot().members[member].set];
  }
  bool lacking = false;
  for (std::size_t set = 0; set < sets.size(); ++set) lacking = lacking || used[set] < sets[set].min;
  return any && lacking;
}

}  // namespace

void break_stale_gangs(QuotaPass& pass) {
  const Duration grace = pass.parts().stale_grace;
  if (grace < Duration::zero()) return;
  for (std::uint32_t workload = 0; workload < pass.snapshot().workloads.size(); ++workload) {
    if (!pass.trial().in_pool(workload) || !is_stale(pass, workload)) continue;
    const std::optional<Instant> since = pass.snapshot().workloads[workload].stale_since;
    // Without a grace no gang needs to have waited.
    const bool due = since ? pass.snapshot().now >= later(*since, grace) : grace == Duration::zero();
    if (!due) continue;
    for (const std::uint32_t member : pass.order().members(workload)) {
      if (!is_active(pass.trial().state(member))) continue;
      pass.trial().leave(member);
      pass.note_victim(member, PreemptionReason::StaleGang, kNone);
    }
  }
}

}  // namespace penstock::policy
