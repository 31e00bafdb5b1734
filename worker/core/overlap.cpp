// WorkerCore: runs with `overlap = "never"`, which must have ended before their subtasks can be given elsewhere.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::worker {

// The supervisor counts from messages that were sent before it received them; so this worker is always the first to
// give up.
void WorkerCore::on(const worker_event::SupervisorHeard& event) {
  const Instant ends = later(event.sent, config_.cut_off_after);
  cut_off_at_ = cut_off_at_ == kNever ? ends : std::max(cut_off_at_, ends);
  if (now_ < cut_off_at_)
    cut_off_ = false;
  else if (!cut_off_)
    end_what_never_overlaps();
}

/// No such subtask may start from now on, and its runs are killed without grace: a stop request would need time before
/// the deadline. A subtask that has computed already only stores its outputs.
void WorkerCore::end_what_never_overlaps() {
  cut_off_ = true;
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot) {
    if (!jobs_.is_open(JobSlot{slot}) || !jobs_[JobSlot{slot}].has_never_overlapping) continue;
    for (RecordIndex index = jobs_[JobSlot{slot}].records; index.valid();) {
      const SubtaskRecord& record = records_[index];
      const RecordIndex next = record.next_of_job;
      const bool runs = record.state == SubtaskState::Running || record.state == SubtaskState::Yielded;
      if (record.program->content.overlap == Overlap::Never && record.state != SubtaskState::Storing) {
        if (runs) PENSTOCK_COVERAGE_MARK("a run was killed because its worker was cut off");
        if (runs)
          stop_run(index, StopReason::CutOff, Duration{0});
        else
          end_record(index, Outcome::Returned);
      }
      index = next;
    }
  }
}

}  // namespace penstock::worker
