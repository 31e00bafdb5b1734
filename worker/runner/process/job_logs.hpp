// The output of runners, by job.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <string_view>

#include "common/base/ids.hpp"

namespace penstock::worker {

/// Limits of the kept lines: `worker.job_log_bytes_max` and `worker.job_logs_max`.
struct JobLogLimits {
  std::size_t bytes_max = 0;  ///< Of the lines of a job; beyond it the oldest are dropped. 0 keeps nothing.
  std::size_t jobs_max = 1;   ///< At least one; beyond it the least recently written log is dropped.
};

/// The ends of the logs of the latest jobs. Lanes add lines while the worker's host reads: all functions may be called
/// from any thread. Memory: that of its limits.
class JobLogs {
 public:
  explicit JobLogs(const JobLogLimits& limits) : limits_(limits) {}

  void add(SubtaskId id, Attempt attempt, std::string_view line);
  /// A line for each line of the job, `17:42#1 text`, the oldest first. If lines were dropped, the first line says how
  /// many.
  std::string text(JobId job) const;

 private:
  struct Line {
    SubtaskIndex subtask;
    Attempt attempt;
    std::string text;
  };
  struct Log {
    JobId job;
    std::deque<Line> lines;
    std::size_t bytes = 0;
    std::uint64_t dropped = 0;
  };
  Log& log_of(JobId job);

  const JobLogLimits limits_;
  mutable std::mutex mutex_;  ///< Guards the rest; thread-sanitized by tests/unit/worker/runner/process.
  std::list<Log> logs_;       ///< The most recently written log comes first.
};

}  // namespace penstock::worker
