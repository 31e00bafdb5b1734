#include "supervisor/policy/actions/reclaim_view.hpp"

#include <algorithm>

#include "supervisor/policy/actions/solve.hpp"
#include "supervisor/policy/fitting/device_fit.hpp"
#include "supervisor/policy/sharing/reclaim_rules.hpp"

namespace penstock::policy {

ReclaimView::ReclaimView(QuotaPass& pass)
    : pass_(pass),
      mark_(pass.trial().mark()),
      held_(pass.trial().owners().size()),
      sums_(pass.snapshot().bands.size(), 0) {
  look_again();
  for (std::uint32_t project = 0; project < held_.size(); ++project) look_at(project);
}

void ReclaimView::look_again() {
  const Trial& trial = pass_.trial();
  owners_ = trial.owners();
  free_devices_ = policy::free_devices(trial);
  may_lose_.assign(owners_.size(), {});
  for (const std::uint32_t project : trial.projects_changed_since(mark_)) look_at(project);
  mark_ = trial.mark();
}

void ReclaimView::look_at(std::uint32_t project) {
  const Trial& trial = pass_.trial();
  held_[project].clear();
  std::vector<std::uint32_t> bands;
  for (const std::uint32_t victim : pass_.victims_in_order()[project]) {
    std::int64_t devices = 0;
    bands.clear();
    for (const std::uint32_t each : pass_.order().members(victim)) {
      if (!is_active(trial.state(each))) continue;
      devices += pass_.snapshot().members[each].request.gpu;
      bands.push_back(trial.holdings(each).band);
    }
    std::sort(bands.begin(), bands.end());
    bands.erase(std::unique(bands.begin(), bands.end()), bands.end());
    for (const std::uint32_t band : bands) held_[project].push_back({band, devices});
  }
}

const std::vector<bool>& ReclaimView::may_lose(std::uint32_t project) {
  std::vector<bool>& all = may_lose_[project];
  if (!all.empty()) return all;
  all.assign(owners_.size(), false);
  for (std::uint32_t owner = 0; owner < owners_.size(); ++owner) {
    const Branches sides = branches_of(owners_, project, owner);
    const Owner& victim = owners_[sides.b];
    const Resources held{victim.of[0].allocated, victim.of[1].allocated, victim.of[2].allocated};
    all[owner] = victim_is_over_share(victim, held) || reclaimer_is_guaranteed(owners_[sides.a], {}, victim, held);
  }
  return all;
}

std::int64_t ReclaimView::most_on_a_band(std::uint32_t project) {
  const std::vector<bool>& loses = may_lose(project);
  std::int64_t most = 0;
  for (std::size_t owner = 0; owner < held_.size(); ++owner)
    if (loses[owner])
      for (const OnBand& each : held_[owner]) most = std::max(most, sums_[each.band] += each.devices);
  for (std::size_t owner = 0; owner < held_.size(); ++owner)
    if (loses[owner])
      for (const OnBand& each : held_[owner]) sums_[each.band] = 0;
  return most;
}

}  // namespace penstock::policy
