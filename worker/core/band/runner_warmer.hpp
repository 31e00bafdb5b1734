// Slow-starting runners of a band are started before they are needed.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/actions.hpp"
#include "worker/core/actions.hpp"
#include "worker/core/band/latched_queue.hpp"
#include "worker/core/band/memory_quota.hpp"
#include "worker/core/band/runner_kinds.hpp"
#include "worker/core/jobs/job_table.hpp"
#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

/// Counts the subtasks of an event that have arrived and not started, by kind of process runner, and orders their
/// runners at its end: as many as there are waiting subtasks and idle lanes that could run at once. Further ones would
/// only take memory that no quota counts.
class RunnerWarmer {
 public:
  explicit RunnerWarmer(std::uint32_t kinds_max) : kinds_max_(kinds_max), kinds_(kinds_max) {}

  /// The subtask has arrived.
  void want(const SubtaskRecord& record, JobId job);
  /// A subtask that starts at once starts its runner itself, and an ended one needs none.
  void want_no_longer(const SubtaskRecord& record);
  bool any() const { return !wishes_.empty(); }
  /// The orders for all kinds that were wanted since the last call; none unless `may_start`. Templates of jobs that are
  /// not open any more are gone.
  void order(BandIndex band, LatchedQueue& execute, const MemoryQuota& quota, const JobTable& jobs, bool may_start,
             Actions<WorkerAction>& out);
  /// The runners of the band are gone.
  void forget() { kinds_.forget(); }

 private:
  struct Wish {
    std::uint64_t kind = 0;
    JobId job;  ///< Of the template.
    const WorkerTemplate* program = nullptr;
    std::uint32_t subtasks = 0;
  };
  std::uint32_t runners_for(const Wish& wish, const LatchedQueue& execute, ResourceVector& room) const;

  const std::uint32_t kinds_max_;
  RunnerKinds kinds_;  ///< Kinds that were started, or ordered to be started.
  std::vector<Wish> wishes_;
};

}  // namespace penstock::worker
