// What a supervisor's core has begun and not ended: questions, promises that wait for the disk, messages, lives to look after.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/protocol/assign.hpp"
#include "supervisor/core/actions.hpp"
#include "supervisor/core/graph_table.hpp"
#include "supervisor/core/work_search.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// Asked to a worker by an operator.
struct Question {
  std::uint64_t number;
  WorkerId worker;
  ClientId client;
  std::uint64_t request;
  Value answer;         ///< What is known without the worker.
  bool of_log = false;  ///< `LogQuestion`, or what stands for it.
};

/// What a worker held when it was lost, and whether it was drained.
struct LostLife {
  Incarnation life;
  std::optional<bool> drain_order;
  std::vector<AssignedRef> held;
};

/// A life that may have left checkpoints.
struct LostWriter {
  Incarnation writer;
  bool written = false;
};

/// What is done when a ticket of the journal is written: an action, the acceptance of a job, the end of a graph's writing.
struct Held {
  std::uint64_t ticket;
  SupervisorAction action;
};
struct Acceptance {
  std::uint64_t ticket;
  JobId job;
};
struct BeingWritten {
  std::uint64_t ticket;
  SharedGraph* graph;
};

/// What one worker is told at the end of an event.
struct Outbox {
  WorkerSlot worker;
  std::vector<ToWorker> messages;
};

}  // namespace penstock::supervisor
