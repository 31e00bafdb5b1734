#include "worker/core/orders/cancels.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/rooms.hpp"

namespace penstock::worker {

void Cancels::apply(const CancelBatch& message) {
  const JobSlot slot = tables_.jobs.find(message.job);
  if (!slot.valid()) return;
  if (message.whole_job) {
    tables_.subtasks.for_each_of(slot, [&](RecordIndex index) { cancel(index, message.kill_after); });
    if (tables_.jobs.is_open(slot)) entitlements_.leave_barriers(slot);
    return;
  }
  for (const AttemptRef& attempt : message.attempts) {
    const RecordIndex index = tables_.subtasks.find(slot, attempt);
    if (!index.valid()) continue;
    if (message.preempt) {
      preempt(index, message.kill_after);
      continue;
    }
    cancel(index, message.kill_after);
    if (!message.alone) cancel_successors_of(slot, attempt.subtask, message.kill_after);
  }
}

void Cancels::steal(const StealRequest& message) {
  const JobSlot slot = tables_.jobs.find(message.job);
  if (!slot.valid()) return;
  for (const AttemptRef& attempt : message.attempts)
    if (const RecordIndex index = tables_.subtasks.find(slot, attempt); index.valid()) return_unprepared(index);
}

void Cancels::forget(const ForgetJob& message) {
  const JobSlot slot = tables_.jobs.find(message.job);
  if (!slot.valid()) return;
  tables_.jobs[slot].forgotten = true;
  entitlements_.leave_barriers(slot);
  tables_.subtasks.for_each_of(slot, [&](RecordIndex index) { cancel(index, Duration{0}); });
  if (tables_.jobs.is_open(slot)) runs_.ends.close_job_if_done(slot);
}

void Cancels::return_all() {
  for (std::uint32_t slot = 0; slot < tables_.jobs.slots(); ++slot)
    if (tables_.jobs.is_open(JobSlot{slot}))
      tables_.subtasks.for_each_of(JobSlot{slot}, [&](RecordIndex index) { return_unprepared(index); });
}

void Cancels::return_one_closed() {
  if (std::none_of(bands_.begin(), bands_.end(), [](const auto& band) { return band->execute.items().any_closed(); }))
    return;
  const auto may_go = [this](const SubtaskRecord& record) {
    const Band& band = bands_.of(record);
    return band.execute.items().is_closed(record.job) && !band.waits_at_barrier(record.job) && is_unprepared(record);
  };
  for (std::uint32_t slot = 0; slot < tables_.jobs.slots(); ++slot) {
    const bool any = tables_.jobs.is_open(JobSlot{slot}) &&
                     std::any_of(bands_.begin(), bands_.end(),
                                 [&](const auto& band) { return band->execute.items().is_closed(JobSlot{slot}); });
    if (!any) continue;
    for (RecordIndex index = tables_.jobs[JobSlot{slot}].records; index.valid();
         index = tables_.subtasks[index].next_of_job) {
      if (!may_go(tables_.subtasks[index])) continue;
      PENSTOCK_COVERAGE_MARK("a full worker gave back what its job may not start");
      return return_unprepared(index);
    }
  }
}

void Cancels::cancel(RecordIndex index, Duration kill_after) {
  SubtaskRecord& record = tables_.subtasks[index];
  switch (record.state) {
    case SubtaskState::Free: return;
    case SubtaskState::Running:
    case SubtaskState::Yielded: runs_.watch.stop(index, StopReason::Cancelled, kill_after); return;
    case SubtaskState::Storing:
      PENSTOCK_COVERAGE_MARK("a subtask was cancelled while it stored its outputs");
      record.stopping = StopReason::Cancelled;
      if (record.holds_store_permit) return;  // Ends with `OutputsStored`.
      data_.room.stop_waiting(index);
      bands_.of(record).store_permits.stop_waiting(index);
      runs_.run_ends.finish_storing(index, nullptr);
      return;
    default: runs_.ends.end(index, Outcome::Cancelled); return;
  }
}

// Spec: worker 6, cancelled producers remove their cached successors transitively.
void Cancels::cancel_successors_of(JobSlot job, SubtaskIndex producer, Duration kill_after) {
  std::vector<SubtaskIndex> producers{producer};
  std::vector<RecordIndex> successors;
  while (!producers.empty()) {
    successors.clear();
    tables_.successors.waiting_for(job, producers.back(), successors);
    producers.pop_back();
    for (const RecordIndex successor : successors) {
      // The successor may be listed twice, or be gone: one cancel frees the record.
      if (tables_.subtasks[successor].state != SubtaskState::Cached) continue;
      producers.push_back(tables_.subtasks[successor].subtask);
      cancel(successor, kill_after);
    }
  }
}

// Policy takes the slot back. An attempt that has computed already, or that succeeds within its grace, ends normally;
// any other one is returned and not charged with a failure: it was asked to save its state and to leave.
void Cancels::preempt(RecordIndex index, Duration grace) {
  switch (tables_.subtasks[index].state) {
    case SubtaskState::Free:
    case SubtaskState::Storing: return;
    case SubtaskState::Running:
    case SubtaskState::Yielded: runs_.watch.stop(index, StopReason::Preempted, grace); return;
    default: runs_.ends.end(index, Outcome::Returned); return;
  }
}

void Cancels::return_unprepared(RecordIndex index) {
  SubtaskRecord& record = tables_.subtasks[index];
  if (record.state == SubtaskState::Cached)
    ++tables_.counters.forward_misses[static_cast<std::size_t>(ForwardResult::Lease)];
  if (is_unprepared(record))
    runs_.ends.end(index, Outcome::Returned);
  else
    PENSTOCK_COVERAGE_MARK("a steal came too late");
}

}  // namespace penstock::worker
