// Pending operations of a supervisor's core: operations that wait for the disk, and lost workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/assign.hpp"
#include "supervisor/core/graph_table.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/ended_jobs.hpp"
#include "supervisor/core/jobs/retry_timers.hpp"
#include "supervisor/core/jobs/watchdog.hpp"
#include "supervisor/core/work_search.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// The attempts that a worker held when it was lost, and its drain order.
struct LostIncarnation {
  Incarnation incarnation;
  std::optional<bool> drain_order;
  std::vector<AssignedRef> held;
};

/// The end of the wait for workers after a restart of the supervisor.
struct ReclaimEnd {
  Instant until = kNever;
  Instant latest = kNever;              ///< However many workers keep coming back.
  std::optional<std::uint64_t> ticket;  ///< Its record says that missing workers are gone.
};

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
