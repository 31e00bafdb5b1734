// The cluster as a pass of the policy sees it.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class AllocationUnits;
class Colocation;
struct EventContext;
class Feasibility;
class JobDemand;
class JobTable;
class LimitRules;
class PolicyView;
class PoolFallbacks;
struct SharedLimit;
class UsageAccounts;

/// A slot is shown to policy as a device, and parts of it as parts of that device's memory in thousandths. The real
/// memory of a device counts in the slots of a run.
inline constexpr std::int64_t kDeviceMib = 1000;

/// A member of a job that takes `milli`, in the domain of `subject` and without places. `preemptible`: of the job.
policy::Member member_of(const Job& job, const PassUnderWay::Subject& subject, std::uint64_t milli,
                         std::uint64_t granularity, bool preemptible, bool quotas);

/// Builds the snapshot of a pass out of jobs, bands and owners, and keeps in `PolicyState::pass` what its positions
/// mean. Cost: linear in bands and in the members of jobs in sight, of which there are `policy.members_max`.
class PassSnapshot {
 public:
  PassSnapshot(EventContext& event, JobTable& jobs, const WorkerTable& workers, PolicyState& policy,
               const PolicyView& view, AllocationUnits& units, JobDemand& demand, LimitRules& rules,
               Feasibility& feasibility, UsageAccounts& usage, PoolFallbacks& fallbacks, Colocation& colocation)
      : event_(event),
        jobs_(jobs),
        workers_(workers),
        policy_(policy),
        view_(view),
        units_(units),
        demand_(demand),
        rules_(rules),
        feasibility_(feasibility),
        usage_(usage),
        fallbacks_(fallbacks),
        colocation_(colocation) {}
  PassSnapshot(const PassSnapshot&) = delete;
  PassSnapshot& operator=(const PassSnapshot&) = delete;

  /// Builds the snapshot and orders the pass from the shell.
  void begin_pass();

 private:
  /// A job that is tried in one of its pools has been tried in the ones that it prefers, and waits there as well:
  /// others get neither the place of its start there, nor its share, nor a start that would delay its reserved one. A
  /// bag does so in all its pools that share slots and where it holds none, or its share would come and go.
  void keep_places(Job& job, policy::Snapshot& snapshot);
  void show_kept_place(Job& job, std::uint32_t pool, policy::Snapshot& snapshot);
  /// Whether the whole demand counts in shares, also beyond the capacity. Spec: policy-determined 3.1.
  bool shares_by_demand(std::uint32_t pool) const;
  /// Before groups are chosen: a job that is bound no more needs one.
  void find_bonds(Job& job) const;
  void measure_job(Job& job);
  void show_bands(PassUnderWay& pass, policy::Snapshot& snapshot) const;
  void show_owners(PassUnderWay& pass, policy::Snapshot& snapshot) const;
  /// Shows limits of users and accounts that are divided with the shares. REQUIRES: all jobs are shown.
  void show_limits(const std::vector<SharedLimit>& limits, policy::Snapshot& snapshot) const;
  /// `holds_only`: shows nothing that the job wants beside that.
  void show_job(Job& job, BandKind kind, policy::Snapshot& snapshot, bool holds_only = false);
  /// Shows a job that spreads: what it holds in each of its pools, and what it wants beside that where it is tried.
  void show_bag(Job& job, BandKind kind, policy::Snapshot& snapshot);
  /// Takes all places of a gang back that has waited too long for the rest. Where quotas count, the pass itself does so
  /// for a gang that holds places. The pass may also move a part of the gang; the promise for the moved part then
  /// stays, because without it the gang would run in part.
  void watch_gang(Job& job, BandKind kind, std::vector<PromisedPlace>& held, std::vector<PromisedPlace>& leaving) const;
  /// One member for each allocation unit; one for a gang, of which the members are shown singly where quotas count.
  void show_members(KindShare& share, const std::vector<PromisedPlace>& held, const std::vector<PromisedPlace>& leaving,
                    policy::Snapshot& snapshot);
  void show_member(std::uint64_t milli, std::vector<PromisedPlace> places, policy::MemberState state,
                   policy::Snapshot& snapshot);
  /// Shows what is missing beside the `places` that the job keeps: members that take any place, or the place that they
  /// were promised.
  void show_waiting_members(const KindShare& share, const std::vector<PromisedPlace>& places,
                            policy::Snapshot& snapshot);
  /// Shows members that wait for slots of one band each. A member with a promised place has a carried reservation:
  /// otherwise the next pass might divide the free slots in another way, and take them back again.
  void show_bound_members(const KindShare& share, std::uint64_t missing, policy::Snapshot& snapshot);

  EventContext& event_;
  JobTable& jobs_;
  const WorkerTable& workers_;
  PolicyState& policy_;
  const PolicyView& view_;
  AllocationUnits& units_;
  JobDemand& demand_;
  LimitRules& rules_;
  Feasibility& feasibility_;
  UsageAccounts& usage_;
  PoolFallbacks& fallbacks_;
  Colocation& colocation_;
};

}  // namespace penstock::supervisor
