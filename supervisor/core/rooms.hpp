// The rooms of a supervisor's core: its parts, in order of calls.
#pragma once

#include "supervisor/core/admin/cluster_answers.hpp"
#include "supervisor/core/admin/operator_orders.hpp"
#include "supervisor/core/admin/time_limit_orders.hpp"
#include "supervisor/core/coordination/shared_objects.hpp"
#include "supervisor/core/admin/worker_questions.hpp"
#include "supervisor/core/data/data_directory.hpp"
#include "supervisor/core/driver/admission_audit.hpp"
#include "supervisor/core/driver/entitlements.hpp"
#include "supervisor/core/driver/gang_barriers.hpp"
#include "supervisor/core/driver/colocation.hpp"
#include "supervisor/core/driver/pass_snapshot.hpp"
#include "supervisor/core/driver/plan_effects.hpp"
#include "supervisor/core/driver/policy_answers.hpp"
#include "supervisor/core/driver/policy_membership.hpp"
#include "supervisor/core/driver/pool_fallbacks.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/ended_jobs.hpp"
#include "supervisor/core/jobs/nested_jobs.hpp"
#include "supervisor/core/jobs/retry_timers.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/jobs/watchdog.hpp"
#include "supervisor/core/ledger/after_write.hpp"
#include "supervisor/core/ledger/audit_log.hpp"
#include "supervisor/core/lifecycle/job_acceptance.hpp"
#include "supervisor/core/lifecycle/job_releases.hpp"
#include "supervisor/core/lifecycle/job_reruns.hpp"
#include "supervisor/core/lifecycle/nested_runs.hpp"
#include "supervisor/core/lifecycle/placement_waits.hpp"
#include "supervisor/core/lifecycle/state_recovery.hpp"
#include "supervisor/core/lifecycle/worker_losses.hpp"
#include "supervisor/core/lifecycle/worker_returns.hpp"
#include "supervisor/core/placement/assignment_writer.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/placement/dispatcher.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/placement/external_inputs.hpp"
#include "supervisor/core/placement/placement_costs.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/policy/allocation_units.hpp"
#include "supervisor/core/policy/entitlement_mail.hpp"
#include "supervisor/core/policy/feasibility.hpp"
#include "supervisor/core/policy/job_demand.hpp"
#include "supervisor/core/policy/job_records.hpp"
#include "supervisor/core/policy/limit_rules.hpp"
#include "supervisor/core/policy/policy_checks.hpp"
#include "supervisor/core/policy/policy_turns.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy/usage_accounts.hpp"
#include "supervisor/core/runs/adoption.hpp"
#include "supervisor/core/runs/attempt_counts.hpp"
#include "supervisor/core/runs/job_priorities.hpp"
#include "supervisor/core/runs/recomputation.hpp"
#include "supervisor/core/runs/report_reader.hpp"
#include "supervisor/core/runs/retries.hpp"
#include "supervisor/core/runs/subtask_ends.hpp"
#include "supervisor/core/runs/time_limits.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/work_search.hpp"
#include "supervisor/core/workers/lost_incarnations.hpp"
#include "supervisor/core/workers/readoption.hpp"

namespace penstock::supervisor {

/// The loss of a worker that is being written.
struct Loss {
  WorkerId worker;
  std::string reason;
};

/// Records, and the promises that wait until records are on the disk.
struct Ledger {
  Ledger(const SupervisorConfig& config, EventContext& event, Durability durability);

  WallClock clock;  ///< Since the start of this term of the state.
  CommitGate gate;
  AuditLog audit;
  AfterWrite<JobId> accepting;             ///< Jobs that are placed when their acceptance is written.
  AfterWrite<Loss> losses;                 ///< Workers that are gone.
  AfterWrite<SharedGraph*> being_written;  ///< Graphs, which the journal reads until then.
};

/// Workers, their bands, and what is sent to them.
struct Fleet {
  Fleet(const SupervisorConfig& config, EventContext& event, Ledger& ledger);

  WorkerTable workers;
  WorkerMail mail;
  BandIndices bands;
  Eligibility eligibility;
  PlacementCosts costs;
  Readoption readoption;
  LostIncarnations lost_incarnations;
};

/// Jobs, their graphs, and what is found by state or time.
struct JobTables {
  JobTables(const SupervisorConfig& config, Rng rng);

  JobTable jobs;
  GraphTable graphs;
  EndedJobs ended;
  NestedJobs nested;
  JobIndices indices;
  RetryTimers timers;
  Watchdog watchdog;
  SupervisorCounters counters;
  std::vector<JobId> maybe_done;
};

/// Outputs of jobs, and progress that followers are told.
struct Outputs {
  Outputs(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables);

  ProgressOutbox progress;
  AwaitedOutputs awaited;
  DataDirectory data;
  std::vector<SubtaskId> unread;  ///< Checkpoints that wait for a worker to stand for them.
};

/// The policy in force: its view of jobs and bands, demand, limits and use.
struct PolicyBase {
  PolicyBase(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables);

  PolicyState state;
  PolicyView view;
  PolicyTurns turns;
  JobRecords records;
  AllocationUnits units;
  JobDemand demand;
  LimitRules rules;
  Feasibility feasibility;
  UsageAccounts usage;
  PolicyChecks checks;
  EntitlementMail entitlement_mail;
};

/// The band of each subtask, and the time at which it is sent.
struct Placement {
  Placement(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables,
            Outputs& outputs, PolicyBase& policy_base);

  SubtaskMachine machine;
  Attempt first_attempt = attempts_begin(1);  ///< Of the state's term.
  WorkSearch search;
  std::map<SubtaskId, Instant> holders_drain_until;  ///< By waiter; then it fails.
  BandQueues queues;
  AssignmentWriter assignments;
  ExternalInputs external_inputs;
  Placer placer;
  Dispatcher dispatcher;
};

/// The policy carried out: passes, their plans, and what workers enforce.
struct PolicyDriver {
  PolicyDriver(EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables, PolicyBase& policy_base,
               Placement& placement);

  PoolFallbacks fallbacks;
  Colocation colocation;
  PassSnapshot snapshot;
  AdmissionAudit admission_audit;
  GangBarriers barriers;
  Entitlements entitlements;
  PlanEffects plan_effects;
  PolicyMembership membership;
  PolicyAnswers answers;
};

/// Attempts: how they end, and what follows.
struct Runs {
  Runs(const SupervisorConfig& config, EventContext& event, Fleet& fleet, JobTables& tables, Outputs& outputs,
       PolicyBase& policy_base, Placement& placement, PolicyDriver& driver);

  SubtaskEnds ends;
  TimeLimits time_limits;
  JobPriorities priorities;
  Recomputation recomputation;
  Retries retries;
  AttemptCounts attempts;
  Adoption adoption;
  ReportReader reports;
};

/// Jobs from acceptance, or recovery, to oblivion.
struct Lifecycle {
  Lifecycle(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables,
            Outputs& outputs, PolicyBase& policy_base, Placement& placement, PolicyDriver& driver, Runs& runs);

  JobReleases releases;
  NestedRuns nested;
  JobAcceptance acceptance;
  JobReruns reruns;
  PlacementWaits waits;
  StateRecovery recovery;
};

/// Questions and orders of operators.
struct Admin {
  Admin(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables,
        PolicyBase& policy_base, Placement& placement, PolicyDriver& driver, Runs& runs);

  WorkerQuestions questions;
  ClusterAnswers cluster_answers;
  OperatorOrders orders;
  TimeLimitOrders time_limit_orders;
  SharedObjects shared;
};

}  // namespace penstock::supervisor
