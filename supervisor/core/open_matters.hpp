// What a supervisor's core has begun and not ended: questions, promises that wait for the disk, messages, lives to look after.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/assign.hpp"
#include "supervisor/core/actions.hpp"
#include "supervisor/core/graph_table.hpp"
#include "supervisor/core/work_search.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// The kind of answer that an operator waits for from a worker.
enum class Asked : std::uint8_t {
  Explanation,
  Log,        ///< By a `LogQuestion`, or what stands for it.
  Confirmed,  ///< That it has carried out what it was told before: any answer says so.
};

/// Asked to a worker for an operator.
struct Question {
  std::uint64_t number;
  WorkerId worker;  ///< None: the workers that outlived the last supervisor are awaited first.
  ClientId client;
  std::uint64_t request;
  Value answer;  ///< What is known without the worker.
  Asked asked = Asked::Explanation;
  JobId job{};  ///< Of `Asked::Confirmed`,
  std::vector<std::string> unconfirmed{};  ///< and workers from which it will not come.
};

/// When a subtask that has failed leaves `Backoff`.
struct RetryTimer {
  Instant at;
  JobId job;
  std::uint32_t subtask;
  std::uint64_t attempt;
  bool operator<(const RetryTimer& other) const;
};
/// `timers`: a heap, earliest first.
void add(std::vector<RetryTimer>& timers, const RetryTimer& timer);

/// What a worker held when it was lost, and whether it was drained.
struct LostLife {
  Incarnation life;
  std::optional<bool> drain_order;
  std::vector<AssignedRef> held;
};

/// When the wait for workers of an earlier life of the supervisor ends.
struct ReclaimEnd {
  Instant until = kNever;
  Instant latest = kNever;              ///< However many workers keep coming back.
  std::optional<std::uint64_t> ticket;  ///< With it is written that those who are missing are gone.
};

/// A life that may have left checkpoints.
struct LostWriter {
  Incarnation writer;
  bool written = false;
};

/// Matters that wait until a ticket of the journal is written: an action, the acceptance of a job, the end of a graph's writing,
/// the loss of a worker.
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
struct Loss {
  std::uint64_t ticket;
  WorkerId worker;
  std::string reason;
};

/// What one worker is told at the end of an event.
struct Outbox {
  WorkerSlot worker;
  std::vector<ToWorker> messages;
};

}  // namespace penstock::supervisor
