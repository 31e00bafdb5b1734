// Checks of a simulated worker: it keeps to what it was told, and says all that it has.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/protocol/assign.hpp"
#include "common/protocol/report.hpp"
#include "tests/simulation/world/barrier_witness.hpp"
#include "tests/simulation/world/grace_witness.hpp"
#include "worker/core/actions.hpp"

namespace penstock::simulation {

class World;
class WorkerHost;
struct ProgramRun;

/// Observes one life of a worker: the orders that reach it, the runs that it starts, and its words. Reads the core and
/// the programs; changes nothing.
class WorkerWitness {
 public:
  explicit WorkerWitness(WorkerHost& host);

  // Orders, before the core hears them.
  void note_order(const ToWorker& order);
  void note_entitlements(const EntitlementBatch& batch);
  /// After the core has heard it.
  void check_followed(const ToWorker& order);
  /// A later term of the supervisor has made the link: nothing that was told before holds.
  void supervisor_returned();
  void introduced_again() { said_empty_ = false; }

  // Orders of the core.
  void check_start(const worker::worker_action::StartSubtask& action);
  void check_resume(const worker::worker_action::StartSubtask& action) const { check_entitlement(action); }
  void check_stop(const ProgramRun& run);
  void ended(SubtaskId run) { graces_.ended(run); }
  void check_words(const FromWorker& word);

  /// After each event of the core, when its orders are carried out.
  void look();
  void check_devices(BandIndex index) const;
  void check_capacity() const;

  const ReservationWitness& reservations() const { return reservations_; }

 private:
  using Place = std::pair<JobId, BandIndex>;
  void check_begins();
  void check_what_is_overdue();
  void check_drained() const;
  void check_claim(const WorkerClaim& claim);
  void check_answer(const BarrierAnswer& answer) const;
  void check_entitlement(const worker::worker_action::StartSubtask& action) const;
  void check_reservations(const worker::worker_action::StartSubtask& action) const;
  void note_start_beside(const worker::worker_action::StartSubtask& action);
  ResourceVector undivided_on(BandIndex band) const;
  std::vector<MilliSlots> ready_of(JobId job, BandIndex band) const;
  MilliSlots run_by(JobId job, BandIndex band) const;
  MilliSlots free_on(BandIndex band) const;

  WorkerHost& host_;
  World& world_;
  std::map<Place, MilliSlots> entitled_;  ///< The latest word; no entry: no limit.
  std::uint64_t entitlement_version_ = 0;
  ReservationWitness reservations_;
  GraceWitness graces_;
  std::map<SubtaskId, BandIndex> given_;  ///< The band of each subtask that was assigned in this life.
  /// Gangs that were let begin on what was reserved, until they have done so; how much.
  std::map<Place, MilliSlots> begins_;
  std::map<Place, SubtaskId> started_beside_;  ///< During this event; the first.
  std::set<DataKey> claimed_;                  ///< In the parts so far of a claim that is being made.
  std::set<SubtaskId> claimed_attempts_;       ///< The same.
  bool draining_ = false;
  bool said_empty_ = false;  ///< To this life of the supervisor: it drains, and nothing is left here.
};

}  // namespace penstock::simulation
