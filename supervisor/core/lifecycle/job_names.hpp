// Submissions under names that jobs have already.
#pragma once

#include <cstdint>

#include "common/base/result.hpp"
#include "common/protocol/graph.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/ledger/wall_clock.hpp"

namespace penstock::supervisor {

/// Decides what a submission is under the name of another job of its owner: that job, a new one, or a mistake. Two
/// submissions of one name do the same when their `JobSpec::content` is the same; a job without one was accepted by an
/// older version and does the same as any. Passive; made for one event.
class JobNames {
 public:
  /// `clock` and `now` only name times in refusals and in runs.
  JobNames(JobTable& jobs, const WallClock& clock, Instant now, std::uint32_t earlier_runs_max)
      : jobs_(jobs), clock_(clock), now_(now), earlier_runs_max_(earlier_runs_max) {}

  /// The job that the submission means, or null for a new one; then its name and runs are set. A submitter that repeats
  /// itself means the job that it has made. Errors: NameTaken (the job has other content), WrongState (it runs).
  Result<Job*> settle(JobSpec& spec) const;
  /// The runs of a job that runs the work of an ended one again. REQUIRES: `last` has ended.
  JobRuns runs_after(const Job& last) const;
  /// The refusal of what has to wait for the end of the job.
  static Error still_runs(const Job& job);

 private:
  Job* own(const JobSpec& spec, const std::string& name) const;
  Job* take_number(JobSpec& spec) const;
  std::string describe(const Job& job) const;
  Error other_content(const Job& known, const JobSpec& spec) const;

  JobTable& jobs_;
  const WallClock& clock_;
  const Instant now_;
  const std::uint32_t earlier_runs_max_;
};

}  // namespace penstock::supervisor
