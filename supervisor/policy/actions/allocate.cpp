// Members that wait get free places, the most deprived project first. Spec: policy-runai 7.
#include "supervisor/policy/quota_pass.hpp"

namespace penstock::policy {

void allocate(QuotaPass& pass) {
  const std::vector<Member>& all = pass.snapshot().members;
  std::vector<bool> passed_over(all.size(), false);
  const WorkloadOrder::Waits waits = [&](std::uint32_t member) { return pass.waits(member) && !passed_over[member]; };
  Agenda agenda{pass.order(), Direction::Serve, waits};
  agenda.add_all(pass.candidates(QuotaPass::PlacesKept::Too));
  while (const std::optional<std::uint32_t> workload = agenda.take()) {
    const std::vector<std::uint32_t> members = pass.order().next_members(*workload, waits);
    if (members.empty()) continue;
    if (const std::optional<Refusal> refusal = pass.refused(*workload, members)) {
      pass.note_refusal(*workload, *refusal);
      continue;
    }
    // A job that does not fit keeps no other from trying.
    const bool placed = pass.place_all(*workload, members, Trial::When::NowOrLater, {});
    // Nor does one that may use some bands only keep others of its job from other bands: beyond the page.
    const std::uint32_t bands = all[members.front()].band_list;
    if (!placed && (members.size() > 1 || bands == kNone || !pass.parts().own_rules)) continue;
    for (const std::uint32_t other : pass.order().members(*workload))
      if (!placed && all[other].band_list == bands) passed_over[other] = true;
    agenda.add(*workload);
  }
}

}  // namespace penstock::policy
