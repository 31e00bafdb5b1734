// Levels of service, queues and limits: their effect on a job.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/admin.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/limit_admission.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class AllocationUnits;
struct JobIndices;
class JobTable;
class PolicyView;

/// A job under limits, and what they leave it.
struct AdmittedJob {
  JobId job;
  Admission admission;
  std::string owner;  ///< The user or account with the limit that holds it.
  JobId kept_for;     ///< The job for which some of that limit is kept; else none.
};

/// A limit of slots that is divided with the shares of a pool, and not before: these jobs hold at most so much
/// together.
struct SharedLimit {
  BandKind kind = BandKind::Cpu;
  std::uint32_t pool = 0;
  std::uint64_t milli = 0;  ///< Left by others under the limit: those in other pools, and gangs that run.
  std::string whom;         ///< The user or account.
  std::int64_t most = 0;    ///< The limit.
  std::vector<JobId> jobs;  ///< Ascending.
};

/// Holds jobs to the limits of users and accounts (spec policy-flux 8): at submission, and before each pass by lowering
/// the demand of jobs to the rest of their limits. Writes `JobShares::rules` and `JobIndices::limited`.
/// Cost: of a pass, n log n in the jobs in sight that have limits.
class LimitRules {
 public:
  LimitRules(JobTable& jobs, const WorkerTable& workers, PolicyState& policy, JobIndices& indices,
             const PolicyView& view, AllocationUnits& units)
      : jobs_(jobs), workers_(workers), policy_(policy), indices_(indices), view_(view), units_(units) {}
  LimitRules(const LimitRules&) = delete;
  LimitRules& operator=(const LimitRules&) = delete;

  /// Checks the job's level and queue, and the number of jobs that its owner already has.
  Result<void> check_rules_of(const JobSpec& spec) const;
  /// A gang or a subtask that is larger than a limit would wait for ever. Spec: policy-flux 8, request > max.
  Result<void> check_limits(const JobSpec& spec, const GraphShape& shape) const;
  /// Whether a job that waits may be charged to the account that `changed` names: the account is known, and none of its
  /// limits of running jobs is reached. Spec: policy-flux 8.
  Result<void> check_move(const JobSpec& changed, const Job& job) const;
  /// As the policy in force has it now. REQUIRES: the job has shares.
  void open_rules(Job& job);
  /// A job that holds nothing and has nothing to run lets another one begin instead, and must be admitted again.
  void leave_admission(Job& job) const;
  /// The admission of each job in sight that has limits or is on hold, in the order in which they are admitted.
  /// `wanted(job)`: its demand by kind; none: the job counts as ended.
  using Wanted = std::function<std::optional<MilliByKind>(const Job&)>;
  std::vector<AdmittedJob> admit(const Wanted& wanted) const;
  /// Lowers the demand of jobs to the rest of their limits, before anything is divided: so policy keeps within the
  /// limits, whatever its parts, and reserves nothing for a job that may not have it. Where a pool divides its slots
  /// among all jobs, limits of slots are left to that division, and returned.
  std::vector<SharedLimit> apply_limits();
  /// A job that no rule of the plan holds may be held by a limit. A job that has got slots counts as running from now
  /// on.
  void note_limit_holds(Job& job) const;
  /// The users and accounts with limits, the limits, and their present counts.
  Result<Value> describe_limits() const;
  /// One more of them, `changed`, which is none of those that have these limits already; null: a new one.
  Result<void> check_active_jobs(const JobSpec& spec, const Job* changed) const;

 private:
  std::vector<SharedLimit> shared_limits(const std::vector<AdmittedJob>& admitted) const;
  /// Whether limits of slots that hold for the job are divided with the shares of its pool.
  bool shares_limits(const Job& job, const Admission& admission) const;
  /// Lowers the demand of the job, but where its limit is `divided`.
  void cut(Job& job, const AdmittedJob& admitted, const std::array<const SharedLimit*, kBandKinds>& divided) const;

  JobTable& jobs_;
  const WorkerTable& workers_;
  PolicyState& policy_;
  JobIndices& indices_;
  const PolicyView& view_;
  AllocationUnits& units_;
};

}  // namespace penstock::supervisor
