// Words for tests of the time limits of jobs.
#pragma once

#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {

inline JobSpec limited(Duration limit) {
  JobSpec spec;
  spec.name = "night";
  spec.keep = Keep::Nothing;
  spec.time_limit = limit;
  return spec;
}

/// A subtask of the first job is reported by its worker to run for a second already.
inline void run_for_a_second(SupervisorHarness& cluster, std::uint32_t worker = 1, std::uint32_t subtask = 0) {
  cluster.assigned();
  cluster.tick_after(std::chrono::seconds{1});
  JobReports reports;
  reports.job = JobId{1};
  AttemptReport& report = reports.attempts.emplace_back();
  report.subtask = SubtaskIndex{subtask};
  report.attempt = Attempt{cluster.job().hot[subtask].attempt};
  report.outcome = Outcome::Started;
  report.run_us = 1'000'000;
  cluster.report(worker, reports);
}

/// The seconds that are left of the limit of the job `night`; -1: nothing counts.
inline double left(SupervisorHarness& cluster) {
  const Result<Value> answer = cluster.ask("job", {"night"});
  EXPECT_TRUE(answer.has_value());
  const double* number = answer ? (*answer)["time_left_s"].number() : nullptr;
  return number == nullptr ? -1 : *number;
}

}  // namespace penstock::supervisor
