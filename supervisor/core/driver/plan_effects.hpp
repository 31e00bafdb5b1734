// A plan is carried out.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class AdmissionAudit;
class Entitlements;
class JobTable;
class LimitRules;
class PolicyView;
class PoolFallbacks;

/// Carries out the plan of a pass: what each job holds and is promised, the rule that holds it, its next pool, and its
/// entitlements. Cost: linear in the plan and in jobs in sight times bands.
class PlanEffects {
 public:
  PlanEffects(JobTable& jobs, const WorkerTable& workers, PolicyState& policy, const PolicyView& view,
              LimitRules& rules, PoolFallbacks& fallbacks, AdmissionAudit& admission_audit, Entitlements& entitlements)
      : jobs_(jobs),
        workers_(workers),
        policy_(policy),
        view_(view),
        rules_(rules),
        fallbacks_(fallbacks),
        admission_audit_(admission_audit),
        entitlements_(entitlements) {}
  PlanEffects(const PlanEffects&) = delete;
  PlanEffects& operator=(const PlanEffects&) = delete;

  /// The plan of that pass takes the place of the last one.
  void apply_plan(PassUnderWay& pass, const policy::Plan& plan);

 private:
  bool is_still(const PassUnderWay& pass, BandSlot band) const;
  void forget_last_plan();
  /// Gives the job of the subject its place; `device`: of a band with several, where it takes a part of one.
  void give(const PassUnderWay& pass, const PassUnderWay::Subject& subject, const PromisedPlace& place,
            std::uint32_t device);
  void give_places(PassUnderWay& pass, const policy::Plan& plan);
  void note_promises(const PassUnderWay& pass, const policy::Plan& plan);
  /// In pools that count slots the least of an elastic gang is one member, and each slot above it is another one: of a
  /// gang that has lost the first the others go as well.
  void end_broken_gang(const PassUnderWay::Subject& subject);
  /// A job that is alone takes nothing from others, also where its allocation units do not fill the band.
  void leave_out_lone_jobs(const PassUnderWay& pass);
  /// Records the rule that holds each job, and the pools in which a job waits at all.
  void note_explanations(const PassUnderWay& pass, const policy::Plan& plan);
  /// A job that holds nothing is tried in one of its pools after the other, and waits for all of them.
  static std::vector<std::uint32_t> pools_wanted_by(const JobShares& shares);

  JobTable& jobs_;
  const WorkerTable& workers_;
  PolicyState& policy_;
  const PolicyView& view_;
  LimitRules& rules_;
  PoolFallbacks& fallbacks_;
  AdmissionAudit& admission_audit_;
  Entitlements& entitlements_;
};

}  // namespace penstock::supervisor
