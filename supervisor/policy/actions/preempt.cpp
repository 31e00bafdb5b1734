// Inside one project the more important job takes from the less important. Spec: policy-runai 9, Preempt.
#include <algorithm>

#include "supervisor/policy/actions/protection.hpp"
#include "supervisor/policy/actions/solve.hpp"

namespace penstock::policy {

void preempt(QuotaPass& pass) {
  const WorkloadOrder::Waits waits = [&pass](std::uint32_t member) { return pass.waits(member); };
  Agenda agenda{pass.order(), Direction::Serve, waits};
  for (const std::uint32_t workload : pass.candidates()) agenda.add(workload);
  while (const std::optional<std::uint32_t> workload = agenda.take()) {
    const std::vector<std::uint32_t> members = pass.order().next_members(*workload, waits);
    const Workload& source = pass.snapshot().workloads[*workload];
    if (members.empty()) continue;
    // The project's total is its own business, except for what may not be preempted later.
    if (!source.preemptible && pass.refused(*workload, members)) continue;
    SolveRules rules;
    rules.reason = PreemptionReason::Priority;
    rules.is_candidate = [&](std::uint32_t victim) {
      const Workload& other = pass.snapshot().workloads[victim];
      return other.preemptible && other.project == source.project && other.priority < source.priority &&
             may_be_taken_from(pass, victim, kNone);
    };
    rules.validate = [&pass](const std::vector<std::uint32_t>& victims) {
      return std::all_of(victims.begin(), victims.end(),
                         [&pass](std::uint32_t victim) { return keeps_protected_core(pass, victim, kNone); });
    };
    solve(pass, *workload, rules);
  }
}

}  // namespace penstock::policy
