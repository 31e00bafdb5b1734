// Jobs and workers enter the policy in force, and leave it.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class AllocationUnits;
class BandIndices;
class EntitlementMail;
struct JobIndices;
class LimitRules;
class PolicyTurns;
class PolicyView;
class PoolFallbacks;
class UsageAccounts;

/// Enters jobs into the policy in force and removes them; knows the pool of each worker. Writes `Job::shares`,
/// `PolicyState::{agenda, pool_of_band}`. Cost: for a job linear in the bands, and in what it has in flight.
class PolicyMembership {
 public:
  PolicyMembership(WorkerTable& workers, BandIndices& bands, PolicyState& policy, JobIndices& indices,
                   const PolicyView& view, PolicyTurns& turns, AllocationUnits& units, LimitRules& rules,
                   UsageAccounts& usage, EntitlementMail& entitlement_mail, PoolFallbacks& fallbacks)
      : workers_(workers),
        bands_(bands),
        policy_(policy),
        indices_(indices),
        view_(view),
        turns_(turns),
        units_(units),
        rules_(rules),
        usage_(usage),
        entitlement_mail_(entitlement_mail),
        fallbacks_(fallbacks) {}
  PolicyMembership(const PolicyMembership&) = delete;
  PolicyMembership& operator=(const PolicyMembership&) = delete;

  /// Enters the job into the policy in force. Attempts that it has already are counted again.
  void open_shares(Job& job);
  /// Nothing is limited any more.
  void close_shares(Job& job);
  /// Removes the job from all that policy counts. The job ends, or no policy is in force any more.
  void leave_policy(Job& job);
  /// The pool of each band of a worker that has joined, or under a new configuration.
  void note_pools_of(WorkerSlot slot);

 private:
  WorkerTable& workers_;
  BandIndices& bands_;
  PolicyState& policy_;
  JobIndices& indices_;
  const PolicyView& view_;
  PolicyTurns& turns_;
  AllocationUnits& units_;
  LimitRules& rules_;
  UsageAccounts& usage_;
  EntitlementMail& entitlement_mail_;
  PoolFallbacks& fallbacks_;
};

}  // namespace penstock::supervisor
