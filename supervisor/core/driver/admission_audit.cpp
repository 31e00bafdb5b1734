#include "supervisor/core/driver/admission_audit.hpp"

#include <algorithm>

#include "common/protocol/job_kind.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/driver/pool_spread.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/ledger/audit_log.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/plan.hpp"

namespace penstock::supervisor {
namespace {

/// The first time of each admission state of a job has a line; later changes of it, and of the number, have at most one
/// in this time, with their count. Not a setting: `queue` shows each change.
constexpr Duration kReportedAgainAfter = std::chrono::minutes{1};
/// Lines of that kind in that time, over all jobs; the others follow later, with the state of that time.
constexpr std::uint32_t kLinesMax = 60;
/// Preempted attempts of one plan, or moves of one reload, that have a line each; the rest share one.
constexpr std::uint32_t kLinesEachMax = 16;

bool has_slots(AdmissionState admission) {
  return admission == AdmissionState::Limited || admission == AdmissionState::Free;
}

const char* verb_of(AdmissionState before, AdmissionState now) {
  if (now == AdmissionState::Blocked) return "hold ";
  if (now == AdmissionState::Reserved) return "reserve ";
  return has_slots(before) ? "entitle " : "start ";
}

std::string slots_text(std::uint64_t milli, BandKind kind) {
  return decimal_text(milli) + (kind == BandKind::Gpu ? " gpu slots" : " slots");
}

}  // namespace

AdmissionState AdmissionAudit::admission_state_of(const Job& job, BandKind kind) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  if (const std::uint64_t milli = view_.milli_held(job, kind); milli > 0)
    return view_.is_limited(job, kind) && milli < share.demand ? AdmissionState::Limited : AdmissionState::Free;
  if (!share.promised.empty() || share.why.starts_by != kNever) return AdmissionState::Reserved;
  return share.why.hold.empty() ? AdmissionState::Nothing : AdmissionState::Blocked;
}

std::string AdmissionAudit::admission_state_text(const Job& job, BandKind kind) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  const std::string in_pool = job.shares->pool.spreads
                                  ? " in its pools"
                                  : " in pool '" + policy_.config.pools[job.shares->pool.position].name + "'";
  switch (admission_state_of(job, kind)) {
    case AdmissionState::Nothing: return {};
    case AdmissionState::Blocked: return share.why.hold;
    case AdmissionState::Reserved:
      if (!share.promised.empty()) return "its place is promised, and others are leaving it";
      return "its start is reserved, within " +
             decimal_text(static_cast<std::uint64_t>(std::max(share.why.starts_by - event_.now, Duration{0}).count()) /
                          1'000'000) +
             " s" + (share.why.hold.empty() ? "" : "; " + share.why.hold);
    case AdmissionState::Limited:
    case AdmissionState::Free: break;
  }
  std::string text = "it gets " + decimal_text(view_.milli_held(job, kind)) + " of the " +
                     slots_text(wanted_of(*job.shares, static_cast<std::size_t>(kind)), kind) + " that it wants" +
                     in_pool;
  if (!view_.is_limited(job, kind)) return text + ", where no other job waits";
  if (!share.why.hold.empty()) return text + "; " + share.why.hold;
  return share.target > 0 ? text + "; its share is " + decimal_text(share.target) : text;
}

bool AdmissionAudit::may_report_again(const ReportedShare& reported) {
  if (event_.now < later(reported.at, kReportedAgainAfter)) return false;
  if (event_.now >= policy_.lines_until) {
    policy_.lines_until = later(event_.now, kReportedAgainAfter);
    policy_.lines_left = kLinesMax;
  }
  if (policy_.lines_left == 0) return false;
  --policy_.lines_left;
  return true;
}

void AdmissionAudit::note_admission_state(Job& job) {
  if (job.shares == nullptr || job.status.cancelling) return;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    if (job.shares->kinds[static_cast<std::size_t>(kind)].unit_milli == 0) continue;
    const AdmissionState admission = admission_state_of(job, kind);
    if (admission == AdmissionState::Nothing) continue;  // A job that wants nothing now stays as it was.
    ReportedShare& reported = job.shares->kinds.edit(kind).why.reported.edit();
    const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(admission));
    if (admission == AdmissionState::Free && reported.once == 0) {
      // The job has all that it wants, and never had to wait: no decision was made about it.
      reported.admission = reported.seen = admission;
      reported.once = bit;
      continue;
    }
    const std::uint64_t milli = admission == AdmissionState::Limited ? view_.milli_held(job, kind) : 0;
    if (reported.seen != admission || reported.seen_milli != milli) ++reported.changes;
    reported.seen = admission;
    reported.seen_milli = milli;
    if (reported.admission == admission && reported.milli == milli) continue;
    const bool is_first = (reported.once & bit) == 0;
    const bool ends_wait = has_slots(admission) && !has_slots(reported.admission);
    if (!is_first && !ends_wait && !may_report_again(reported)) continue;
    std::string text = admission_state_text(job, kind);
    if (reported.admission == AdmissionState::Limited) text += "; it had " + decimal_text(reported.milli);
    if (reported.changes > 1) text += "; the last of " + std::to_string(reported.changes) + " changes";
    audit_.note_decision(verb_of(reported.admission, admission) + to_string(job.id), std::move(text));
    reported = {admission, milli, event_.now, static_cast<std::uint8_t>(reported.once | bit), admission, milli, 0};
  }
}

