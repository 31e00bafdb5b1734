// Gangs that wait until workers hold all their slots. Decision 0016.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class EntitlementMail;
struct EventContext;
class JobDemand;
class JobTable;
class PolicyView;

/// Lets a gang that has been given all its slots begin only when workers hold all of them. Writes `KindShare::barrier`.
/// Cost: linear in the bands, for a gang.
class GangBarriers {
 public:
  GangBarriers(EventContext& event, JobTable& jobs, const WorkerTable& workers, PolicyState& policy,
               const PolicyView& view, JobDemand& demand, EntitlementMail& entitlement_mail)
      : event_(event),
        jobs_(jobs),
        workers_(workers),
        policy_(policy),
        view_(view),
        demand_(demand),
        entitlement_mail_(entitlement_mail) {}
  GangBarriers(const GangBarriers&) = delete;
  GangBarriers& operator=(const GangBarriers&) = delete;

  /// Begins, changes or ends the gang's wait at a barrier. A gang that is given slots and had none waits; one that has
  /// begun, or needs its slots where its work is, does not. Returns whether workers must get its entitlements again.
  bool watch_barrier(Job& job, BandKind kind);
  /// A worker without barriers lets the gang begin as soon as it is entitled to anything, so the supervisor does not
  /// wait for it.
  void open_if_all_held(Job& job, BandKind kind);
  /// Gangs that wait for slots of that worker.
  std::vector<std::pair<JobId, BandKind>> barriers_with(WorkerSlot slot) const;
  /// The job ends: nothing stays reserved for it.
  void leave_barriers(Job& job);
  /// The same of one that waits, with its times.
  std::string barrier_hold(const Job& job, BandKind kind) const;
  /// The progress of the barrier, for people, with the workers that it waits for.
  std::string barrier_text(const Job& job, BandKind kind) const;

 private:
  /// Whether all of the gang runs already, and where the plan gives it its slots.
  bool runs_whole_where_planned(const Job& job, BandKind kind) const;
  /// Whether the plan for any band differs from the reservation that its worker was asked for.
  bool asks_otherwise(const Job& job, BandKind kind) const;
  /// Where quotas count, a gang is a whole number of allocation units.
  std::uint64_t milli_of_gang(const Job& job, BandKind kind) const;

  EventContext& event_;
  JobTable& jobs_;
  const WorkerTable& workers_;
  PolicyState& policy_;
  const PolicyView& view_;
  JobDemand& demand_;
  EntitlementMail& entitlement_mail_;
};

}  // namespace penstock::supervisor
