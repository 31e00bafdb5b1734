// What the supervisor writes down so that a later life can go on from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/protocol/client.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::supervisor {

/// An output with bytes. Whether a subtask has made any decides, after a restart, whether its successors must wait for
/// them to be found or made again.
struct MadeOutput {
  SubtaskIndex producer;
  std::uint16_t output = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const MadeOutput&, const MadeOutput&) = default;
};

namespace record {
/// A job whose graph has been checked. Whoever encodes it does so before the core's next event: the graph is the
/// core's.
struct JobAccepted {
  JobId job;
  JobSpec spec;
  const Graph* graph = nullptr;
  std::int64_t submitted_ms = 0;  ///< Unix time.
};
/// Subtasks that have ended since the last such record of the job. The counts are those of now.
struct SubtasksEnded {
  JobId job;
  JobCounts counts;
  std::vector<SubtaskRange> succeeded;
  std::vector<SubtaskRange> cancelled;
  std::vector<SubtaskFailure> failures;
  std::vector<OutputLocation> outputs;  ///< Kept for the client.
  std::vector<MadeOutput> made;         ///< Of those that succeeded, also when they ran again.
  friend bool operator==(const SubtasksEnded&, const SubtasksEnded&) = default;
};
/// An operator or a failure has changed what becomes of the job; each replaces the one before.
struct JobChanged {
  JobId job;
  std::int32_t priority = 0;
  bool cancelling = false;
  Error why;  ///< It is cancelled or has failed.
  bool has_policy = false;      ///< The two below are known; older versions have not written them.
  std::uint32_t weight = 0;     ///< As in `JobPolicy`.
  std::uint32_t slots_max = 0;  ///< The same.
  friend bool operator==(const JobChanged&, const JobChanged&) = default;
};
/// What has become of a subtask that has not ended; each replaces the one before.
struct SubtaskChanged {
  JobId job;
  SubtaskIndex subtask;
  std::uint16_t attempt = 0;  ///< The last one that failed: its report counts no second time. 0: none has.
  std::uint16_t charged = 0;
  std::uint16_t lost_workers = 0;
  std::uint16_t failures = 0;
  std::vector<std::string> lines;        ///< One for each failed attempt, as people read it; bounded.
  std::optional<std::int32_t> priority;  ///< Set by an operator.
  bool cancelled = false;                ///< By an operator, with all that depends on it.
  friend bool operator==(const SubtaskChanged&, const SubtaskChanged&) = default;
};
/// The job has ended; `everything` is all that a client can still ask for. Its graph is needed no longer.
struct JobEnded {
  JobId job;
  JobSpec spec;
  JobProgress everything;
  std::int64_t submitted_ms = 0;  ///< Unix time; 0 in what an older version has written.
  std::int64_t ended_ms = 0;
  friend bool operator==(const JobEnded&, const JobEnded&) = default;
};
/// Nobody can ask for the job any more.
struct JobForgotten {
  JobId job;
  friend bool operator==(const JobForgotten&, const JobForgotten&) = default;
};
/// A worker that may hold work from now on. Written with whatever is written next: it has nothing before.
struct WorkerJoined {
  WorkerId worker;
  Incarnation incarnation;
  std::string name;
  friend bool operator==(const WorkerJoined&, const WorkerJoined&) = default;
};
/// That life of it is fenced.
struct WorkerGone {
  WorkerId worker;
  friend bool operator==(const WorkerGone&, const WorkerGone&) = default;
};
/// What an operator has ordered, and what came of it.
struct Ordered {
  std::uint64_t number = 0;  ///< Counted from 1 over all lives.
  std::int64_t at_ms = 0;    ///< Unix time.
  std::string who;           ///< As the client says: nobody has proved it.
  std::string order;
  std::string outcome;  ///< `done`, or why not.
  friend bool operator==(const Ordered&, const Ordered&) = default;
};
struct OrderForgotten {
  std::uint64_t number = 0;
  friend bool operator==(const OrderForgotten&, const OrderForgotten&) = default;
};
}  // namespace record

using Record = std::variant<record::JobAccepted, record::SubtasksEnded, record::JobChanged, record::SubtaskChanged,
                            record::JobEnded, record::JobForgotten, record::WorkerJoined, record::WorkerGone,
                            record::Ordered, record::OrderForgotten>;

/// A job as its records tell it.
struct RecoveredJob {
  JobId id;
  JobSpec spec;                 ///< With its last priority.
  std::vector<Graph> chunks;    ///< Empty once it has ended.
  record::SubtasksEnded ended;  ///< All of them together, in the order of the records.
  std::vector<record::SubtaskChanged> changes;  ///< The last of each subtask.
  bool cancelling = false;
  Error why;
  bool is_over = false;
  JobProgress everything;  ///< Once it is over.
  std::int64_t submitted_ms = 0;  ///< Unix time; 0: not known.
  std::int64_t ended_ms = 0;
};

/// What a life of the supervisor begins with.
struct RecoveredState {
  std::vector<RecoveredJob> jobs;  ///< By id.
  JobId next_job{1};               ///< Numbers below it have been used.
  std::vector<record::WorkerJoined> workers;  ///< Those that may still hold work, by number.
  WorkerId next_worker{1};
  std::vector<record::Ordered> orders;  ///< By number.
};

}  // namespace penstock::supervisor
