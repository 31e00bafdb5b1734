// Jobs that have ended are released, and forgotten at last.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

struct EventContext;
struct Fleet;
struct JobTables;
struct Ledger;
struct Outputs;
struct Placement;
struct PolicyBase;
struct PolicyDriver;
struct Runs;

/// Ends jobs, releases what is kept of them when nobody needs it any more, and forgets the oldest ones. Cost: linear in
/// the outputs and followers of a job.
class JobReleases {
 public:
  JobReleases(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables,
              Outputs& outputs, PolicyBase& policy_base, Placement& placement, PolicyDriver& driver, Runs& runs)
      : config_(config),
        event_(event),
        ledger_(ledger),
        fleet_(fleet),
        tables_(tables),
        outputs_(outputs),
        policy_base_(policy_base),
        placement_(placement),
        driver_(driver),
        runs_(runs) {}
  JobReleases(const JobReleases&) = delete;
  JobReleases& operator=(const JobReleases&) = delete;

  /// The job has ended, or never was. A producer job that was to be released meanwhile is released now.
  void drop_references(const Job& job);
  /// The job no longer uses its graph, which may be kept for the next one.
  void leave_graph(Job& job);
  /// Ends the job if no subtask of it is open.
  void finish_if_done(Job& job);
  /// Not if an order keeps it. REQUIRES: it has ended.
  void release_job(Job& job);
  /// `keep JOB`: its outputs stay, with or without a client that follows, until `unkeep JOB`; then they go, unless a
  /// client follows or other jobs read them. A nested job that is kept does not end with its run.
  /// Errors: NotFound: it has no outputs any more.
  Result<Value> keep_by_order(Job& job, bool keep);
  /// A client asks nothing more about the job. One that runs is released when it has ended, unless others follow it
  /// then, or somebody may ask for it by its name.
  void release_for(Job& job, ClientId client);
  /// A client needs the outputs of these subtasks no more; see `ReleaseOutputs`. Outputs that subtasks of the job or
  /// other jobs have still to read go after that.
  void release_outputs(Job& job, std::span<const SubtaskRange> ranges);
  /// Forgets ended jobs beyond the limits of number, age and memory.
  void forget_old_jobs();
  /// A nested job that no client asks for, or that has lost its run: the job does not belong to the run any longer, and
  /// is forgotten when it has ended and has neither outputs nor followers.
  void spend(const Job& job);
  void forget_spent_jobs();
  /// The client is told no more of the job.
  void unfollow(Job& job, ClientId client);
  /// Nothing of the job remains here.
  void erase_job(const Job& job);

 private:
  /// The job is no longer kept by order, and ends with its run again.
  void rejoin(const Job& job);
  // output_releases.cpp
  void forget(Job& job);
  static bool stop_wanting(Job& job, std::uint32_t subtask);
  void let_go(Job& job, const std::vector<std::uint32_t>& subtasks);

  /// The next job of the same graph begins with these durations, so that bands get their whole credit at once.
  void learn_durations(const Job& job);

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
};

}  // namespace penstock::supervisor
