// Whoever waits gets what is free, the most deprived project first. Spec: policy-runai 7.
#include "supervisor/policy/quota_pass.hpp"

namespace penstock::policy {

void allocate(QuotaPass& pass) {
  const WorkloadOrder::Waits waits = [&pass](std::uint32_t member) { return pass.waits(member); };
  Agenda agenda{pass.order(), Direction::Serve, waits};
  agenda.add_all(pass.candidates());
  while (const std::optional<std::uint32_t> workload = agenda.take()) {
    const std::vector<std::uint32_t> members = pass.order().next_members(*workload, waits);
    if (members.empty()) continue;
    if (const std::optional<Refusal> refusal = pass.refused(*workload, members)) {
      pass.note_refusal(*workload, *refusal);
      continue;
    }
    // A job that does not fit keeps nobody else from trying.
    if (pass.place_all(*workload, members, Trial::When::NowOrLater, {})) agenda.add(*workload);
  }
}

}  // namespace penstock::policy
