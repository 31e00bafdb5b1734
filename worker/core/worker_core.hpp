// Every scheduling decision of one worker.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worker/core/events.hpp"
#include "worker/core/explainer.hpp"
#include "worker/core/rooms.hpp"

namespace penstock::worker {

/// Every scheduling decision of one worker: queues, slots, memory quota, successors, cancels. Owns the parts that
/// decide, room by room (rooms.hpp): an event goes to the parts concerned, then items move as far as latches allow,
/// gangs are answered for, transfers started, memory kept free, and reports sent.
///
/// Deterministic and single-threaded; owned by one shell, or by the simulator. Time is an argument.
/// Invariant: the amounts held on a band never exceed it; no two attempts of one subtask live here at once; each
/// assignment gets exactly one terminal report; what a record holds is given back once, by `SubtaskEnds`.
/// Cost: O(log n) per subtask; no allocation per subtask once warm.
class WorkerCore {
 public:
  WorkerCore(const WorkerConfig& config, const std::vector<BandDescription>& bands);
  WorkerCore(const WorkerCore&) = delete;
  WorkerCore& operator=(const WorkerCore&) = delete;

  /// Applies one event (often a whole batch) and appends, in order, the actions for the shell.
  /// Input of a peer that breaks the protocol becomes a `Reject` action; it never throws and never aborts.
  void handle(const WorkerEvent& event, Instant now, Actions<WorkerAction>& actions);
  /// When to deliver the next `Tick` if nothing else happens. Timers are state, not callbacks.
  std::optional<Instant> next_deadline() const;
  WorkerExplanation explain(SubtaskId id) const { return explain_subtask(id, tables_, bands_, runs_.grants); }
  /// None for a job that is unknown here, or without an identity from the supervisor.
  JobIdentity identity_of(JobId job) const { return tables_.jobs.identity_of(job); }
  /// Checks every invariant, O(n).
  void validate() const;

  const WorkerCounters& counters() const { return tables_.counters; }
  std::size_t live_records() const { return tables_.subtasks.live(); }
  std::size_t data_count() const { return data_.table.size(); }
  /// Any known datum, for display; empty if there is none.
  std::string first_datum() const;
  /// A datum as the core knows it, for checks; null if it is unknown.
  const Datum* find_datum(const DataKey& key) const;
  std::size_t job_count() const { return tables_.jobs.size(); }
  /// Of the same jobs, for people.
  std::string job_names() const;
  const Band& band(BandIndex index) const { return bands_[index]; }
  std::size_t band_count() const { return bands_.size(); }

 private:
  void on(const worker_event::MessageArrived& event);
  void on(const worker_event::RunsEnded& event);
  void on(const worker_event::FetchesEnded& event);
  void on(const worker_event::OutputsStored& event) { runs_.run_ends.stored(event); }
  void on(const worker_event::DatumSpilled& event) { data_.spiller.spilled(event); }
  void on(const worker_event::DatumRestored& event) { runs_.flow.input_settled(data_.keeper.restored(event)); }
  void on(const worker_event::DatumCheckpointed& event);
  void on(const worker_event::SlotYielded& event) { orders_.loans.lend(event); }
  void on(const worker_event::SlotWanted& event) { orders_.loans.want_back(event); }
  void on(const worker_event::LanesRestarted& event);
  void on(const worker_event::MemoryMeasured& event);
  void on(const worker_event::DataMapped& event) { data_.room.mapped(event); }
  void on(const worker_event::RunsMeasured& event) { runs_.grants.measured(event); }
  void on(const worker_event::SupervisorReturned& event);
  void on(const worker_event::SupervisorHeard& event) { orders_.overlap.heard(event); }
  void on(const worker_event::Tick& event);
  void on(const worker_event::OffersWanted& event);
  void receive(const ReportsApplied& message);
  void receive(const Drain& message);
  void receive(const ExplainQuestion& message);
  void tell_loads();

  const WorkerConfig config_;  ///< Constant after construction.
  EventContext event_;
  // Each after those that it calls.
  Tables tables_;
  Bands bands_;
  Reports reports_;
  DataRoom data_;
  Runs runs_;
  Orders orders_;
  bool at_rest_ = true;                   ///< After the last event.
  std::vector<FinishedAttempt> applied_;  ///< Scratch.
};

}  // namespace penstock::worker
