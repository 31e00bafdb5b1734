// Jobs that have ended and can still be asked about.
#pragma once

#include <deque>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/jobs/job_table.hpp"

namespace penstock::supervisor {

/// The ended jobs in the order of their ends, and the memory that they take. Bounded by `supervisor.finished_jobs_max`,
/// `finished_jobs_bytes_max` and `finished_jobs_age_max`; the last job stays however large it is. Jobs that an order
/// keeps (`KeptOutputs::kept_by_order`) stay beside them, and count for no limit.
/// Writes `Job::ended_bytes`. Cost: constant, but for `remove`, which finds one of the first ones.
class EndedJobs {
 public:
  EndedJobs(const SupervisorConfig& config, const JobTable& jobs) : config_(config), jobs_(jobs) {}
  EndedJobs(const EndedJobs&) = delete;
  EndedJobs& operator=(const EndedJobs&) = delete;

  /// The job has just ended, or was recovered as one that had.
  void add(Job& job);
  /// The job takes less memory than before, or more.
  void weigh(Job& job);
  void remove(const Job& job);
  /// An order keeps the job from now on, or no longer. Cost: linear in the ended jobs.
  void kept(const Job& job);
  void kept_no_longer(const Job& job);
  /// Puts recovered jobs in the order of their ends.
  void sort();

  /// The job that is to be forgotten now, or null. A job from which others borrow is not forgotten before they end.
  const Job* due(Instant now) const;
  /// When a job becomes too old; `kNever`: there is none.
  Instant next_due() const;
  /// All of them, the first that ended first. Cost: linear.
  std::vector<JobId> in_order() const;

 private:
  const Job* first() const;
  bool is_before(JobId left, JobId right) const { return jobs_[left].status.ended < jobs_[right].status.ended; }

  const SupervisorConfig& config_;
  const JobTable& jobs_;
  std::deque<JobId> ended_;  ///< Without those that an order keeps: each event looks for the first that may go.
  std::deque<JobId> kept_;
  std::uint64_t bytes_ = 0;
};

}  // namespace penstock::supervisor
