// What runners have written, by job.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <string_view>

#include "common/base/ids.hpp"

namespace penstock::worker {

/// How much is kept: `worker.job_log_bytes_max` and `worker.job_logs_max`.
struct JobLogLimits {
  std::size_t bytes_max = 0;  ///< Of the lines of a job; beyond it the oldest go. 0 keeps nothing.
  std::size_t jobs_max = 1;   ///< At least one; beyond it the log goes that was written to least recently.
};

/// The ends of the logs of the latest jobs, for whoever asks. Lanes add lines while the worker's door reads: all
/// functions may be called from any thread. Memory: that of its limits.
class JobLogs {
 public:
  explicit JobLogs(const JobLogLimits& limits) : limits_(limits) {}

  void add(SubtaskId id, Attempt attempt, std::string_view line);
  /// A line for each line of the job, `17:42#1 text`, the oldest first. If lines were dropped, the first one says how
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
  std::list<Log> logs_;       ///< The one that was written to last comes first.
};

}  // namespace penstock::worker
