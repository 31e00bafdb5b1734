// Workers that are lost, drain, or are taken down by an operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/events.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

struct Admin;
struct EventContext;
struct Fleet;
struct JobTables;
struct LostIncarnation;
struct Ledger;
struct Lifecycle;
struct Outputs;
struct Placement;
struct PolicyBase;
struct PolicyDriver;
struct Runs;
class WorkerReturns;

/// Takes a worker out: its data are lost or found elsewhere, its attempts run again, its jobs are placed anew. A native
/// operator that takes its workers down is blamed by name. Cost: linear in the running jobs and in what it had.
class WorkerLosses {
 public:
  WorkerLosses(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables,
               Outputs& outputs, PolicyBase& policy_base, Placement& placement, PolicyDriver& driver, Runs& runs,
               Lifecycle& lifecycle, Admin& admin, WorkerReturns& returns)
      : config_(config),
        event_(event),
        ledger_(ledger),
        fleet_(fleet),
        tables_(tables),
        outputs_(outputs),
        policy_base_(policy_base),
        placement_(placement),
        driver_(driver),
        runs_(runs),
        lifecycle_(lifecycle),
        admin_(admin),
        returns_(returns) {}
  WorkerLosses(const WorkerLosses&) = delete;
  WorkerLosses& operator=(const WorkerLosses&) = delete;

  /// `crash`: the operator that took it down, if one is known.
  void lose_worker(WorkerSlot slot, const std::string& reason, const OperatorCrash* crash = nullptr);
  /// By an order, which is written: it stands after a restart.
  void set_draining(WorkerSlot slot, bool draining);
  /// Asks the attempts of a draining worker to leave, as policy does: an attempt saves its state, ends within the
  /// grace, and waits for another worker. Attempts that must not run twice end there. Returns the number that were
  /// asked. Spec: policy-determined 9.3.
  std::uint64_t clear_worker(WorkerSlot slot);
  /// A worker's process reports after its restart how the previous incarnation ended. Usually that one is not known to
  /// be lost yet; otherwise the charges to innocent attempts are taken back. An unknown incarnation blames no attempt:
  /// its numbers may be those of another state.
  void blame(WorkerSlot teller, const OperatorCrash& crash);
  /// A worker that knows another job under a number of ours goes on from another state, e.g. from one that was put back
  /// by hand. Its data and attempts are of no use: it begins afresh, and the two states are not mixed up.
  bool means_another(WorkerSlot slot, JobId job, const JobIdentity& identity);
  /// The state of a worker opens or closes its bands; a claim that is under way keeps them closed by itself.
  void open_or_close_bands(WorkerSlot slot);

 private:
  /// Workers that fetch from it need not wait for its silence: a host that hangs takes connections and never answers.
  void announce_loss(WorkerSlot slot);
  /// Outputs of the subtask, or copies of them, are on the worker from now on.
  void lose_all_data(WorkerSlot slot);
  static bool is_blamed(const OperatorCrash* crash, const AssignedRef& ref);
  /// Its loss was charged to all attempts that it held, because the culprit was unknown.
  void blame_late(const LostIncarnation& lost, const OperatorCrash& crash);
  /// The worker went down while the supervisor was away: there is no reason to wait for it, and its attempts are known
  /// only from this.
  void blame_absent(WorkerSlot teller, const record::WorkerJoined& absent, const OperatorCrash& crash);
  /// The operator that drained a worker does not know that its process has restarted.
  void pass_on_drain(WorkerSlot heir, std::optional<bool> order);
  void lose_attempts(WorkerSlot slot, const std::string& reason, const OperatorCrash* crash);

  const SupervisorConfig& config_;
  EventContext& event_;
  Ledger& ledger_;
  Fleet& fleet_;
  JobTables& tables_;
  Outputs& outputs_;
  PolicyBase& policy_base_;
  Placement& placement_;
  PolicyDriver& driver_;
  Runs& runs_;
  Lifecycle& lifecycle_;
  Admin& admin_;
  WorkerReturns& returns_;
};

}  // namespace penstock::supervisor
