// Lines of the audit history about policy.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class AuditLog;
struct EventContext;
struct JobIndices;
class JobTable;
class PolicyView;

/// Tells in the audit history which slots a job may hold, why it must wait or leave, and by which numbers. Work that
/// comes and goes does not fill the history. Cost: constant for a job.
class AdmissionAudit {
 public:
  AdmissionAudit(EventContext& event, AuditLog& audit, JobTable& jobs, const WorkerTable& workers, PolicyState& policy,
                 const JobIndices& indices, const PolicyView& view)
      : event_(event), audit_(audit), jobs_(jobs), workers_(workers), policy_(policy), indices_(indices), view_(view) {}
  AdmissionAudit(const AdmissionAudit&) = delete;
  AdmissionAudit& operator=(const AdmissionAudit&) = delete;

  /// Of sharing among jobs, which counts slots.
  static std::uint64_t milli_of_target(const PassUnderWay& pass, const policy::Target& target);
  /// A line if the slots that the job may hold have changed in a way that people want to read.
  void note_admission_state(Job& job);
  /// Records why each job loses slots; a plan takes many places of one job, mostly for one reason.
  void note_preemptions(const PassUnderWay& pass, const policy::Plan& plan);
  /// A line for an attempt that is asked to leave; beyond a number of them one line for all.
  void note_preempted(const Job& job, const AssignedRef& ref);
  /// The line for all preempted attempts of the plan at hand that have none of their own.
  void note_more_preempted();
  /// Jobs and workers, each with its pool; without a policy they are in none.
  std::vector<std::pair<std::string, std::string>> pools_by_name() const;
  /// `before`: the same jobs and workers under the configuration of before.
  void note_pool_moves(const std::vector<std::pair<std::string, std::string>>& before);

 private:
  /// Of one plan: a project's sum is the same for all that leave for it.
  using HeldByProject = std::map<std::pair<std::uint32_t, BandKind>, std::uint64_t>;
  /// `Free`: nothing limits its demand; `Limited`: it holds a part of its demand; `Nothing`: it has no demand.
  AdmissionState admission_state_of(const Job& job, BandKind kind) const;
  /// Work that comes and goes changes the slots of a job all the time: that must not fill the history.
  bool may_report_again(const ReportedShare& reported);
  std::string admission_state_text(const Job& job, BandKind kind) const;
  std::uint64_t milli_of_project(std::uint32_t project, BandKind kind) const;
  /// As passes compare it.
  std::string priority_text(const Job& job) const;
  std::string preemption_text(const PassUnderWay& pass, const policy::Plan& plan, const policy::Preemption& each,
                              HeldByProject& held_by) const;

  EventContext& event_;
  AuditLog& audit_;
  JobTable& jobs_;
  const WorkerTable& workers_;
  PolicyState& policy_;
  const JobIndices& indices_;
  const PolicyView& view_;
};

}  // namespace penstock::supervisor
