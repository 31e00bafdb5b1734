// The records from which a supervisor goes on after a restart.
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
#include "common/protocol/policy_config.hpp"
#include "supervisor/core/usage.hpp"

namespace penstock::supervisor {

/// An output with bytes. Whether a subtask has made any decides, after a restart, whether its successors must wait for
/// them to be found or made again.
struct MadeOutput {
  SubtaskIndex producer;
  std::uint16_t output = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const MadeOutput&, const MadeOutput&) = default;
};

/// An output that a worker has put on shared storage; said after the subtask that made it.
struct CheckpointPlace {
  SubtaskIndex producer;
  Incarnation writer;
  friend bool operator==(const CheckpointPlace&, const CheckpointPlace&) = default;
};

/// A subtask with outputs that are kept for clients, and the key by which they ask for it.
struct KeptKey {
  SubtaskIndex subtask;
  std::string key;
  friend bool operator==(const KeptKey&, const KeptKey&) = default;
};

/// Parts of the objects that programs share. DO NOT RENUMBER (journal).
enum class SharedKind : std::uint8_t { Variable = 0, Holder = 1, Item = 2, Subscription = 3, Puts = 4 };

namespace record {
/// A job with a checked graph. The graph must not change or end until the record is known to be written: another thread
/// may read it meanwhile.
struct JobAccepted {
  JobId job;
  JobSpec spec;
  const Graph* graph = nullptr;
  std::int64_t submitted_ms = 0;  ///< Unix time.
  JobId graph_of;                 ///< The graph was written with this job; none: it is written with this one.
  std::uint8_t scale = 0;  ///< As in `JobChanged`.
  JobIdentity identity{};
};
/// No job needs the graph any more that was written with this job.
struct GraphForgotten {
  JobId brought_by;
  friend bool operator==(const GraphForgotten&, const GraphForgotten&) = default;
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
  std::vector<CheckpointPlace> checkpoints;  ///< Of earlier runs; a repeated run has none at first.
  friend bool operator==(const SubtasksEnded&, const SubtasksEnded&) = default;
};
/// An operator or a failure has changed the job; each record replaces the one before.
struct JobChanged {
  JobId job;
  std::int32_t priority = 0;
  bool cancelling = false;
  Error why;  ///< Why it is cancelled or has failed.
  bool has_policy = false;      ///< The fields below are known; older versions have not written them.
  std::uint32_t weight = 0;     ///< As in `JobPolicy`.
  std::uint32_t slots_max = 0;  ///< The same.
  std::int64_t position = 0;    ///< In the order of its priority; 0: by its number.
  std::string qos{};            ///< As in `JobPolicy`.
  std::string queue{};          ///< The same.
  bool on_hold = false;         ///< By an operator.
  std::string pool{};           ///< Of its list: where it was placed last; empty: nowhere yet.
  bool unneeded = false;        ///< The job is to be released when it has ended.
  std::uint64_t preempted = 0;  ///< Preempted attempts, over all terms.
  std::optional<std::uint32_t> user_factor{};  ///< As in `JobPolicy`; none: an older version has not written it.
  std::uint8_t scale = 0;                      ///< Of its priority: a `PriorityScale::code`. The same: 0.
  std::optional<std::string> account{};        ///< As in `JobPolicy`; none: an older version has not written it.
  std::int64_t limit_since_ms = 0;  ///< Unix time from which its time limit counts; 0: not yet, or without one.
  std::optional<Duration> time_limit{};  ///< As in `JobSpec`; none: an older version has not written it.
  bool kept_by_order = false;            ///< As in `KeptOutputs`.
  friend bool operator==(const JobChanged&, const JobChanged&) = default;
};
/// The changes of a subtask that has not ended; each record replaces the one before.
struct SubtaskChanged {
  JobId job;
  SubtaskIndex subtask;
  std::uint64_t attempt = 0;  ///< The last one that failed: its report counts no second time. 0: none has.
  std::uint16_t charged = 0;
  std::uint16_t lost_workers = 0;
  std::uint16_t failures = 0;
  std::vector<std::string> lines;        ///< One for each failed attempt, as people read it; bounded.
  std::optional<std::int32_t> priority;  ///< Set by an operator.
  bool cancelled = false;                ///< By an operator, with all that depends on it.
  friend bool operator==(const SubtaskChanged&, const SubtaskChanged&) = default;
};
/// The job has ended; `everything` is all that a client can still ask for.
struct JobEnded {
  JobId job;
  JobSpec spec;
  JobProgress everything;
  std::int64_t submitted_ms = 0;  ///< Unix time; 0 in records of an older version.
  std::int64_t ended_ms = 0;
  std::vector<CheckpointPlace> checkpoints;  ///< Of outputs that are kept for the client.
  bool unneeded = false;  ///< Kept only for jobs that refer to them.
  std::uint8_t scale = 0;  ///< As in `JobChanged`.
  JobIdentity identity{};
  std::vector<KeptKey> keys{};  ///< Of kept outputs, where the graph has keys.
  bool kept_by_order = false;   ///< As in `KeptOutputs`.
  JobId graph_of{};  ///< Of a job that did not succeed: as in `JobAccepted`, so that it can run again. None: not kept.
  friend bool operator==(const JobEnded&, const JobEnded&) = default;
};
/// Outputs of the job that were kept for its client, and are needed no more. Each output is named once; behind each
/// `JobEnded` all of them are named again.
struct OutputsReleased {
  JobId job;
  std::vector<SubtaskRange> subtasks;
  friend bool operator==(const OutputsReleased&, const OutputsReleased&) = default;
};
/// No client can ask for the job any more.
struct JobForgotten {
  JobId job;
  friend bool operator==(const JobForgotten&, const JobForgotten&) = default;
};
/// A worker that may hold work from now on. Written with the next record of any kind: the worker has nothing before.
/// Written again, in place of the former record, when an operator orders something about it.
struct WorkerJoined {
  WorkerId worker;
  Incarnation incarnation;
  std::string name;
  bool shared_storage = false;  ///< The worker may put checkpoints there.
  std::optional<bool> drain{};  ///< As an operator has ordered it last; none: never.
  bool again = false;           ///< Written before: its number is not the latest. Of the order, not of the entry.
  friend bool operator==(const WorkerJoined&, const WorkerJoined&) = default;
};
/// The incarnation of the worker is fenced.
struct WorkerGone {
  WorkerId worker;
  friend bool operator==(const WorkerGone&, const WorkerGone&) = default;
};
/// A lost incarnation of a worker that may have checkpoints on shared storage.
struct WriterLost {
  Incarnation writer;
  friend bool operator==(const WriterLost&, const WriterLost&) = default;
};
/// No job needs its checkpoints any more, and a worker was asked to remove them.
struct WriterForgotten {
  Incarnation writer;
  friend bool operator==(const WriterForgotten&, const WriterForgotten&) = default;
};
/// An order of an operator, and its result.
struct Ordered {
  std::uint64_t number = 0;  ///< Counted from 1 over all terms.
  std::int64_t at_ms = 0;    ///< Unix time.
  std::string who;           ///< As the client says, without proof.
  std::string order;
  std::string outcome;  ///< `done`, or why not.
  friend bool operator==(const Ordered&, const Ordered&) = default;
};
struct OrderForgotten {
  std::uint64_t number = 0;
  friend bool operator==(const OrderForgotten&, const OrderForgotten&) = default;
};
/// The policy state that survives a restart, each time whole.
struct PolicyKept {
  struct Usage {
    std::string account;
    std::string user;  ///< Empty: an earlier version has not recorded the user.
    UsedSeconds used{};  ///< Decayed until then.
    friend bool operator==(const Usage&, const Usage&) = default;
  };
  struct Setting {
    std::string project;
    ProjectSetting what = ProjectSetting::Slots;
    std::int64_t amount = 0;  ///< As an operator has set it.
    friend bool operator==(const Setting&, const Setting&) = default;
  };
  struct Shares {
    std::string account;
    std::int64_t amount = 0;  ///< The same.
    friend bool operator==(const Shares&, const Shares&) = default;
  };
  std::int64_t at_ms = 0;  ///< Unix time.
  std::vector<Usage> usage;
  std::vector<Setting> settings;
  std::vector<Shares> shares{};
  friend bool operator==(const PolicyKept&, const PolicyKept&) = default;
};
/// A part of the objects that programs share: a variable, a holder of a semaphore, an item of a queue, a subscription,
/// or the numbers of the last items that a session has put. Each record replaces the one with the same kind, name,
/// owner and number.
struct SharedKept {
  SharedKind kind = SharedKind::Variable;
  std::string name;
  std::string owner;         ///< Of a holder, its own name; of a subscription with its items, and of puts, the session.
  std::uint64_t number = 0;  ///< Of an item, in the order of its queue.
  std::string session;       ///< Of a holder; of an item that was taken, the session that has it.
  std::uint64_t taken = 0;   ///< The number by which that session has taken it.
  std::uint32_t limit = 0;   ///< Of a semaphore.
  std::string value;         ///< Of a variable or an item; of puts, their numbers, each with a space behind it.
  friend bool operator==(const SharedKept&, const SharedKept&) = default;
};
struct SharedForgotten {
  SharedKind kind = SharedKind::Variable;
  std::string name;
  std::string owner;
  std::uint64_t number = 0;
  friend bool operator==(const SharedForgotten&, const SharedForgotten&) = default;
};
}  // namespace record

