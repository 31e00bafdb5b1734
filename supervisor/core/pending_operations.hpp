// Pending operations of a supervisor's core: those that wait for the disk.
#pragma once

#include <string>

#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/ended_jobs.hpp"
#include "supervisor/core/jobs/retry_timers.hpp"
#include "supervisor/core/jobs/watchdog.hpp"
#include "supervisor/core/ledger/after_write.hpp"
#include "supervisor/core/work_search.hpp"

namespace penstock::supervisor {

/// The loss of a worker that is being written.
struct Loss {
  WorkerId worker;
  std::string reason;
};

}  // namespace penstock::supervisor
