// Moves jobs together so that a larger one fits; no job loses a place. Spec: policy-runai 9, Consolidation.
#include <algorithm>

#include "supervisor/policy/actions/solve.hpp"
#include "supervisor/policy/fitting/device_fit.hpp"

namespace penstock::policy {
namespace {

/// Whether the free devices in all, parts of shared ones included, would do.
bool room_in_all(const Trial& trial, std::int64_t gpu) { return gpu <= trial.devices().later + trial.devices().parts; }

}  // namespace

void consolidate(QuotaPass& pass) {
  if (pass.parts().consolidate_victims_max == 0) return;
  const WorkloadOrder::Waits waits = [&pass](std::uint32_t member) { return pass.waits(member); };
  Agenda agenda{pass.order(), Direction::Serve, waits};
  for (const std::uint32_t workload : pass.candidates())
    if (pass.snapshot().workloads[workload].preemptible) agenda.add(workload);
  SolveRules rules;
  rules.reason = PreemptionReason::Consolidation;
  rules.victims_max = pass.parts().consolidate_victims_max;
  rules.wanted_may_be_first = pass.parts().own_rules;
  rules.may_lose.assign(pass.snapshot().projects.size(), false);
  rules.is_candidate = [](std::uint32_t) { return true; };
  rules.validate = [&pass](const std::vector<TakenMembers>& victims) {
    return std::all_of(victims.begin(), victims.end(),
                       [&pass](const TakenMembers& victim) { return lost_pieces(pass, victim).empty(); });
  };
  while (const std::optional<std::uint32_t> workload = agenda.take()) {
    const std::vector<std::uint32_t> members = pass.order().next_members(*workload, waits);
    if (members.empty() || pass.refused(*workload, members)) continue;
    if (!room_in_all(pass.trial(), pass.amount_of(members).gpu)) continue;
    rules.free_devices = free_devices(pass.trial());
    solve(pass, *workload, rules);
  }
}

}  // namespace penstock::policy