using Record = std::variant<record::JobAccepted, record::SubtasksEnded, record::JobChanged, record::SubtaskChanged,
                            record::JobEnded, record::JobForgotten, record::WorkerJoined, record::WorkerGone,
                            record::Ordered, record::OrderForgotten, record::GraphForgotten, record::WriterLost,
                            record::WriterForgotten, record::PolicyKept, record::OutputsReleased,
                            record::SharedKept, record::SharedForgotten>;

/// A graph that a job needs, or would need to run again.
struct RecoveredGraph {
  JobId brought_by;
  bool with_its_job = false;  ///< An older version has written it: it goes when that job ends.
  std::vector<Graph> chunks;
};

/// A job as its records have it.
struct RecoveredJob {
  JobId id;
  JobIdentity identity{};
  JobSpec spec;                 ///< With its last priority.
  std::uint8_t scale = 0;       ///< Of that; as in `JobChanged`.
  JobId graph;                  ///< The job that brought its graph; none once it has ended and the graph is not kept.
  record::SubtasksEnded ended;  ///< All of them together, in the order of the records.
  std::vector<record::SubtaskChanged> changes;  ///< The last of each subtask.
  bool cancelling = false;
  Error why;
  std::int64_t position = 0;    ///< As in `JobChanged`.
  bool on_hold = false;         ///< The same.
  std::string pool;             ///< The same.
  std::uint64_t preempted = 0;  ///< The same.
  bool unneeded = false;        ///< The same, or as in `JobEnded`.
  bool kept_by_order = false;   ///< The same.
  bool is_over = false;
  JobProgress everything;  ///< Once it is over.
  std::vector<CheckpointPlace> checkpoints;  ///< The same; before, they are in `ended`.
  std::vector<KeptKey> keys;  ///< As in `JobEnded`.
  std::vector<SubtaskRange> released;  ///< Outputs that were released, in the order of the records.
  std::int64_t submitted_ms = 0;  ///< Unix time; 0: not known.
  std::int64_t ended_ms = 0;
  std::int64_t limit_since_ms = 0;  ///< As in `JobChanged`.
};

/// The state with which a supervisor begins.
struct RecoveredState {
  std::vector<RecoveredJob> jobs;  ///< By id.
  std::vector<RecoveredGraph> graphs;
  JobId next_job{1};               ///< Numbers below it have been used.
  std::vector<record::WorkerJoined> workers;  ///< Workers that may still hold work, by number.
  WorkerId next_worker{1};
  std::vector<record::Ordered> orders;  ///< By number.
  std::vector<Incarnation> lost_writers;  ///< Lost incarnations of workers that may have left checkpoints.
  std::optional<record::PolicyKept> policy;
  std::vector<record::SharedKept> shared;  ///< By kind, name, owner and number.
};

}  // namespace penstock::supervisor