std::uint64_t AdmissionAudit::milli_of_project(std::uint32_t project, BandKind kind) const {
  std::uint64_t held = 0;
  for (const JobId id : policy_.agenda.in_sight())
    if (const Job& job = jobs_[id]; job.shares != nullptr && job.shares->project == project)
      held += view_.milli_held(job, kind);
  return held;
}

std::string AdmissionAudit::priority_text(const Job& job) const {
  const std::string own = std::to_string(job.scale.written(job.spec.priority));
  const bool by_kind = job.shares != nullptr && view_.counts_quotas(job.shares->pool.position);
  return by_kind ? std::string{to_string(job.spec.policy.kind)} + " " + own : own;
}

std::string AdmissionAudit::preemption_text(const PassUnderWay& pass, const policy::Plan& plan,
                                            const policy::Preemption& each, HeldByProject& held_by) const {
  const std::uint32_t victim = pass.members[each.member].subject;
  const PassUnderWay::Subject& subject = pass.subjects[victim];
  const Job& job = jobs_[subject.job];
  const bool for_somebody = each.beneficiary != policy::kNone && jobs_.knows(pass.subjects[each.beneficiary].job);
  const Job* other = for_somebody ? jobs_.find(pass.subjects[each.beneficiary].job) : nullptr;
  const std::string for_whom = other == nullptr ? "" : ": " + to_string(other->id);
  switch (each.reason) {
    case policy::PreemptionReason::AboveShare: {
      const auto target = std::find_if(plan.workload_targets.begin(), plan.workload_targets.end(),
                                       [&](const policy::Target& of) { return of.owner == victim; });
      const std::uint64_t share = target == plan.workload_targets.end() ? 0 : milli_of_target(pass, *target);
      return "it holds more than its fair share: " + slots_text(view_.milli_held(job, subject.kind), subject.kind) +
             ", and " + decimal_text(share) + " are its share" + for_whom;
    }
    case policy::PreemptionReason::Priority:
      if (other != nullptr && other->shares != nullptr) {
        const auto kind = static_cast<std::size_t>(subject.kind);
        const auto sum = job.shares->kinds[kind].why.priority;
        const auto larger = other->shares->kinds[kind].why.priority;
        if (larger != sum)
          return "a job of a larger sum of factors needs the place" + for_whom + ", which has " +
                 std::to_string(larger) + " before " + std::to_string(sum);
        if (other->shares->rules.rank != job.shares->rules.rank)
          return "a job of level '" + qos_of(policy_.config, other->spec.owner, other->spec.policy).name +
                 "', which takes slots from level '" + qos_of(policy_.config, job.spec.owner, job.spec.policy).name +
                 "', needs the place" + for_whom;
        if (view_.precedence_of(*other) == view_.precedence_of(job))
          return "a job of the same priority that is before it in the queue needs the place" + for_whom;
      }
      return "a job of higher priority needs the place" + for_whom +
             (other == nullptr ? "" : ", which has " + priority_text(*other) + " before " + priority_text(job));
    case policy::PreemptionReason::Reclaim: {
      std::string text = "another project is below its entitlement" + for_whom;
      if (other == nullptr || other->shares == nullptr || other->shares->project >= policy_.config.projects.size())
        return text;
      const auto [held, is_new] = held_by.try_emplace({other->shares->project, subject.kind}, 0);
      if (is_new) held->second = milli_of_project(other->shares->project, subject.kind);
      text += " of '" + policy_.config.projects[other->shares->project].name + "', which holds " +
              decimal_text(held->second);
      const std::size_t owner =
          pass.first_projects[job.shares->pool.position * kBandKinds + static_cast<std::size_t>(subject.kind)] +
          other->shares->project;
      const auto target =
          std::find_if(plan.project_targets.begin(), plan.project_targets.end(),
                       [&](const policy::Target& of) { return of.owner == owner && of.amount.gpu != 0; });
      return target == plan.project_targets.end()
                 ? text
                 : text + " of " + slots_text(static_cast<std::uint64_t>(target->amount.gpu), subject.kind);
    }
    case policy::PreemptionReason::Consolidation: return "it gets another place, so that a larger job fits" + for_whom;
    case policy::PreemptionReason::StaleGang: return "its gang has been incomplete for too long";
    case policy::PreemptionReason::Turn:
      return "a job that has waited for `policy.starvation_after` has its turn" + for_whom;
  }
  return "policy";
}

