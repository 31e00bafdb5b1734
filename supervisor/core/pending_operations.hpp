// Pending operations of a supervisor's core: those that wait for the disk.
#pragma once

#include <cstdint>
#include <string>

#include "supervisor/core/graph_table.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/ended_jobs.hpp"
#include "supervisor/core/jobs/retry_timers.hpp"
#include "supervisor/core/jobs/watchdog.hpp"
#include "supervisor/core/work_search.hpp"
#include "supervisor/core/workers/lost_incarnations.hpp"
#include "supervisor/core/workers/readoption.hpp"

namespace penstock::supervisor {

/// Matters that wait until a ticket of the journal is written: the acceptance of a job, the end of a graph's writing,
/// the loss of a worker.
struct Acceptance {
  std::uint64_t ticket;
  JobId job;
};
struct BeingWritten {
  std::uint64_t ticket;
  SharedGraph* graph;
};
struct Loss {
  std::uint64_t ticket;
  WorkerId worker;
  std::string reason;
};

}  // namespace penstock::supervisor
