// Graphs that become jobs, and clients that follow them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/events.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/ledger/after_write.hpp"
#include "supervisor/core/lifecycle/nested_runs.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

struct EventContext;
struct Fleet;
class JobReleases;
struct JobTables;
struct Ledger;
struct Outputs;
struct Placement;
struct PolicyBase;
struct PolicyDriver;

/// Accepts graphs as jobs, or refuses them with the reason; where an acceptance could not be written, the job never
/// was.
/// Clients that attach follow a job from then on. Cost: linear in the graph.
class JobAcceptance {
 public:
  JobAcceptance(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables,
                Outputs& outputs, PolicyBase& policy_base, Placement& placement, PolicyDriver& driver,
                JobReleases& releases, NestedRuns& nested)
      : config_(config),
        event_(event),
        ledger_(ledger),
        fleet_(fleet),
        tables_(tables),
        outputs_(outputs),
        policy_base_(policy_base),
        placement_(placement),
        driver_(driver),
        releases_(releases),
        nested_(nested) {}
  JobAcceptance(const JobAcceptance&) = delete;
  JobAcceptance& operator=(const JobAcceptance&) = delete;

  /// Accepts a graph that was checked as a job, or answers why not.
  void submit(supervisor_event::GraphChecked& event);
  /// The graph was checked when it came; the capacity of the cluster may have changed since.
  void submit_again(ClientId client, const SubmitAgain& message, const JobIdentity& identity);
  /// Accepts another run of an ended job, which nobody follows. The graph has counted the job already, and counts it no
  /// more if it is refused. Errors: those of a submission.
  Result<JobId> run_again(JobSpec spec, SharedGraph& graph, const JobIdentity& identity);
  /// The graph has counted this job already.
  Job& make_job(JobSpec spec, SharedGraph& graph, JobId id);
  /// A job that had ended before a restart belongs to its run again.
  void adopt_ended(const Job& job) { nested_.adopt(job); }
  /// Spec: worker 10. Sources go to the bands as contiguous regions of the graph, sized by slots, so that first joins
  /// are local. Everything else that could be placed, after a restart, goes where its inputs are.
  void place_sources(Job& job);
  /// A client follows a job, by number or name, from now on; or is told why not.
  void attach(ClientId client, const AttachJob& message);
  /// A job never was if its acceptance could not be written and was never told.
  void withdraw(JobId id);

 private:
  void refuse(ClientId client, SubmitReply& reply, Error error);
  /// Answers when the job is refused, or is there already; else it can be accepted. A nested job takes after its
  /// parent. `graph`: none where it is not known.
  bool is_new(ClientId client, SubmitReply& reply, JobSpec& spec, const GraphHash& graph);
  /// Whether its owner may have the job. A nested job takes after its parent.
  Result<void> check_owner(JobSpec& spec);
  /// Whether the cluster can run the job. The graph has counted it already, and counts it no more if it cannot.
  Result<void> check_known(JobSpec& spec, SharedGraph& graph);
  void accept(ClientId client, SubmitReply& reply, JobSpec spec, SharedGraph& graph, const JobIdentity& identity);
  /// `follower`: none, or the client that has submitted the job.
  void begin(JobSpec spec, SharedGraph& graph, const JobIdentity& identity, ClientId follower);
  /// Whether the user may have one job more (`users.jobs_max`). Error: LimitExceeded.
  Result<void> check_users_jobs(const std::string& user) const;
  GraphHash graph_of(const SubmitAgain& message);
  Job* find_to_follow(const AttachJob& message) const;
  void follow(Job& job, ClientId client);

  const SupervisorConfig& config_;
  EventContext& event_;
  Ledger& ledger_;
  Fleet& fleet_;
  JobTables& tables_;
  Outputs& outputs_;
  PolicyBase& policy_base_;
  Placement& placement_;
  PolicyDriver& driver_;
  JobReleases& releases_;
  NestedRuns& nested_;
};

}  // namespace penstock::supervisor
