// The entitlements that workers are told.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

struct EventContext;
class WorkerMail;

/// Tells workers which slots a job may hold on their bands, and which they reserve for a gang at its barrier.
/// Cost: linear in the bands of a worker.
class EntitlementMail {
 public:
  EntitlementMail(const SupervisorConfig& config, EventContext& event, const WorkerTable& workers, WorkerMail& mail,
                  PolicyState& policy)
      : config_(config), event_(event), workers_(workers), mail_(mail), policy_(policy) {}
  EntitlementMail(const EntitlementMail&) = delete;
  EntitlementMail& operator=(const EntitlementMail&) = delete;

  /// Before the first assignment of the job, and whenever they change. REQUIRES: the job has shares.
  void send_entitlements(const Job& job, WorkerSlot slot);
  /// Opens barriers from before a restart, as no policy is in force now.
  void free_gang(const Job& job, WorkerSlot slot);

 private:
  /// The reservation that a worker holds for the gang on a band, instead of letting it begin.
  void reserve_for(const Job& job, BandSlot band, Entitlement& entitlement) const;

  const SupervisorConfig& config_;
  EventContext& event_;
  const WorkerTable& workers_;
  WorkerMail& mail_;
  PolicyState& policy_;
};

}  // namespace penstock::supervisor
