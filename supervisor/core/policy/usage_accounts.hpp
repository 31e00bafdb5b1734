// The use that is charged to accounts, and its decay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class CommitGate;
struct EventContext;
struct JobIndices;
class JobTable;
class PolicyTurns;
class PolicyView;
class WallClock;

/// Charges accounts with what jobs use (spec policy-flux 6) and keeps the policy state that survives a restart: use,
/// and the settings of operators. Writes `PolicyState::{usage, settings, shares}` and `JobShares::use`. Cost: constant
/// for a report; of a pass linear in the jobs in sight.
class UsageAccounts {
 public:
  UsageAccounts(EventContext& event, const WallClock& clock, CommitGate& gate, JobTable& jobs, PolicyState& policy,
                const JobIndices& indices, const PolicyView& view, PolicyTurns& turns)
      : event_(event),
        clock_(clock),
        gate_(gate),
        jobs_(jobs),
        policy_(policy),
        indices_(indices),
        view_(view),
        turns_(turns) {}
  UsageAccounts(const UsageAccounts&) = delete;
  UsageAccounts& operator=(const UsageAccounts&) = delete;

  /// Charges accounts in each pass, by the runs since the last one, whether ended or not. Spec: policy-flux 6.
  void charge_accounts();
  /// From now on the account that the job names, or that of its owner, is charged. REQUIRES: the job has shares.
  void charge_to_account(Job& job) const;
  /// Charges the account of the job with its use so far.
  void charge(Job& job);
  /// Adds the use of an attempt from its own report: of a short one at its end, of any other one when it is reported as
  /// running.
  void note_use(Job& job, const AttemptReport& report) const;
  /// The use of a run of the subtask, for each microsecond.
  UsedRate rate_of(const Job& job, std::uint32_t subtask) const;
  /// The tree of accounts now, with all users that have use or jobs.
  AccountTree accounts_now() const;
  /// An attempt that is reported as running is counted by the clock from then on: its end may come hours later, after a
  /// restart of the supervisor, or never. REQUIRES: the job has shares.
  JobUse& accrue(Job& job) const;
  /// Use changes all the time: its record is renewed now and then, and when the last job ends.
  void keep_usage();
  /// Writes use and settings down now.
  void keep_policy();
  /// A setting that does not fit the present configuration is not set again, and an alert says so.
  void recover_policy(const record::PolicyKept& kept);
  /// A change that does not fit the configuration is refused whole.
  Result<void> change_project(const std::string& project, ProjectSetting what, std::int64_t amount);
  /// The same for an account. Past use stays, and counts against other shares from now on.
  Result<void> change_account(const std::string& account, std::int64_t shares);

 private:
  EventContext& event_;
  const WallClock& clock_;
  CommitGate& gate_;
  JobTable& jobs_;
  PolicyState& policy_;
  const JobIndices& indices_;
  const PolicyView& view_;
  PolicyTurns& turns_;
};

}  // namespace penstock::supervisor