void AdmissionAudit::note_preemptions(const PassUnderWay& pass, const policy::Plan& plan) {
  std::vector<bool> reported(pass.subjects.size(), false);
  HeldByProject held_by;
  for (const policy::Preemption& each : plan.preemptions) {
    const std::uint32_t victim = pass.members[each.member].subject;
    const JobId id = pass.subjects[victim].job;
    if (!jobs_.knows(id) || jobs_[id].shares == nullptr) continue;
    if (reported[victim]) continue;
    reported[victim] = true;
    jobs_[id].shares->preemption_reason =
        Seldom{PreemptionNote{preemption_text(pass, plan, each, held_by), static_cast<std::uint8_t>(each.reason)}};
  }
  // A limit takes slots back without an order of the plan: the job is shown with less.
  for (std::uint32_t at = 0; at < pass.subjects.size(); ++at) {
    if (reported[at] || !jobs_.knows(pass.subjects[at].job) || jobs_[pass.subjects[at].job].shares == nullptr) continue;
    JobShares& shares = *jobs_[pass.subjects[at].job].shares;
    if (!shares.rules.cut[static_cast<std::size_t>(pass.subjects[at].kind)]) continue;
    shares.preemption_reason = Seldom{PreemptionNote{shares.rules.hold, PreemptedFor::kLimit}};
  }
}

void AdmissionAudit::note_preempted(const Job& job, const AssignedRef& ref) {
  const PreemptionNote& reason = *job.shares->preemption_reason;
  const BandSlot band = job.hot[ref.subtask].band;
  const std::size_t why = job.status.on_hold           ? PreemptedFor::kOnHold
                          : !view_.may_hold(job, band) ? PreemptedFor::kExcluded
                          : reason.text.empty()        ? PreemptedFor::kAnother
                                                       : reason.kind;
  ++policy_.preempted_for[why];
  if (++policy_.preempted_now > kLinesEachMax) return;
  audit_.note_decision("preempt " + to_string(SubtaskId{job.id, SubtaskIndex{ref.subtask}}),
                       why == PreemptedFor::kOnHold ? "it is on hold by an operator"
                       : why == PreemptedFor::kExcluded
                           ? "its pools or its labels exclude " + workers_.worker_of(band).description.name + " now"
                       : why == PreemptedFor::kAnother ? "its slots belong to another job"
                                                       : reason.text);
}

void AdmissionAudit::note_more_preempted() {
  const std::uint32_t all = std::exchange(policy_.preempted_now, 0);
  if (all > kLinesEachMax)
    audit_.note_decision("preempt " + std::to_string(all - kLinesEachMax) + " more",
                         "in the same pass, for the same reasons");
}

std::vector<std::pair<std::string, std::string>> AdmissionAudit::pools_by_name() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const JobId id : indices_.active) {
    const Job& job = jobs_[id];
    all.emplace_back("move " + to_string(id),
                     job.shares == nullptr ? "" : policy_.config.pools[job.shares->pool.position].name);
  }
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    if (!workers_[WorkerSlot{i}].alive) continue;
    const std::string& name = workers_[WorkerSlot{i}].description.name;
    const std::int64_t pool = pool_of_worker(policy_.config, name);
    all.emplace_back("move worker " + name, pool < 0 ? "" : policy_.config.pools[static_cast<std::size_t>(pool)].name);
  }
  return all;
}

void AdmissionAudit::note_pool_moves(const std::vector<std::pair<std::string, std::string>>& before) {
  const std::vector<std::pair<std::string, std::string>> after = pools_by_name();
  std::uint32_t moves = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (before[i].second == after[i].second || before[i].second.empty() || after[i].second.empty()) continue;
    if (++moves > kLinesEachMax) continue;
    audit_.note_decision(after[i].first, "from pool '" + before[i].second + "' to '" + after[i].second +
                                             "', as the configuration says now");
  }
  if (moves > kLinesEachMax)
    audit_.note_decision("move " + std::to_string(moves - kLinesEachMax) + " more", "as the configuration says now");
}

std::uint64_t AdmissionAudit::milli_of_target(const PassUnderWay& pass, const policy::Target& target) {
  return static_cast<std::uint64_t>(target.amount.gpu) * pass.granularity_of(target.owner) / 1000;
}

}  // namespace penstock::supervisor
