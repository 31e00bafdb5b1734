#include "worker/core/jobs/subtask_table.hpp"

namespace penstock::worker {

RecordIndex SubtaskTable::add(JobSlot slot, const Assignment& assignment, Instant now) {
  JobContext& job = jobs_[slot];
  const RecordIndex index = records_.allocate();
  SubtaskRecord& record = records_[index];
  record.subtask = assignment.subtask;
  record.job = slot;
  record.attempt = assignment.attempt;
  record.band = assignment.band;
  record.program = job.templates[assignment.template_index.value()].get();
  record.priority = assignment.priority;
  record.sequence = next_sequence_++;
  record.omitted_inputs = assignment.omitted_inputs;
  record.arrived = now;
  record.next_of_job = job.records;
  if (job.records.valid()) records_[job.records].previous_of_job = index;
  job.records = index;
  ++job.live;
  job.attempts.use(assignment.subtask.value()).record = index;
  return index;
}

void SubtaskTable::free(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  JobContext& job = jobs_[record.job];
  if (record.previous_of_job.valid())
    records_[record.previous_of_job].next_of_job = record.next_of_job;
  else
    job.records = record.next_of_job;
  if (record.next_of_job.valid()) records_[record.next_of_job].previous_of_job = record.previous_of_job;
  job.attempts.free(record.subtask.value());
  --job.live;
  records_.free(index);
}

void SubtaskTable::refuse_move(const SubtaskRecord& record, SubtaskState to) const {
  PENSTOCK_CHECK_MSG(false, to_string(id_of(record), record.attempt) + ": " + std::string{to_string(record.state)} +
                                " to " + std::string{to_string(to)});
}

void SubtaskTable::validate() const {
  std::size_t live = 0;
  for (std::uint32_t i = 0; i < records_.used(); ++i) {
    const SubtaskRecord& record = records_[RecordIndex{i}];
    if (record.state == SubtaskState::Free) continue;
    ++live;
    PENSTOCK_CHECK(find(record.job, record.subtask) == RecordIndex{i});
  }
  std::size_t jobs_live = 0;
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot)
    if (jobs_.is_open(JobSlot{slot})) jobs_live += jobs_[JobSlot{slot}].live;
  PENSTOCK_CHECK(live == records_.live() && live == jobs_live);
}

}  // namespace penstock::worker
