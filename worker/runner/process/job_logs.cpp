#include "worker/runner/process/job_logs.hpp"

#include <algorithm>

namespace penstock::worker {

void JobLogs::add(SubtaskId id, Attempt attempt, std::string_view line) {
  if (limits_.bytes_max == 0) return;
  line = line.substr(0, limits_.bytes_max);
  const std::lock_guard lock{mutex_};
  Log& log = log_of(id.job);
  log.bytes += line.size() + 1;  // An empty line takes room, too.
  log.lines.push_back({id.index, attempt, std::string{line}});
  while (log.bytes > limits_.bytes_max && log.lines.size() > 1) {
    log.bytes -= log.lines.front().text.size() + 1;
    log.lines.pop_front();
    ++log.dropped;
  }
}

std::string JobLogs::text(JobId job) const {
  std::string all;
  const std::lock_guard lock{mutex_};
  const auto log = std::find_if(logs_.begin(), logs_.end(), [&](const Log& one) { return one.job == job; });
  if (log == logs_.end()) return all;
  if (log->dropped > 0) all = "... " + std::to_string(log->dropped) + " earlier lines were dropped\n";
  for (const Line& line : log->lines) {
    all += to_string(SubtaskId{job, line.subtask}, line.attempt) + " " + line.text + "\n";
  }
  return all;
}

// REQUIRES: the mutex is held.
JobLogs::Log& JobLogs::log_of(JobId job) {
  const auto known = std::find_if(logs_.begin(), logs_.end(), [&](const Log& one) { return one.job == job; });
  if (known != logs_.end()) {
    logs_.splice(logs_.begin(), logs_, known);
    return logs_.front();
  }
  if (logs_.size() >= limits_.jobs_max) logs_.pop_back();
  logs_.emplace_front().job = job;
  return logs_.front();
}

}  // namespace penstock::worker
