// Every scheduling decision of the supervisor.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "supervisor/core/admin/cluster_metrics.hpp"
#include "supervisor/core/events.hpp"
#include "supervisor/core/rooms.hpp"

namespace penstock::supervisor {

/// Every scheduling decision of the supervisor: jobs, placement, lookahead, leases, stealing, retries, lost workers.
/// Owns the parts that decide, room by room (rooms.hpp): an event goes to the parts concerned, then bands with changes
/// are filled, idle ones helped, jobs that are done ended, and what has changed is written.
/// Deterministic and single-threaded; owned by one shell, or by the simulator. Time is an argument.
/// Always true: every subtask of an accepted job ends in exactly one final state, told to its followers once; no
/// subtask has two live attempts; a successor's ownership lease is at one worker at a time, because a subtask is
/// `Assigned` to one band and leaves it only by a report or by the loss of the worker. With a journal nothing is
/// promised to anyone before what it rests on is on the disk.
/// Cost: for each subtask a few touches of its 24-byte record and edges; nothing scans all workers for a decision.
class SupervisorCore {
 public:
  SupervisorCore(const SupervisorConfig& config, Rng rng, Durability durability = Durability::None);
  SupervisorCore(const SupervisorCore&) = delete;
  SupervisorCore& operator=(const SupervisorCore&) = delete;

  /// Applies one event (often a whole batch) and appends, in order, what the outside must now do. Consumes it.
  void handle(SupervisorEvent&& event, Instant now, Actions<SupervisorAction>& actions);
  /// When to deliver the next `Tick` if nothing else happens.
  std::optional<Instant> next_deadline() const;
  /// Checks every invariant, O(n). Tests call it after every event.
  void validate() const;

  const SupervisorCounters& counters() const { return tables_.counters; }
  /// Null if unknown or forgotten.
  const Job* find_job(JobId id) const { return tables_.jobs.find(id); }
  const WorkerTable& workers() const { return fleet_.workers; }
  const PolicyState& policy() const { return policy_base_.state; }
  /// Whether workers of before the restart are still waited for.
  bool reclaiming() const { return fleet_.readoption.is_active(); }
  /// Bytes that running jobs, and graphs that are kept, take; payloads apart.
  std::uint64_t memory_bytes() const;
  /// Limited by `supervisor.memory_max`: graphs, and the most that jobs take beside them.
  std::uint64_t held_bytes() const { return tables_.graphs.held_bytes(); }

  friend ClusterMetrics metrics_of(const SupervisorCore& core, std::size_t jobs_max);

 private:
  // Events: supervisor_core.cpp.
  void on(supervisor_event::WorkerJoined& event);
  void on(const supervisor_event::WorkerSaid& event);
  void on(supervisor_event::WorkersSaid& event);
  void on(supervisor_event::WorkerSuspected& event);
  void on(supervisor_event::WorkerLost& event);
  void on(supervisor_event::GraphChecked& event);
  void on(supervisor_event::ClientSaid& event);
  void on(supervisor_event::ClientGone& event);
  void on(supervisor_event::Tick& event);
  void on(supervisor_event::Persisted& event);
  void on(supervisor_event::StorageFailed& event);
  void on(supervisor_event::StateRecovered& event);
  void on(supervisor_event::PassEnded& event);
  void on(supervisor_event::PolicyRead& event);

  // Messages of workers: supervisor_core.cpp.
  void receive(WorkerSlot slot, const Register& message);
  void receive(WorkerSlot slot, const DrainState& message);
  void receive(WorkerSlot slot, const BarrierAnswer& message);
  void receive(WorkerSlot slot, const WorkerClaim& message);
  void receive(WorkerSlot slot, const ReportBatch& message);
  void receive(WorkerSlot slot, const ExplainAnswer& message) { admin_.questions.answered(slot, message); }
  void receive(WorkerSlot slot, const LogAnswer& message) { admin_.questions.answered(slot, message); }

  // Policy: policy_setup.cpp.
  void set_policy(PolicyConfig config);
  void run_policy();

  // Operators: queries.cpp; the alarm: supervisor_core.cpp.
  void answer(const supervisor_event::ClientSaid& event, const AdminRequest& request);
  Result<Value> execute(const supervisor_event::ClientSaid& event, const AdminRequest& request, bool& deferred);
  Result<Value> drain_by_request(const AdminRequest& request);
  Result<Value> keep_by_request(const AdminRequest& request);
  void watch();

  /// The last step of every event. Workers forget their reports only when all that the reports said is on the disk.
  void write_what_has_changed();

  const SupervisorConfig config_;  ///< Constant after construction.
  EventContext event_;
  // Each after those that it calls.
  Ledger ledger_;
  Fleet fleet_;
  JobTables tables_;
  Outputs outputs_;
  PolicyBase policy_base_;
  Placement placement_;
  PolicyDriver driver_;
  Runs runs_;
  Lifecycle lifecycle_;
  Admin admin_;
  WorkerReturns returns_;
  WorkerLosses losses_;
};

/// The state of the cluster in numbers. Looks at so many jobs that have not ended at most.
ClusterMetrics metrics_of(const SupervisorCore& core, std::size_t jobs_max);

}  // namespace penstock::supervisor
