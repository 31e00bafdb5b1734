#include "worker/core/orders/overlap_guard.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/rooms.hpp"

namespace penstock::worker {

void OverlapGuard::heard(const worker_event::SupervisorHeard& event) {
  const Instant ends = later(event.sent, config_.cut_off_after);
  cut_off_at_ = cut_off_at_ == kNever ? ends : std::max(cut_off_at_, ends);
  if (event_.now < cut_off_at_)
    cut_off_ = false;
  else if (!cut_off_)
    end_all();
}

// No such subtask may start from now on, and its runs are killed without grace: a stop request would need time before
// the deadline. A subtask that has computed already only stores its outputs.
void OverlapGuard::end_all() {
  cut_off_ = true;
  for (std::uint32_t slot = 0; slot < tables_.jobs.slots(); ++slot) {
    if (!tables_.jobs.is_open(JobSlot{slot}) || !tables_.jobs[JobSlot{slot}].has_never_overlapping) continue;
    tables_.subtasks.for_each_of(JobSlot{slot}, [&](RecordIndex index) {
      const SubtaskRecord& record = tables_.subtasks[index];
      if (record.program->content.overlap != Overlap::Never || record.state == SubtaskState::Storing) return;
      if (!is_run(record)) return runs_.ends.end(index, Outcome::Returned);
      PENSTOCK_COVERAGE_MARK("a run was killed because its worker was cut off");
      runs_.watch.stop(index, StopReason::CutOff, Duration{0});
    });
  }
}

}  // namespace penstock::worker
