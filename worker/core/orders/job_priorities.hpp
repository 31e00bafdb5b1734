// Priorities of jobs and of their subtasks.
#pragma once

#include "common/protocol/cancel.hpp"
#include "worker/core/jobs/job_table.hpp"

namespace penstock::worker {

class Bands;
struct Tables;

/// Applies priorities to all that waits here, in both queues and for memory.
class JobPriorities {
 public:
  JobPriorities(Tables& tables, Bands& bands) : tables_(tables), bands_(bands) {}

  void change(const PriorityBatch& message);
  void set_of_job(JobSlot slot, std::int32_t job_priority);

 private:
  Tables& tables_;
  Bands& bands_;
};

}  // namespace penstock::worker
