// Jobs that runs submit: what they take after their parent, and how they end with it.
#pragma once

#include "common/base/result.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"

namespace penstock::supervisor {

class JobReleases;
class JobTable;
class NestedJobs;
class SubtaskEnds;

/// Whether that attempt is the present one of the subtask, or may be found to be so when workers are back after a
/// restart.
bool is_under_way(const JobTable& jobs, const SubtaskId& id, Attempt attempt);

/// Checks the run that submits a nested job, and ends the job with the run.
class NestedRuns {
 public:
  NestedRuns(const SupervisorConfig& config, JobTable& jobs, NestedJobs& nested, SubtaskEnds& ends,
             JobReleases& releases)
      : config_(config), jobs_(jobs), nested_(nested), ends_(ends), releases_(releases) {}
  NestedRuns(const NestedRuns&) = delete;
  NestedRuns& operator=(const NestedRuns&) = delete;

  /// A job that a run submits has the owner, the priority and the policy of the parent's job, but for its gang and its
  /// own bound of slots, and is served before jobs of the same priority: others wait for it, slots lent. Nothing
  /// happens to other jobs. Errors: WrongState, if the run is over; LimitExceeded.
  Result<void> take_after_parent(JobSpec& spec) const;
  /// The job has been accepted, or recovered.
  void adopt(const Job& child);
  /// Cancels and releases the jobs of runs that are over. Cost: linear in the children of subtasks that have moved.
  void end_children();
  bool any_to_end() const;

 private:
  const SupervisorConfig& config_;
  JobTable& jobs_;
  NestedJobs& nested_;
  SubtaskEnds& ends_;
  JobReleases& releases_;
};

}  // namespace penstock::supervisor
