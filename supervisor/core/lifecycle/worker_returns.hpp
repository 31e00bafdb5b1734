// Workers of before a restart come back, or are given up.
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
struct Ledger;
struct Lifecycle;
struct Outputs;
struct PolicyBase;
struct PolicyDriver;
struct Runs;

/// Takes up what workers of an earlier term still run and hold: each attempt is adopted or fenced, each datum noted.
/// When all are back, or given up on the disk, the recovered jobs go on. Cost: linear in what is claimed.
class WorkerReturns {
 public:
  WorkerReturns(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables,
                Outputs& outputs, PolicyBase& policy_base, PolicyDriver& driver, Runs& runs, Lifecycle& lifecycle,
                Admin& admin)
      : config_(config),
        event_(event),
        ledger_(ledger),
        fleet_(fleet),
        tables_(tables),
        outputs_(outputs),
        policy_base_(policy_base),
        driver_(driver),
        runs_(runs),
        lifecycle_(lifecycle),
        admin_(admin) {}
  WorkerReturns(const WorkerReturns&) = delete;
  WorkerReturns& operator=(const WorkerReturns&) = delete;

  /// None if no record says that this incarnation of the worker may hold something: it was given up as lost, or it
  /// joined in the very last moments and holds only work that was begun since.
  std::optional<record::WorkerJoined> take_back(WorkerId worker, Incarnation incarnation);
  /// Nothing is sent to it before all that it holds is known.
  void begin_claim(WorkerSlot slot);
  /// Ends the wait for absent workers when none is left to wait for.
  void end_reclaiming_if_complete();
  /// All workers are back, or have had their time. Late ones still keep the work that no other worker has got.
  void end_reclaiming();
  /// Work of the absent worker runs again elsewhere, and no worker fetches from it any more.
  void part_with(const record::WorkerJoined& absent, const std::string& why);
  /// Takes up attempts and data of one job on a worker that is back.
  void claim_job(WorkerSlot slot, const ClaimedJob& claimed);
  void claim_ended_job(WorkerSlot slot, const Job& job, const ClaimedJob& claimed);
  /// All that the worker has is known: it takes work again, unless it drains.
  void finish_claim(WorkerSlot slot, bool draining);

 private:
  /// Carries out the orders that were deferred while workers from before the restart might still bring parts of the
  /// job.
  void let_go(Job& job);
  /// Policy passes leave a job that waits alike many others out of sight, unless it may start something.
  void hide_if_waiting(const Job& job);
  /// A subtask that waits at a worker for producers may have missed their end: the last messages of the earlier
  /// supervisor are lost with it.
  void notify_of_finished_producers(WorkerSlot slot);

  const SupervisorConfig& config_;
  EventContext& event_;
  Ledger& ledger_;
  Fleet& fleet_;
  JobTables& tables_;
  Outputs& outputs_;
  PolicyBase& policy_base_;
  PolicyDriver& driver_;
  Runs& runs_;
  Lifecycle& lifecycle_;
  Admin& admin_;
};

}  // namespace penstock::supervisor
