// The events of a supervisor's core.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <variant>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/protocol/client.hpp"
#include "common/protocol/report.hpp"
#include "supervisor/core/graph_shape.hpp"
#include "common/protocol/policy_config.hpp"
#include "supervisor/core/records.hpp"
#include "supervisor/policy/plan.hpp"

namespace penstock::supervisor {

namespace supervisor_event {
/// A new incarnation of a worker has introduced itself. The shell counts `worker` up from 1.
struct WorkerJoined {
  WorkerId worker;
  Incarnation incarnation;
  const Register& description;
};
struct WorkerSaid {
  WorkerId worker;
  const FromWorker& message;
};
/// Messages that have come from many workers meanwhile, oldest first. The core applies them as if they had come one by
/// one, and decides their consequences, assignments above all, once.
struct WorkersSaid {
  std::span<const WorkerSaid> said;
};
/// No message has come from the worker for a while, so it may be lost soon. Or messages come again.
struct WorkerSuspected {
  WorkerId worker;
  bool suspected = false;
};
/// The worker is silent, gone or fenced; its link drops all further messages.
struct WorkerLost {
  WorkerId worker;
  std::string reason;
};
/// A submitted graph has been checked: here it is, or why not. A refusal changes nothing.
struct GraphChecked {
  ClientId client;
  std::uint64_t submission = 0;
  JobSpec spec;
  std::unique_ptr<GraphShape> shape;  ///< Null when refused.
  Error refusal;
  JobIdentity identity{};             ///< For the job that it becomes: random.
  Duration retry_after{0};            ///< Of a refusal that time undoes.
};
/// Anything a client says but chunks of graphs, which are checked outside.
struct ClientSaid {
  ClientId client;
  const FromClient& message;
  JobIdentity identity{};  ///< For the job that comes of it, if one does: random.
};
struct ClientGone {
  ClientId client;
};
struct Tick {};
/// Everything that was ordered to be written up to this ticket is on the disk.
struct Persisted {
  std::uint64_t ticket = 0;
};
/// The journal cannot be written now. The shell keeps the waiting records and tries again; `Persisted` ends the
/// trouble.
struct StorageFailed {
  Error error;
};
/// The state that was recovered. The first event of a core with a journal.
struct StateRecovered {
  RecoveredState state;
  std::int64_t unix_ms = 0;  ///< The wall clock now; only the ages of recovered jobs depend on it.
  std::uint64_t term = 1;    ///< Of the state: larger than every earlier one.
};
/// The pass of that number is over. An older one than the last that was ordered is ignored.
struct PassEnded {
  std::uint64_t number = 0;
  policy::Plan plan;
  std::string failure;        ///< Why there is no plan; empty: there is one.
  policy::Snapshot snapshot;  ///< The order's, given back: `explain` tries changes of it.
};
/// The policy in the configuration file now, as wanted by `ReloadPolicy` or by a signal.
struct PolicyRead {
  ClientId client;  ///< None: a signal.
  AdminRequest request;
  Result<PolicyConfig> config;
};
}  // namespace supervisor_event

using SupervisorEvent =
    std::variant<supervisor_event::WorkerJoined, supervisor_event::WorkerSaid, supervisor_event::WorkerSuspected,
                 supervisor_event::WorkerLost,
                 supervisor_event::GraphChecked, supervisor_event::ClientSaid, supervisor_event::ClientGone,
                 supervisor_event::Tick, supervisor_event::Persisted, supervisor_event::StorageFailed,
                 supervisor_event::StateRecovered, supervisor_event::WorkersSaid,
                 supervisor_event::PassEnded, supervisor_event::PolicyRead>;

}  // namespace penstock::supervisor
