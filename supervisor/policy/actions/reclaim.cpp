// A project below its share takes back from those above theirs. Spec: policy-runai 9, Reclaim.
#include <algorithm>

#include "supervisor/policy/actions/protection.hpp"
#include "supervisor/policy/actions/solve.hpp"
#include "supervisor/policy/sharing/reclaim_rules.hpp"

namespace penstock::policy {
namespace {

/// The rules for one job that reclaims. `owners` are the sums before anything is taken.
SolveRules rules_for(QuotaPass& pass, std::uint32_t workload, const Reclaimer& reclaimer,
                     const std::vector<Owner>& owners) {
  SolveRules rules;
  rules.reason = PreemptionReason::Reclaim;
  const std::uint32_t project = reclaimer.project;
  rules.is_candidate = [&pass, project](std::uint32_t victim) {
    const Workload& source = pass.snapshot().workloads[victim];
    return source.preemptible && source.project != project && may_be_taken_from(pass, victim, project);
  };
  rules.validate = [&pass, &owners, workload, reclaimer](const std::vector<TakenMembers>& victims) {
    Reclaimer now = reclaimer;
    now.amount = {};
    for (const std::uint32_t member : pass.order().members(workload))
      if (pass.trial().state(member) == MemberState::Promised &&
          pass.snapshot().members[member].state == MemberState::Pending)
        now.amount += pass.trial().amount(member);
    std::vector<ReclaimedPiece> pieces;
    for (const TakenMembers& victim : victims) {
      const std::uint32_t owner = pass.snapshot().workloads[victim.workload].project;
      if (!keeps_protected_core(pass, victim.workload, now.project)) return false;
      for (const std::vector<std::uint32_t>& lost : lost_pieces(pass, victim)) {
        ReclaimedPiece piece{owner, {}};
        for (const std::uint32_t member : lost) piece.amount += pass.trial().amount(member);
        pieces.push_back(piece);
      }
    }
    return reclaim_is_fair(owners, now, pieces, pass.parts().saturation_multiplier);
  };
  return rules;
}

}  // namespace

void reclaim(QuotaPass& pass) {
  const WorkloadOrder::Waits waits = [&pass](std::uint32_t member) { return pass.waits(member); };
  Agenda agenda{pass.order(), Direction::Serve, waits};
  for (const std::uint32_t workload : pass.candidates()) agenda.add(workload);
  while (const std::optional<std::uint32_t> workload = agenda.take()) {
    const std::vector<std::uint32_t> members = pass.order().next_members(*workload, waits);
    if (members.empty() || pass.refused(*workload, members)) continue;
    const Workload& source = pass.snapshot().workloads[*workload];
    const Reclaimer reclaimer{source.project, pass.amount_of(members), source.preemptible};
    if (!may_reclaim(pass.trial().owners(), reclaimer)) continue;
    const std::vector<Owner> owners = pass.trial().owners();
    solve(pass, *workload, rules_for(pass, *workload, reclaimer, owners));
  }
}

}  // namespace penstock::policy
