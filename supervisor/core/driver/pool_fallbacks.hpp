// The pool of its list in which a job is tried next.
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

class AuditLog;
struct EventContext;
class Feasibility;
class JobRecords;
class JobTable;
class Placer;
class PolicyView;

/// Moves jobs through their lists of pools by the results of passes (spec policy-runai 7, 10;
/// supervisor/policy/pool_choice.hpp). All of a job is in one pool, but of a bag of independent subtasks: that keeps
/// what it holds, and is tried for more in one of its pools after the other. Cost: of a plan n log n in its subjects.
class PoolFallbacks {
 public:
  PoolFallbacks(EventContext& event, AuditLog& audit, JobTable& jobs, const WorkerTable& workers, PolicyState& policy,
                const PolicyView& view, JobRecords& records, Feasibility& feasibility, Placer& placer)
      : event_(event),
        audit_(audit),
        jobs_(jobs),
        workers_(workers),
        policy_(policy),
        view_(view),
        records_(records),
        feasibility_(feasibility),
        placer_(placer) {}
  PoolFallbacks(const PoolFallbacks&) = delete;
  PoolFallbacks& operator=(const PoolFallbacks&) = delete;

  /// The job's list of pools under the configuration in force. A job with external inputs runs where these are held,
  /// and cannot be tried elsewhere: it is in the first of its pools only. A job stays in its pool if that is still in
  /// its list. REQUIRES: the job has shares.
  void open_pools(Job& job) const;
  /// Takes the label limits of the configuration in force. Waiting subtasks on workers that these bar are placed again.
  void open_labels(Job& job);
  /// Before a pass. A job that holds anything stays in its pool, if it is no bag: all of a gang is in one pool. Pools
  /// that could not hold it if they were empty are passed over.
  void follow_fallback(Job& job);
  /// Moves each job in its list by the result of a pass. A round through a list is made at once, and begins again with
  /// the next period or an earlier event: a waiting job begins at the head of its list.
  void note_fallbacks(const PassUnderWay& pass, const policy::Plan& plan);
  /// Workers of before a restart may have work of the job in a pool that was not written down in time.
  void stay_where_claimed(Job& job) const;
  /// Whether work that is claimed late belongs to a job that has gone on in another of its pools, and is no bag. A job
  /// that holds nothing goes to the pool of its work. For work claimed in time: `stay_where_claimed`.
  bool goes_on_elsewhere(Job& job, WorkerSlot slot);
  /// A subtask that must not run twice may have begun: it is left to end, and policy takes its slots back like any
  /// others.
  static bool must_end_there(const Job& job, const ClaimedAttempt& claim);
  /// The job's list of pools, with the rule that held it in each other pool. For `explain`.
  Value::List describe_fallback(const Job& job) const;
  /// The pool of the job, or those where a bag holds slots, with commas. For `queue`.
  std::string pools_text(const Job& job) const;

 private:
  /// Passes over a pool that could not hold all of the job if no other job were there.
  bool pass_over(Job& job) const;
  /// REQUIRES: it holds nothing, or is a bag.
  void enter_fallback_pool(Job& job) const;
  bool is_in(const Job& job, std::uint32_t pool) const;
  /// `room_in`: one of its pools where there is room in the place that it has kept there.
  void note_fallback(Job& job, policy::PoolFallback::Outcome outcome, std::uint32_t room_in);
  /// The next pass comes at once, so that known room is not left idle for a period: in each period as often as there
  /// are pools. Jobs that go round out of step would have passes follow each other for ever.
  void hurry();

  EventContext& event_;
  AuditLog& audit_;
  JobTable& jobs_;
  const WorkerTable& workers_;
  PolicyState& policy_;
  const PolicyView& view_;
  JobRecords& records_;
  Feasibility& feasibility_;
  Placer& placer_;
  Instant hurries_since_{};
  std::size_t hurries_ = 0;  ///< Since then.
};

}  // namespace penstock::supervisor
