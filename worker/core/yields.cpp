// WorkerCore: runs that lend their slot while they wait for nested work, and want it back.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::worker {

/// Whether the attempt still has the record, in that state.
bool WorkerCore::is_run_of(RecordIndex index, Attempt attempt, SubtaskState state) const {
  if (index.value() >= records_.used()) return false;
  return records_[index].state == state && records_[index].attempt == attempt;
}

// The supervisor sends a band so much that its slots stay busy: it has to know of runs that do not need theirs, before
// what they wait for finds no room in that.
void WorkerCore::tell_yields() { load_report_at_ = std::min(load_report_at_, later(now_, config_.report_after)); }

void WorkerCore::on(const worker_event::SlotYielded& event) {
  if (!is_run_of(event.record, event.attempt, SubtaskState::Running)) return;
  const SubtaskRecord& record = records_[event.record];
  Band& band = band_of(record);
  const bool lent = band.execute.yield_slot(event.record);
  out_->add(worker_action::AnswerYield{event.record, event.attempt, record.band, record.lane, lent});
  if (!lent) PENSTOCK_COVERAGE_MARK("a run could not lend its slot because too many have");
  if (!lent) return;
  ++yielded_total_;
  tell_yields();
  move(event.record, SubtaskState::Yielded);
  band.dirty = true;
}

void WorkerCore::on(const worker_event::SlotWanted& event) {
  if (!is_run_of(event.record, event.attempt, SubtaskState::Yielded)) return;
  SubtaskRecord& record = records_[event.record];
  // Spec: worker 2, it takes part again with raised priority: before everything that has not begun.
  record.priority = ~std::uint64_t{0};
  band_of(record).execute.resume_slot(event.record, record.priority);
  band_of(record).dirty = true;
}

}  // namespace penstock::worker
