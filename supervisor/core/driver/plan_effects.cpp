#include "supervisor/core/driver/plan_effects.hpp"
#include <algorithm>
#include "common/base/coverage_mark.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/driver/admission_audit.hpp"
#include "supervisor/core/driver/device_places.hpp"
#include "supervisor/core/driver/entitlements.hpp"
#include "supervisor/core/driver/pool_fallbacks.hpp"
#include "supervisor/core/driver/told_rules.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/limit_rules.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_owners.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/plan.hpp"

namespace penstock::supervisor {
namespace {

/// Whether a job needs the very slots of the plan, also where all have room: slots together, or a part of a device that
/// others have in part. Parts on devices of their own would leave no whole device.
bool needs_its_place(const PassUnderWay::Subject& subject, const KindShare& share) {
  const bool takes_part = subject.kind == BandKind::Gpu && share.allocation_unit.milli < 1000;
  return subject.gang || share.unit_milli > 1000 || takes_part;
}

/// `granularity`: thousandths of a slot that the numbers count by; `subject`: the project concerned; `other`: the job
/// that it waits for, or nothing.
std::string hold_text(const policy::Explanation& why, std::int64_t granularity, const std::string& subject,
                      const std::string& other) {
  const auto amount = [&](std::int64_t of) {
    if (why.resource == policy::Resource::Memory) return decimal_text(of / 1024 * 1000 / 1024) + " MiB of memory";
    if (why.resource == policy::Resource::Cpu) return decimal_text(of) + " processors";
    return decimal_text(of * granularity);
  };
  const std::string need = amount(why.need);
  const std::string have = amount(why.have);
  switch (why.hold) {
    case policy::Hold::NoRoom: return "no room: it needs " + need + ", and the roomiest place has " + have;
    case policy::Hold::NeverFits:
      return "infeasible: it needs " + need +
             " slots at once, which neither one band of its pool nor whole bands of one size have; there are " + have;
    case policy::Hold::AtFairShare: return "fair share: it holds " + have + " of the " + need + " slots of its share";
    case policy::Hold::AtSlotsMax: return "slots_max: it holds " + have + " of " + need;
    case policy::Hold::HigherPriority:
      return "priority: " + (other.empty() ? "a job" : other) + " of higher priority waits";
    case policy::Hold::PredecessorsLeave:
      return "its place is promised, and " + (other.empty() ? "others are" : other + " is") + " leaving it";
    case policy::Hold::ProjectLimit:
      return "limit of " + subject + ": with it, it would hold " + need + ", and it may hold " + have;
    case policy::Hold::ProjectGuarantee:
      return "guarantee of " + subject + ": a job that is never preempted must fit it; with it, it would hold " + need +
             " of " + have;
    case policy::Hold::Gated: return "its gang is not complete";
    case policy::Hold::Held: return "it is held";
    case policy::Hold::BehindReservation:
      return "starting it would delay " + (other.empty() ? "a reserved start" : other + ", whose start is reserved");
    case policy::Hold::FirstServed:
      return "first come, first served: " + (other.empty() ? "another job" : other) + " waits before it";
  }
  return {};
}

/// As `hold_text` names an owner; its number is that of jobs without a project, a larger one is none.
std::string owner_named(const std::vector<ProjectConfig>& projects, std::size_t at) {
  if (at < projects.size()) return owner_text(projects[at]);
  return at == projects.size() ? "jobs without a project" : "its project";
}

/// The least that a gang holds where its members are units of their own, in thousandths of slots; else 0.
std::uint64_t least_of_units(const Job& job, const KindShare& share, bool quotas) {
  return quotas && !share.bound ? std::uint64_t{job.spec.policy.gang} * 1000 : 0;
}

/// The rest of the text for a gang.
std::string gang_text(const Job& job, const KindShare& share, policy::Hold hold, bool quotas) {
  const JobPolicy& wish = job.spec.policy;
  std::string text;
  if (hold == policy::Hold::NoRoom && wish.gang > 0 && !share.bound && quotas && !holds_slots(*job.shares))
    text = "; it takes all of its gang of " + std::to_string(wish.gang) + " at once";
  const GroupChoice& choice = *job.shares->pool.group;
  if (!choice.now.empty() && !choice.is_known())
    text += wish.gang_groups > 1 ? "; the hosts, or the labels, of its pool could not hold all groups of its gang"
                                 : "; no host, or no label, of its pool could hold its gang";
  if (choice.is_known())
    text +=
        (holds_slots(*job.shares) ? "; all of its gang stays on " : "; its gang is tried on ") + text_of(choice.now);
  return share.gang.gave_back.empty() ? text : text + "; " + share.gang.gave_back;
}

/// On one band a member takes all of its slots; a gang is told the slots that it takes of each band.
PromisedPlace place_of(const PassUnderWay& pass, std::uint32_t member, const policy::Place& place, std::size_t places) {
  const std::uint64_t granularity = pass.granularity_of(pass.members[member].subject);
  const std::uint64_t milli = static_cast<std::uint64_t>(place.slots) * granularity;
  return {pass.bands[place.band], places == 1 ? pass.members[member].milli : milli};
}

}  // namespace

void PlanEffects::apply_plan(PassUnderWay& pass, const policy::Plan& plan) {
  admission_audit_.note_preemptions(pass, plan);
  forget_last_plan();
  give_places(pass, plan);
  note_promises(pass, plan);
  note_explanations(pass, plan);
  fallbacks_.note_fallbacks(pass, plan);
  for (const JobId id : policy_.agenda.in_sight()) {
    rules_.note_limit_holds(jobs_[id]);
    entitlements_.entitle(jobs_[id]);
    admission_audit_.note_admission_state(jobs_[id]);
  }
  admission_audit_.note_more_preempted();
}

void PlanEffects::forget_last_plan() {
  for (const JobId id : policy_.agenda.in_sight()) {
    Job& job = jobs_[id];
    if (job.shares == nullptr) continue;
    for (BandShare& share : job.shares->bands) share.planned = 0;
    forget_planned_devices(*job.shares);
    job.shares->kinds.visit_own([](KindShare& share) {
      share.promised.clear();
      share.why.hold.clear();
      share.why.waits.reset();
      share.target = 0;
      share.why.starts_by = kNever;
    });
  }
}

void PlanEffects::give(const PassUnderWay& pass, const PassUnderWay::Subject& subject, const PromisedPlace& place,
                       std::uint32_t device) {
  if (!is_still(pass, place.band) || !jobs_.knows(subject.job) || jobs_[subject.job].shares == nullptr) return;
  JobShares& shares = *jobs_[subject.job].shares;
  if (shares.kinds[static_cast<std::size_t>(subject.kind)].gang.barrier->backs_off_through >= pass.number) return;
  if (!shares.pool.may_hold_in(policy_.pool_of_band[place.band.value()])) {
    PENSTOCK_COVERAGE_MARK("a plan gives slots in a pool that the job has left meanwhile");
    return;
  }
  shares.at(place.band).planned += place.milli;
  if (device != policy::kNone) plan_device(shares, workers_[place.band], place.band, device, place.milli);
}

void PlanEffects::give_places(PassUnderWay& pass, const policy::Plan& plan) {
  std::vector<bool> stays(pass.members.size(), true);
  for (const policy::Preemption& each : plan.preemptions) stays[each.member] = false;
  for (std::size_t i = 0; i < pass.members.size(); ++i)
    if (const PassUnderWay::Member& member = pass.members[i]; stays[i] && !member.leaving)
      for (const PromisedPlace& place : member.places) give(pass, pass.subjects[member.subject], place, member.device);
  for (const policy::Start& start : plan.starts)
    for (const policy::Place& at : start.places) {
      const PromisedPlace place = place_of(pass, start.member, at, start.places.size());
      if (!is_still(pass, place.band)) continue;
      const std::uint32_t device =
          start.device_groups.empty()
              ? policy::kNone
              : planned_device(pass.devices[at.band], workers_[place.band], start.device_groups.front());
      give(pass, pass.subjects[pass.members[start.member].subject], place, device);
    }
  for (const policy::Preemption& each : plan.preemptions)
    end_broken_gang(pass.subjects[pass.members[each.member].subject]);
  std::vector<DeviceSet> shared(workers_.band_slots());
  bool any = false;
  for (std::size_t i = 0; i < pass.bands.size(); ++i)
    if (pass.devices[i].named && is_still(pass, pass.bands[i]))
      any |= (shared[pass.bands[i].value()] = pass.devices[i].shared) != 0;
  if (!any) return;
  for (const JobId id : policy_.agenda.in_sight())
    if (Job& job = jobs_[id]; job.shares != nullptr) keep_whole_devices_apart(job, workers_, shared);
}

void PlanEffects::end_broken_gang(const PassUnderWay::Subject& subject) {
  if (!subject.gang || !jobs_.knows(subject.job) || jobs_[subject.job].shares == nullptr) return;
  Job& job = jobs_[subject.job];
  const std::uint64_t held = view_.milli_held(job, subject.kind);
  const bool counts_quotas = view_.counts_quotas(subject.domain / static_cast<std::uint32_t>(kBandKinds));
  if (!job.spec.policy.is_elastic() || counts_quotas || held == 0 || held >= std::uint64_t{job.spec.policy.gang} * 1000)
    return;
  PENSTOCK_COVERAGE_MARK("an elastic gang that loses its least loses all");
  for (std::uint32_t i = 0; i < job.shares->bands.size() && i < workers_.band_slots(); ++i)
    if (workers_[BandSlot{i}].kind == subject.kind) job.shares->bands[i].planned = 0;
}

void PlanEffects::note_promises(const PassUnderWay& pass, const policy::Plan& plan) {
  for (const policy::Reservation& each : plan.reservations) {
    std::vector<PromisedPlace> places;
    for (const policy::Place& place : each.places)
      places.push_back(place_of(pass, each.member, place, each.places.size()));
    const PassUnderWay::Subject& subject = pass.subjects[pass.members[each.member].subject];
    if (subject.keeps_place || !jobs_.knows(subject.job) || jobs_[subject.job].shares == nullptr) continue;
    KindShare& share = jobs_[subject.job].shares->kinds.edit(subject.kind);
    share.why.starts_by = std::min(share.why.starts_by, each.starts_by);
    if (!places.empty()) share.promised.push_back(std::move(places));
  }
}

bool PlanEffects::is_still(const PassUnderWay& pass, BandSlot band) const {
  const auto at = std::lower_bound(pass.bands.begin(), pass.bands.end(), band);
  return at != pass.bands.end() && *at == band && workers_[band].alive &&
         workers_[band].id == pass.band_ids[static_cast<std::size_t>(at - pass.bands.begin())];
}

std::vector<std::uint32_t> PlanEffects::pools_wanted_by(const JobShares& shares) {
  const bool only_here = holds_slots(shares) && !shares.pool.spreads;
  return only_here ? std::vector<std::uint32_t>{shares.pool.position} : shares.pool.fallback.pools();
}

void PlanEffects::leave_out_lone_jobs(const PassUnderWay& pass) {
  std::vector<JobId> alone(policy_.contended.size(), JobId::none());
  std::vector<bool> several(policy_.contended.size(), false);
  std::vector<bool> placed(policy_.contended.size(), false);
  std::vector<bool> leaves(pass.subjects.size(), false);
  for (std::size_t i = 0; i < pass.members.size(); ++i)
    if (pass.members[i].leaving) leaves[pass.members[i].subject] = true;
  for (std::size_t i = 0; i < pass.subjects.size(); ++i) {
    const PassUnderWay::Subject& subject = pass.subjects[i];
    if (subject.keeps_place || !jobs_.knows(subject.job) || jobs_[subject.job].shares == nullptr) continue;
    const JobShares& shares = *jobs_[subject.job].shares;
    const auto kind = static_cast<std::size_t>(subject.kind);
    if (shares.rules.cut[kind] && shares.kinds[kind].demand == 0 && !leaves[i]) continue;  // The job takes nothing.
    for (const std::uint32_t pool : pools_wanted_by(shares)) {
      const std::size_t at = pool * kBandKinds + kind;
      several[at] = several[at] || (alone[at].valid() && alone[at] != subject.job);  // A bag has several subjects.
      placed[at] = placed[at] || needs_its_place(subject, shares.kinds[kind]);
      alone[at] = subject.job;
    }
  }
  for (std::size_t at = 0; at < several.size(); ++at)
    policy_.contended[at] = (policy_.contended[at] || placed[at]) && several[at];
}

void PlanEffects::note_explanations(const PassUnderWay& pass, const policy::Plan& plan) {
  policy_.contended.assign(policy_.config.pools.size() * kBandKinds, false);
  const auto kind_share = [&](std::uint32_t subject) -> KindShare* {
    const PassUnderWay::Subject& of = pass.subjects[subject];
    if (of.keeps_place || !jobs_.knows(of.job) || jobs_[of.job].shares == nullptr) return nullptr;
    JobShares& shares = *jobs_[of.job].shares;
    for (const std::uint32_t pool : pools_wanted_by(shares))
      policy_.contended[pool * kBandKinds + static_cast<std::size_t>(of.kind)] = true;
    return of.holds_only ? nullptr : &shares.kinds.edit(of.kind);
  };
  const std::size_t projects = policy_.config.projects.size() + 1;
  // A pass that was made elsewhere, in a test, need not give its snapshot back.
  std::optional<ToldRules> told;
  if (policy_.last.has_value() && policy_.last->snapshot.workloads.size() == pass.subjects.size())
    told.emplace(pass, policy_.last->snapshot, plan);
  for (const policy::Explanation& each : plan.explanations) {
    KindShare* share = kind_share(each.workload);
    if (share == nullptr) continue;
    const Job& job = jobs_[pass.subjects[each.workload].job];
    const bool quotas =
        view_.counts_quotas(pass.subjects[each.workload].domain / static_cast<std::uint32_t>(kBandKinds));
    const policy::Explanation why = told ? told->of(each, least_of_units(job, *share, quotas)) : each;
    if (told && why.hold == policy::Hold::AtFairShare && told->is_at_slot_limit(each)) {
      share->why.hold = job.shares->rules.hold;
      continue;
    }
    const std::size_t project = why.subject == policy::kNone ? projects : why.subject % projects;
    const bool named = project < policy_.config.projects.size();
    share->why.hold = hold_text(why, static_cast<std::int64_t>(pass.granularity_of(why.workload)),
                                owner_named(policy_.config.projects, project),
                                why.other == policy::kNone ? "" : to_string(pass.subjects[why.other].job));
    share->why.hold += gang_text(job, *share, why.hold, quotas);
    const auto granularity =
        why.resource == policy::Resource::Gpu ? static_cast<std::int64_t>(pass.granularity_of(why.workload)) : 1;
    share->why.waits = WaitsFor{why.hold,
                                why.need * granularity,
                                why.have * granularity,
                                named ? static_cast<std::uint32_t>(project) : policy::kNone,
                                why.other == policy::kNone ? JobId::none() : pass.subjects[why.other].job,
                                why.resource};
  }
  for (const policy::Preemption& each : plan.preemptions) kind_share(pass.members[each.member].subject);
  for (std::size_t i = 0; i < pass.members.size(); ++i)
    if (pass.members[i].leaving) kind_share(pass.members[i].subject);
  leave_out_lone_jobs(pass);
  const std::vector<bool> contended = policy_.contended;
  for (const policy::Target& target : plan.workload_targets)
    if (KindShare* share = kind_share(target.owner)) share->target = admission_audit_.milli_of_target(pass, target);
  for (const policy::WorkloadPriority& each : plan.priorities)
    if (KindShare* share = kind_share(each.workload))
      share->why.priority = each.priority, share->why.terms.edit() = each.terms;
  policy_.contended = contended;
}

}  // namespace penstock::supervisor
