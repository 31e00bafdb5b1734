#include "worker/core/orders/job_priorities.hpp"

#include "worker/core/rooms.hpp"

namespace penstock::worker {

void JobPriorities::change(const PriorityBatch& message) {
  const JobSlot slot = tables_.jobs.find(message.job);
  if (!slot.valid()) return;
  if (message.change_job) set_of_job(slot, message.job_priority);
  for (const PriorityChange& change : message.changes) {
    const RecordIndex index = tables_.subtasks.find(slot, change.subtask);
    if (!index.valid() || tables_.subtasks[index].state == SubtaskState::Yielded) continue;
    tables_.subtasks[index].priority = change.priority;
    bands_.of(tables_.subtasks[index]).update_priority(index, change.priority);
  }
}

// Also for attempts that wait for memory, because grants follow the priority. Something that a job of lowered priority
// kept from others may now be theirs.
void JobPriorities::set_of_job(JobSlot slot, std::int32_t job_priority) {
  tables_.jobs[slot].priority = job_priority;
  for (const auto& band : bands_) {
    band->prepare.set_job_priority(slot, job_priority);
    band->execute.set_job_priority(slot, job_priority);
    // Most jobs get their priority before any of their subtasks is here.
    if (!tables_.jobs[slot].records.valid()) continue;
    band->quota.set_job_priority([&](RecordIndex record) { return tables_.subtasks[record].job == slot; },
                                 job_priority);
    band->dirty = true;
  }
}

}  // namespace penstock::worker
