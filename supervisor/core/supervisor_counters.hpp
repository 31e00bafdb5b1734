// What a supervisor's core counts.
#pragma once

#include <cstdint>

namespace penstock::supervisor {

/// Plain counts of what happened; shells make metrics of them.
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
  std::uint64_t graphs_again = 0;     ///< Jobs whose graph was known.
  std::uint64_t moved_here = 0;       ///< Subtasks that changed their home before they were sent.
  std::uint64_t steals_asked = 0;
  std::uint64_t watchdog_alerts = 0;
  std::uint64_t copies_asked = 0;     ///< Outputs that another worker was asked to fetch for safety.
  std::uint64_t adopted = 0;          ///< Attempts of an earlier life that this one goes on with.
};

}  // namespace penstock::supervisor
