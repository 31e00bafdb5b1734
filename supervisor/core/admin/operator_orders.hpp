// Orders of operators.
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

class ClusterAnswers;
struct JobIndices;
class JobPriorities;
class JobRecords;
class JobTable;
class LimitRules;
class PolicyAnswers;
class PolicyChecks;
class PolicyTurns;
class PolicyView;
class SubtaskEnds;
class UsageAccounts;
class WorkerQuestions;

/// Carries out orders about jobs, projects and accounts; each is checked whole before it changes anything. Cost: of a
/// move, n log n in the jobs of its pool.
class OperatorOrders {
 public:
  OperatorOrders(JobTable& jobs, WorkerTable& workers, WorkerQuestions& questions, PolicyState& policy,
                 JobIndices& indices, const PolicyView& view, PolicyTurns& turns, JobRecords& records,
                 LimitRules& rules, UsageAccounts& usage, PolicyChecks& policy_checks, PolicyAnswers& policy_answers,
                 ClusterAnswers& cluster_answers, SubtaskEnds& ends, JobPriorities& priorities)
      : jobs_(jobs),
        workers_(workers),
        questions_(questions),
        policy_(policy),
        indices_(indices),
        view_(view),
        turns_(turns),
        records_(records),
        rules_(rules),
        usage_(usage),
        policy_checks_(policy_checks),
        policy_answers_(policy_answers),
        cluster_answers_(cluster_answers),
        ends_(ends),
        priorities_(priorities) {}
  OperatorOrders(const OperatorOrders&) = delete;
  OperatorOrders& operator=(const OperatorOrders&) = delete;

  /// `hold JOB`: its running attempts end, and no others begin until `release JOB`.
  Result<Value> hold_by_request(const AdminRequest& request);
  /// `set weight|cap|qos|queue|account|user-factor JOB VALUE`, `set quota PROJECT SLOTS` and its like, `set shares
  /// ACCOUNT N`; priorities have their own order.
  Result<Value> set_by_request(const AdminRequest& request);
  /// `move JOB ahead-of|behind OTHER` of its pool; the job takes the priority of the other. Spec:
  /// policy-determined 5.5.
  Result<Value> move_by_request(const AdminRequest& request);
  /// `cancel JOB [--subtask KEY]`.
  Result<Value> cancel_by_request(const AdminRequest& request);
  /// Whether the answer to a cancel waits until the workers that may hold something of the job have carried it out.
  /// Workers from before a restart get the order when they are back, and are asked then.
  bool await_confirmations(ClientId client, const AdminRequest& request, const Value& answer);
  /// `priority JOB N [--subtask KEY]`.
  Result<Value> priority_by_request(const AdminRequest& request);
  /// `explain` and `logs`. `deferred`: workers are asked, and the answer follows.
  Result<Value> explain_by_request(ClientId client, const AdminRequest& request, bool& deferred);

 private:
  /// `set qos|queue|account JOB NAME`. Checked as at submission, so that a job that leaves `standby` is under its
  /// limits again.
  Result<Value> set_rule(Job& job, const std::string& what, const std::string& name);
  /// `set user-factor JOB VALUE`, from 0 to 1: counts from the next pass, where a sum of factors orders jobs.
  Result<Value> set_user_factor(Job& job, const std::string& text);
  /// The setting is in force, also after restarts, until the configuration is read again. Whole slots, bytes as in
  /// `8GiB`, a weight with up to three decimals or `none`; whole shares of an account.
  Result<Value> set_of_owner(const AdminRequest& request);
  /// A job that is already there with that priority, or is moved beside itself, stays.
  Result<void> move_beside(Job& job, const Job& other, bool ahead);

  JobTable& jobs_;
  WorkerTable& workers_;
  WorkerQuestions& questions_;
  PolicyState& policy_;
  JobIndices& indices_;
  const PolicyView& view_;
  PolicyTurns& turns_;
  JobRecords& records_;
  LimitRules& rules_;
  UsageAccounts& usage_;
  PolicyChecks& policy_checks_;
  PolicyAnswers& policy_answers_;
  ClusterAnswers& cluster_answers_;
  SubtaskEnds& ends_;
  JobPriorities& priorities_;
};

}  // namespace penstock::supervisor
