#include "common/base/coverage_mark.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/runs/retries.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

void Retries::rule_out_bands(Job& job, std::uint32_t subtask, const FailureDetail& detail, SubtaskHistory& history) {
  if (history.tried_epoch != workers_.epoch()) history.tried.clear();
  history.tried_epoch = workers_.epoch();
  const BandSlot here = job.hot[subtask].band;
  history.tried.push_back(here);
  if (where_to_try_again(detail.code) != TryAgain::OnOtherWorkers) return;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive || BandSlot{i} == here) continue;
    const Bytes store = workers_[band.worker].description.store_bytes_max;  // 0: it does not say.
    const bool too_small = !store.is_zero() && store < Bytes{detail.outputs_bytes};
    // For a request above a band's hard limit a neighbour on the same worker may have a higher one.
    const bool as_bad = band.worker == workers_[here].worker && detail.code != ErrorCode::RequestTooLarge;
    if (as_bad || too_small) history.tried.push_back(BandSlot{i});
  }
}

bool Retries::is_retryable_elsewhere(Job& job, std::uint32_t subtask, const FailureDetail& detail) {
  const TryAgain again = where_to_try_again(detail.code);
  if (again == TryAgain::Anywhere) return true;
  if (again == TryAgain::OnOtherWorkers)
    for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
      if (placer_.may_run_on(job, subtask, BandSlot{i})) return true;
  PENSTOCK_COVERAGE_MARK("a failure that repeating would not mend");
  return false;
}

}  // namespace penstock::supervisor
