// Answers to operators about jobs, workers and bands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/admin.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class BandQueues;
class Dispatcher;
class EndedJobs;
struct EventContext;
class ExternalInputs;
class Feasibility;
struct JobIndices;
class JobTable;
class NestedJobs;
class PolicyAnswers;
class Readoption;
class RetryTimers;

/// Describes jobs, workers, bands and queues, and explains why a subtask does not run. Changes nothing.
/// Cost: linear in what is listed.
class ClusterAnswers {
 public:
  ClusterAnswers(const SupervisorConfig& config, EventContext& event, JobTable& jobs, const WorkerTable& workers,
                 EndedJobs& ended, const NestedJobs& nested, const Readoption& readoption, const PolicyState& policy,
                 const JobIndices& indices, const RetryTimers& timers, Feasibility& feasibility, BandQueues& queues,
                 ExternalInputs& external_inputs, Dispatcher& dispatcher, PolicyAnswers& policy_answers)
      : config_(config),
        event_(event),
        jobs_(jobs),
        workers_(workers),
        ended_(ended),
        nested_(nested),
        readoption_(readoption),
        policy_(policy),
        indices_(indices),
        timers_(timers),
        feasibility_(feasibility),
        queues_(queues),
        external_inputs_(external_inputs),
        dispatcher_(dispatcher),
        policy_answers_(policy_answers) {}
  ClusterAnswers(const ClusterAnswers&) = delete;
  ClusterAnswers& operator=(const ClusterAnswers&) = delete;

  /// Running jobs, best first; then those that have ended, the last one first.
  Result<Value> list_jobs(const AdminRequest& request) const;
  /// All fields of one job.
  Value describe_job(const Job& job) const;
  /// Rows of workers: state, bands, memory, counters.
  Value describe_workers() const;
  /// Rows of bands: capacity and load.
  Value describe_bands() const;
  /// Rows of bands: what is kept here for them, assigned and running.
  Value describe_queues() const;
  /// Words for tab completion: of jobs, or of workers.
  Result<Value> complete_words(const AdminRequest& request) const;
  /// With remedies, which take a look at all jobs and bands, only if asked for them.
  Value explain_job(Job& job, bool with_remedies);
  /// State and attempts of one subtask, and the reason why it does not run.
  Value explain_subtask(Job& job, std::uint32_t subtask);

 private:
  /// The head of every answer about a job.
  Value::Record first_fields(const Job& job) const;
  Value describe_row(const Job& job, bool with_end) const;
  std::string reason_of(Job& job, std::uint32_t subtask);
  std::string children_text(const SubtaskId& parent) const;

  const SupervisorConfig& config_;
  EventContext& event_;
  JobTable& jobs_;
  const WorkerTable& workers_;
  EndedJobs& ended_;
  const NestedJobs& nested_;
  const Readoption& readoption_;
  const PolicyState& policy_;
  const JobIndices& indices_;
  const RetryTimers& timers_;
  Feasibility& feasibility_;
  BandQueues& queues_;
  ExternalInputs& external_inputs_;
  Dispatcher& dispatcher_;
  PolicyAnswers& policy_answers_;
};

}  // namespace penstock::supervisor
