// Jobs that have ended and can still be asked about.
#pragma once

#include <deque>

#include "common/protocol/config.hpp"
#include "supervisor/core/jobs/job_table.hpp"

namespace penstock::supervisor {

/// The ended jobs in the order of their ends, and the memory that they take. Bounded by `supervisor.finished_jobs_max`,
/// `finished_jobs_bytes_max` and `finished_jobs_age_max`; the last job stays however large it is.
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
  /// Puts recovered jobs in the order of their ends.
  void sort();

  /// The job that is to be forgotten now, or null. A job from which others borrow is not forgotten before they end,
  /// and one that is kept by an order not before the order is taken back.
  const Job* due(Instant now) const;
  /// When a job becomes too old; `kNever`: there is none.
  Instant next_due() const;
  /// The first that ended first.
  const std::deque<JobId>& in_order() const { return ended_; }

 private:
  const Job* first() const;

  const SupervisorConfig& config_;
  const JobTable& jobs_;
  std::deque<JobId> ended_;
  std::uint64_t bytes_ = 0;
};

}  // namespace penstock::supervisor
