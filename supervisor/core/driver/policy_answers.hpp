// Questions of operators about policy, and why a job does not get more.
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

struct EventContext;
class Feasibility;
class GangBarriers;
class JobDemand;
struct JobIndices;
class JobTable;
class LimitRules;
class PolicyView;
class PoolFallbacks;
class UsageAccounts;

/// Answers `pools`, `projects`, `shares`, `queue` and the policy part of `explain`. Reads all jobs and bands, as they
/// are now: only when people ask. Changes nothing. Cost: linear in jobs and bands, remedies more.
class PolicyAnswers {
 public:
  PolicyAnswers(EventContext& event, const JobTable& jobs, const WorkerTable& workers, const PolicyState& policy,
                const JobIndices& indices, const PolicyView& view, JobDemand& demand, const LimitRules& rules,
                Feasibility& feasibility, UsageAccounts& usage, PoolFallbacks& fallbacks, GangBarriers& barriers)
      : event_(event),
        jobs_(jobs),
        workers_(workers),
        policy_(policy),
        indices_(indices),
        view_(view),
        demand_(demand),
        rules_(rules),
        feasibility_(feasibility),
        usage_(usage),
        fallbacks_(fallbacks),
        barriers_(barriers) {}
  PolicyAnswers(const PolicyAnswers&) = delete;
  PolicyAnswers& operator=(const PolicyAnswers&) = delete;

  /// Rows of pools by kind: bands, slots, jobs. Error: WrongState without a policy, as for the other answers.
  Result<Value> describe_pools() const;
  /// Rows of projects by pool and kind: what they hold, want, and are guaranteed.
  Result<Value> describe_projects() const;
  /// Rows of accounts and users: shares, use and fair-share factor.
  Result<Value> describe_shares() const;
  /// Jobs that wait for slots or hold some, in the order in which policy would look at them.
  Result<Value> describe_queue(const Viewer& viewer) const;
  /// The reason why a job gets no more: a rule of the plan, a limit, or its own cap. Empty: there is none.
  std::string hold_of(const Job& job, BandKind kind) const;
  /// The policy fields of a job, for `explain`.
  void explain_policy(const Job& job, bool with_remedies, Value::Record& fields) const;
  /// `2nd of 5 of priority 0 in pool 'all'`, by position.
  std::string place_text(const Job& job) const;
  /// Elsewhere a move would change nothing. Spec: policy-determined 5.5.
  Result<void> check_positions_count(const Job& job) const;

 private:
  class Explainer;  ///< Of `explain`: explainer.hpp.
  std::string names_of(const std::vector<std::uint32_t>& pools) const;
  Value workers_wanted(std::uint32_t pool, BandKind kind) const;
  /// Whether the job holds all that its own cap allows, and has more to run. A pass does not see the demand beyond a
  /// cap, and so reports no hold.
  bool is_at_cap(const Job& job, BandKind kind) const;

  EventContext& event_;
  const JobTable& jobs_;
  const WorkerTable& workers_;
  const PolicyState& policy_;
  const JobIndices& indices_;
  const PolicyView& view_;
  JobDemand& demand_;
  const LimitRules& rules_;
  Feasibility& feasibility_;
  UsageAccounts& usage_;
  PoolFallbacks& fallbacks_;
  GangBarriers& barriers_;
};

}  // namespace penstock::supervisor
