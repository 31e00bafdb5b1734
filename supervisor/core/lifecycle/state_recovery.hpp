// Jobs that come back from the journal after a restart.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/events.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

struct EventContext;
struct Fleet;
class JobAcceptance;
class JobReleases;
struct JobTables;
struct Ledger;
struct Outputs;
struct Placement;
struct PolicyBase;
struct PolicyDriver;
struct Runs;

using GraphsAgain = std::map<JobId, Result<SharedGraph*>>;  ///< By the job that brought it.

/// Makes jobs and graphs again out of the records of earlier terms. No subtask is given out until the workers of before
/// the restart are back. Cost: linear in what is recovered.
class StateRecovery {
 public:
  StateRecovery(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables,
                Outputs& outputs, PolicyBase& policy_base, Placement& placement, PolicyDriver& driver, Runs& runs,
                JobReleases& releases, JobAcceptance& acceptance)
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
        releases_(releases),
        acceptance_(acceptance) {}
  StateRecovery(const StateRecovery&) = delete;
  StateRecovery& operator=(const StateRecovery&) = delete;

  /// Takes up the state of before the restart.
  void recover(supervisor_event::StateRecovered& event);
  /// Places ready subtasks, and makes needed outputs again that were found nowhere.
  void resume(Job& job);

 private:
  /// Each graph is built once, whatever the number of jobs that share it, and is kept until they all have it.
  GraphsAgain recover_graphs(std::vector<RecoveredGraph>& recovered);
  void recover_job(RecoveredJob& recovered, const GraphsAgain& graphs);
  void recover_ended_job(RecoveredJob& recovered, const GraphsAgain& graphs);
  /// Spec: design 5, completion is visible exactly once: a recorded success was or may have been reported.
  void apply_ended(Job& job, const record::SubtasksEnded& ended);
  void end_recovered(Job& job, const SubtaskRange& range, SubtaskPhase phase);
  /// Outputs that were released are not wanted any more.
  static void recover_released(Job& job, const std::vector<SubtaskRange>& ranges);
  /// The outputs are known to exist, but their places are not.
  void recover_outputs(Job& job, const record::SubtasksEnded& ended);
  /// Charged failures stay charged, and orders of operators stay in force.
  void recover_changes(Job& job, std::vector<record::SubtaskChanged>& changes);
  /// The subtasks themselves, and all subtasks behind them: a subtask that was asked to stop may have succeeded before
  /// the order reached it, and subtasks behind it do not run all the same.
  static std::vector<std::uint32_t> all_that_depends_on(const Job& job, std::vector<std::uint32_t> pending);
  /// A subtask behind one that has failed or was cancelled never runs. The cancel may have been ordered before, or been
  /// sent to its worker, without a record.
  void cancel_behind_failures(Job& job);

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
  JobReleases& releases_;
  JobAcceptance& acceptance_;
};

}  // namespace penstock::supervisor
