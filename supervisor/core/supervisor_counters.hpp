// The counters of a supervisor's core.
#pragma once

#include <array>
#include <cstdint>

#include "common/base/duration_counts.hpp"
#include "supervisor/core/busy_times.hpp"

namespace penstock::supervisor {

/// Plain counts of events; shells make metrics of them.
struct SupervisorCounters {
  std::uint64_t jobs_accepted = 0;
  std::uint64_t jobs_refused = 0;
  std::uint64_t assigned = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed_attempts = 0;
  std::uint64_t other_jobs = 0;  ///< Messages that meant another job than ours of that number.
  std::uint64_t returned = 0;
  std::uint64_t stale_reports = 0;
  std::uint64_t workers_lost = 0;
  std::uint64_t recomputed = 0;
  std::uint64_t graphs_again = 0;  ///< Jobs with a known graph.
  std::uint64_t moved_here = 0;    ///< Subtasks moved to another band before they were sent.
  std::uint64_t steals_asked = 0;
  std::uint64_t jobs_looked_at = 0;  ///< Waiting jobs that were looked at to fill bands.
  std::uint64_t watchdog_alerts = 0;
  std::uint64_t copies_asked = 0;  ///< Outputs that another worker was asked to fetch for safety.
  std::uint64_t adopted = 0;       ///< Attempts adopted after a restart.
  std::uint64_t forward_hits = 0;
  std::uint64_t forward_misses = 0;
  std::array<DurationCounts, 3> runs;       ///< Of ended attempts that ran, by `RunnerKind`.
  std::array<DurationCounts, 3> job_waits;  ///< From acceptance to the start of the first attempt, by `JobKind`.
  std::array<DurationCounts, 4> job_times;  ///< From acceptance to the end, by `JobState`.
  DurationCounts passes;                    ///< Of the policy, those that were carried out.
  BusyTimes busy;
};

}  // namespace penstock::supervisor
