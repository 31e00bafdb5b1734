#include "worker/core/runs/subtask_ends.hpp"

#include "common/base/coverage_mark.hpp"
#include "common/protocol/checkpoint_key.hpp"
#include "worker/core/rooms.hpp"

namespace penstock::worker {

void SubtaskEnds::end(RecordIndex index, Outcome outcome, const FailureDetail* failure) {
  SubtaskRecord& record = tables_.subtasks[index];
  if (RunnerWarmer& warmer = bands_.of(record).warmer; warmer.any()) warmer.want_no_longer(record);
  if (!record.outputs_stored && !record.outputs.empty()) {
    PENSTOCK_COVERAGE_MARK("outputs were discarded before they were stored");
    event_.out->add(worker_action::DiscardOutputs{index, record.attempt});
  }
  if (record.drops_outputs) {
    const std::uint16_t count = std::max<std::uint16_t>(record.program->content.output_count, 1);
    for (std::uint16_t output = 0; output < count; ++output)
      data_.keeper.drop_uncounted(DataKey{tables_.subtasks.id_of(record), output});
  }
  reports_.reporter.report(record, outcome, failure);
  give_back_all(index, record);
  const JobSlot slot = record.job;
  tables_.subtasks.free(index);
  if (tables_.jobs[slot].forgotten) close_job_if_done(slot);
  reports_.drain.subtask_left();
}

void SubtaskEnds::give_back_all(RecordIndex index, SubtaskRecord& record) {
  Band& band = bands_.of(record);
  if (record.state == SubtaskState::Cached) {
    tables_.successors.remove(index);
    --band.cached;
  }
  band.give_back(index, record);
  data_.inputs.let_go(index, record);
  if (!record.holds_store_permit) return;
  record.holds_store_permit = false;
  const RecordIndex next = band.store_permits.give_back();
  if (!next.valid()) return;
  SubtaskRecord& stored = tables_.subtasks[next];
  stored.holds_store_permit = true;
  event_.out->add(worker_action::StoreOutputs{next, tables_.subtasks.id_of(stored), stored.attempt});
}

void SubtaskEnds::close_job_if_done(JobSlot slot) {
  JobContext& job = tables_.jobs[slot];
  if (!job.forgotten || job.live > 0) return;
  data_.keeper.drop_all_of(slot);
  tables_.successors.close_job(slot);
  const bool any_barrier = bands_.any_barrier();
  for (const auto& band : bands_) {
    if (any_barrier) band->leave_barrier(slot, false);
    band->forget_job(slot);
  }
  std::string_view saved_as;
  for (const auto* templates : {&job.templates, &job.replaced_templates})
    for (const std::unique_ptr<WorkerTemplate>& known : *templates) {
      if (known == nullptr) continue;
      tables_.shapes.release(known->shape);
      if (saved_as.empty()) saved_as = checkpoint_key_of(known->content, job.id);
    }
  // A preempted attempt that was then cancelled or failed for good has left its saved state.
  if (!saved_as.empty()) event_.out->add(worker_action::SweepAttempts{std::string{saved_as}});
  if (job.identity.valid()) event_.out->add(worker_action::NameJob{job.id, {}});
  tables_.jobs.close(slot);
}

}  // namespace penstock::worker
