// The slots that a plan lets each job hold, from the plan to the workers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class AdmissionAudit;
class AssignmentWriter;
class BandQueues;
class Eligibility;
class EntitlementMail;
struct EventContext;
class GangBarriers;
class JobDemand;
class JobRecords;
class JobTable;
class PolicyTurns;
class PolicyView;
class WorkerMail;

/// Gives each job what the last plan says: workers are told, jobs that have lost slots are asked to leave, gangs wait
/// at barriers. Cost: for a job linear in the bands.
class Entitlements {
 public:
  Entitlements(EventContext& event, JobTable& jobs, WorkerTable& workers, const Eligibility& eligibility,
               WorkerMail& mail, PolicyState& policy, const PolicyView& view, PolicyTurns& turns, JobRecords& records,
               JobDemand& demand, EntitlementMail& entitlement_mail, BandQueues& queues, AssignmentWriter& assignments,
               AdmissionAudit& admission_audit, GangBarriers& barriers)
      : event_(event),
        jobs_(jobs),
        workers_(workers),
        eligibility_(eligibility),
        mail_(mail),
        policy_(policy),
        view_(view),
        turns_(turns),
        records_(records),
        demand_(demand),
        entitlement_mail_(entitlement_mail),
        queues_(queues),
        assignments_(assignments),
        admission_audit_(admission_audit),
        barriers_(barriers) {}
  Entitlements(const Entitlements&) = delete;
  Entitlements& operator=(const Entitlements&) = delete;

  /// Gives the job what the last plan says: workers, queues and barriers follow. The first slots of a job are those of
  /// the plan also where nothing limits the job, so that its work is where the fitting of the pool wants it. A pass
  /// that follows at once lets the job use all.
  void entitle(Job& job);
  /// All or nothing: slots that workers hold already are given back with the rest, and other jobs come first in the
  /// next pass.
  void give_up_barrier(Job& job, BandKind kind, const std::string& why);
  /// Gangs that have waited for `policy.gang_barrier` give all their slots back.
  void give_up_late_barriers();

 private:
  /// Whether the worker of the band is to be told other devices; these count as told from now on.
  static bool follow_devices(JobShares& shares, const KindShare& share, BandSlot band, bool free);
  /// The job has lost the band: unprepared attempts there come back and go to bands where the job has slots.
  void recall(Job& job, BandSlot slot);
  /// Where the job has slots and nothing to run on them, while on another band more of it waits than may run there: as
  /// many attempts come back, and the band with slots pulls them.
  void recall_excess(Job& job, BandKind kind);
  /// Whether more of the job runs than a limit or an operator allows: slots are taken back, though no other job waits.
  bool exceeds_limit(const Job& job, BandKind kind) const;
  /// Whether a gang that has lost its slots, with a worker or by giving up their rest, has runs left in the way of its
  /// next beginning: others of its subtasks wait.
  bool waits_for_own_runs(const Job& job, BandKind kind) const;
  /// Asks attempts that have been running for a while on slots that the job has lost to leave, the latest first. Short
  /// attempts end before a message could reach them.
  void take_back_running(Job& job, BandSlot slot);
  void preempt(Job& job, const AssignedRef& ref);

  EventContext& event_;
  JobTable& jobs_;
  WorkerTable& workers_;
  const Eligibility& eligibility_;
  WorkerMail& mail_;
  PolicyState& policy_;
  const PolicyView& view_;
  PolicyTurns& turns_;
  JobRecords& records_;
  JobDemand& demand_;
  EntitlementMail& entitlement_mail_;
  BandQueues& queues_;
  AssignmentWriter& assignments_;
  AdmissionAudit& admission_audit_;
  GangBarriers& barriers_;
};

}  // namespace penstock::supervisor
