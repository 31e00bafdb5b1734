// SupervisorCore: the entitlements of each job, from a plan to the workers that latch on them.
#include <algorithm>
#include <map>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/supervisor_core.hpp"
#include "supervisor/policy/plan.hpp"

namespace penstock::supervisor {
namespace {

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

/// Attempts that may run at once on the slots of an entitlement: at least one for each slot.
std::uint32_t runs_of(const KindShare& share, MilliSlots entitled) {
  const std::int64_t each = std::min<std::int64_t>(std::max<std::int64_t>(share.unit_milli, 1), kOneSlot.value());
  return static_cast<std::uint32_t>(std::min<std::int64_t>((entitled.value() + each - 1) / each, UINT32_MAX));
}

/// For `explain`, which computes the remedies from them.
std::map<std::uint32_t, ShareDivision> divisions_of(const PassUnderWay& pass, const policy::Plan& plan) {
  std::map<std::uint32_t, ShareDivision> divisions;
  for (const policy::Division& each : plan.divisions) {
    if (each.workloads.empty()) continue;
    ShareDivision& division = divisions[each.pool];
    division = {pass.granularity_of(each.workloads.front()), each.capacity, {}, each.groups, each.limits};
    for (const std::uint32_t workload : each.workloads) division.jobs.push_back(pass.subjects[workload].job);
  }
  return divisions;
}

}  // namespace

/// Something that policy looks at has changed. Changes are gathered for a while.
void SupervisorCore::policy_changed() {
  if (policed()) policy_.due = std::min(policy_.due, later(event_.now, policy_.config.settle));
}

void SupervisorCore::run_policy() {
  if (!policed()) return;
  if (policy_.pass.has_value() && event_.now >= later(policy_.pass->begun, policy_.config.pass_max))
    give_up_pass("it took longer than `policy.pass_max`");
  if (policy_.pass.has_value() || event_.now < policy_.due) return;
  policy_.due = kNever;
  if (!indices_.active.empty()) begin_pass();
}

std::optional<Instant> SupervisorCore::policy_deadline() const {
  if (!policed()) return std::nullopt;
  if (policy_.pass.has_value())
    return std::min(policy_.barriers_end, later(policy_.pass->begun, policy_.config.pass_max));
  return std::min(policy_.barriers_end, policy_.due);
}

/// The last plan stays in force.
void SupervisorCore::give_up_pass(const std::string& why) {
  PENSTOCK_COVERAGE_MARK("a pass of the policy came to nothing");
  policy_.pass.reset();
  ++policy_.given_up;
  if (policy_.trouble != why)
    event_.out->add(supervisor_action::Alert{
        Error{ErrorCode::Internal, "policy", "a pass came to nothing: " + why, "the last plan stays in force"}});
  policy_.trouble = why;
  policy_.due = later(event_.now, policy_.config.period);
}

void SupervisorCore::on(supervisor_event::PassEnded& event) {
  if (!policy_.pass.has_value() || policy_.pass->number != event.number) return;  // The pass was given up.
  if (!event.failure.empty()) return give_up_pass(event.failure);
  policy_.trouble.clear();
  const PassUnderWay pass = std::move(*policy_.pass);
  policy_.pass.reset();
  apply_plan(pass, event.plan);
  const bool moves = !event.plan.preemptions.empty() || !event.plan.starts.empty();
  if (!indices_.active.empty())
    policy_.due = std::min(policy_.due, later(event_.now, moves ? policy_.config.settle : policy_.config.period));
}

void SupervisorCore::apply_plan(const PassUnderWay& pass, const policy::Plan& plan) {
  note_preemptions(pass, plan);
  for (const JobId id : policy_.agenda.in_sight()) {
    Job& job = jobs_[id];
    if (job.shares == nullptr) continue;
    for (BandShare& share : job.shares->bands) share.planned = 0;
    job.shares->kinds.visit_own([](KindShare& share) {
      share.promised.clear();
      share.hold.clear();
      share.waits.reset();
      share.target = 0;
      share.starts_by = kNever;
    });
  }
  std::vector<bool> stays(pass.members.size(), true);
  for (const policy::Preemption& each : plan.preemptions) stays[each.member] = false;
  const auto give = [&](const PassUnderWay::Subject& subject, const PromisedPlace& place) {
    if (!is_still(pass, place.band) || !jobs_.knows(subject.job) || jobs_[subject.job].shares == nullptr) return;
    JobShares& shares = *jobs_[subject.job].shares;
    if (shares.kinds[static_cast<std::size_t>(subject.kind)].barrier->backs_off_through >= pass.number) return;
    if (policy_.pool_of_band[place.band.value()] != shares.pool) {
      PENSTOCK_COVERAGE_MARK("a plan gives slots in a pool that the job has left meanwhile");
      return;
    }
    shares.at(place.band).planned += place.milli;
  };
  // On one band a member takes all of its slots; a gang is told the slots that it takes of each band.
  const auto place_of = [&](std::uint32_t member, const policy::Place& place, std::size_t places) -> PromisedPlace {
    const std::uint64_t granularity = pass.granularity_of(pass.members[member].subject);
    const std::uint64_t milli = static_cast<std::uint64_t>(place.slots) * granularity;
    return {pass.bands[place.band], places == 1 ? pass.members[member].milli : milli};
  };
  for (std::size_t i = 0; i < pass.members.size(); ++i)
    if (const PassUnderWay::Member& member = pass.members[i]; stays[i] && !member.leaving)
      for (const PromisedPlace& place : member.places) give(pass.subjects[member.subject], place);
  for (const policy::Start& start : plan.starts)
    for (const policy::Place& place : start.places)
      give(pass.subjects[pass.members[start.member].subject], place_of(start.member, place, start.places.size()));
  for (const policy::Reservation& each : plan.reservations) {
    std::vector<PromisedPlace> places;
    for (const policy::Place& place : each.places) places.push_back(place_of(each.member, place, each.places.size()));
    const PassUnderWay::Subject& subject = pass.subjects[pass.members[each.member].subject];
    if (subject.keeps_place || !jobs_.knows(subject.job) || jobs_[subject.job].shares == nullptr) continue;
    KindShare& share = jobs_[subject.job].shares->kinds.edit(subject.kind);
    share.starts_by = std::min(share.starts_by, each.starts_by);
    if (!places.empty()) share.promised.push_back(std::move(places));
  }
  note_explanations(pass, plan);
  note_fallbacks(pass, plan);
  for (const JobId id : policy_.agenda.in_sight()) {
    note_limit_holds(jobs_[id]);
    entitle(jobs_[id]);
    note_admission_state(jobs_[id]);
  }
  note_more_preempted();
}

/// Of sharing among jobs, which counts slots.
std::uint64_t SupervisorCore::milli_of_target(const PassUnderWay& pass, const policy::Target& target) {
  return static_cast<std::uint64_t>(target.amount.gpu) * pass.granularity_of(target.owner) / 1000;
}

bool SupervisorCore::is_still(const PassUnderWay& pass, BandSlot band) const {
  const auto at = std::lower_bound(pass.bands.begin(), pass.bands.end(), band);
  return at != pass.bands.end() && *at == band && workers_[band].alive &&
         workers_[band].id == pass.band_ids[static_cast<std::size_t>(at - pass.bands.begin())];
}

/// A job that holds nothing is tried in one of its pools after the other, and waits for all of them.
std::vector<std::uint32_t> SupervisorCore::pools_wanted_by(const JobShares& shares) {
  return holds_slots(shares) ? std::vector<std::uint32_t>{shares.pool} : shares.fallback.pools();
}

/// Records the rule that holds each job, and the pools in which a job waits at all.
void SupervisorCore::note_explanations(const PassUnderWay& pass, const policy::Plan& plan) {
  policy_.contended.assign(policy_.config.pools.size() * kBandKinds, false);
  const auto kind_share = [&](std::uint32_t subject) -> KindShare* {
    const PassUnderWay::Subject& of = pass.subjects[subject];
    if (of.keeps_place || !jobs_.knows(of.job) || jobs_[of.job].shares == nullptr) return nullptr;
    JobShares& shares = *jobs_[of.job].shares;
    for (const std::uint32_t pool : pools_wanted_by(shares))
      policy_.contended[pool * kBandKinds + static_cast<std::size_t>(of.kind)] = true;
    return &shares.kinds.edit(of.kind);
  };
  const std::size_t projects = policy_.config.projects.size() + 1;
  for (const policy::Explanation& why : plan.explanations) {
    const std::size_t project = why.subject == policy::kNone ? projects : why.subject % projects;
    const bool named = project < policy_.config.projects.size();
    KindShare* share = kind_share(why.workload);
    if (share == nullptr) continue;
    share->hold = hold_text(why, static_cast<std::int64_t>(pass.granularity_of(why.workload)),
                            named                     ? owner_text(policy_.config.projects[project])
                            : project + 1 == projects ? "jobs without a project"
                                                      : "its project",
                            why.other == policy::kNone ? "" : to_string(pass.subjects[why.other].job));
    const JobPolicy& wish = jobs_[pass.subjects[why.workload].job].spec.policy;
    if (why.hold == policy::Hold::NoRoom && wish.gang > 0 && !share->bound &&
        counts_quotas(pass.subjects[why.workload].domain / static_cast<std::uint32_t>(kBandKinds)))
      share->hold += "; it takes all of its gang of " + std::to_string(wish.gang) + " at once";
    if (!share->gave_back.empty()) share->hold += "; " + share->gave_back;
    const auto granularity =
        why.resource == policy::Resource::Gpu ? static_cast<std::int64_t>(pass.granularity_of(why.workload)) : 1;
    share->waits = WaitsFor{why.hold,
                            why.need * granularity,
                            why.have * granularity,
                            named ? static_cast<std::uint32_t>(project) : policy::kNone,
                            why.other == policy::kNone ? JobId::none() : pass.subjects[why.other].job,
                            why.resource};
  }
  for (const policy::Preemption& each : plan.preemptions) kind_share(pass.members[each.member].subject);
  for (std::size_t i = 0; i < pass.members.size(); ++i)
    if (pass.members[i].leaving) kind_share(pass.members[i].subject);
  // A job that is alone takes nothing from others, also where its allocation units do not fill the band.
  std::vector<JobId> alone(policy_.contended.size(), JobId::none());
  std::vector<bool> several(policy_.contended.size(), false);
  std::vector<bool> placed(policy_.contended.size(), false);  // A job needs its slots together.
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
      several[at] = several[at] || alone[at].valid();
      placed[at] = placed[at] || subject.gang || shares.kinds[kind].unit_milli > 1000;
      alone[at] = subject.job;
    }
  }
  for (std::size_t at = 0; at < several.size(); ++at)
    policy_.contended[at] = (policy_.contended[at] || placed[at]) && several[at];
  const std::vector<bool> contended = policy_.contended;
  for (const policy::Target& target : plan.workload_targets)
    if (KindShare* share = kind_share(target.owner)) share->target = milli_of_target(pass, target);
  policy_.divisions = divisions_of(pass, plan);
  for (const policy::WorkloadPriority& each : plan.priorities)
    if (KindShare* share = kind_share(each.workload)) share->priority = each.priority, share->terms.edit() = each.terms;
  policy_.contended = contended;
}

/// Where no job waits and none needs several slots together, only capped jobs are limited; else each job is limited to
/// the slots of the plan.
bool SupervisorCore::is_limited(const Job& job, BandKind kind) const {
  const JobShares& shares = *job.shares;
  if (policy_.contended[shares.pool * kBandKinds + static_cast<std::size_t>(kind)]) return true;
  if (job.spec.policy.slots_max > 0 || job.spec.policy.gang > 0) return true;
  if (job.on_hold || !shares.rules.limits.empty()) return true;
  if (!counts_quotas(shares.pool)) return false;
  if (!job.spec.policy.may_be_preempted()) return true;
  for (std::uint32_t at = shares.project; at < policy_.tree.parents.size(); at = policy_.tree.parents[at]) {
    const ProjectConfig& project = policy_.config.projects[at];
    if ((kind == BandKind::Cpu ? project.slots_max : project.gpu_slots_max) != kUnbounded) return true;
    if (kind == BandKind::Cpu && project.memory_max != kUnboundedBytes) return true;
  }
  return false;
}

void SupervisorCore::entitle(Job& job) {
  if (job.shares == nullptr || job.cancelling) return;
  const bool limited[kBandKinds] = {is_limited(job, BandKind::Cpu), is_limited(job, BandKind::Gpu)};
  const std::uint64_t preempted = job.shares->preemptions;
  const bool anew[kBandKinds] = {watch_barrier(job, BandKind::Cpu), watch_barrier(job, BandKind::Gpu)};
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = workers_[WorkerSlot{i}];
    if (!worker.alive) continue;
    bool changed = false;
    bool waits = false;
    for (const BandSlot band : worker.bands) {
      const BandShare share = job.shares->of(band);
      const bool free = may_use(job, band) && !limited[static_cast<std::size_t>(workers_[band].kind)];
      const KindShare& of_kind = job.shares->kinds[static_cast<std::size_t>(workers_[band].kind)];
      const MilliSlots entitled = free ? MilliSlots::max() : of_kind.entitled_by(share.planned);
      const bool differs = share.entitled != entitled;
      const std::uint32_t runs = free ? workers_[band].slots : runs_of(of_kind, entitled);
      // A waiting job has nothing on any of possibly thousands of bands, and keeps no list of them.
      if (differs || share.runs != runs)
        job.shares->change(band, workers_[band].kind, [&](BandShare& changes) {
          changes.runs = runs;
          changes.entitled = entitled;
        });
      if (differs) {
        changed = true;
        follow_entitlement(job, band);
      }
      const bool sent_anew = anew[static_cast<std::size_t>(workers_[band].kind)] && worker.description.barriers;
      changed = changed || (sent_anew && !entitled.is_zero());
      waits = waits || (of_kind.barrier->waits() && !entitled.is_zero() && worker.description.barriers);
      take_back_running(job, band);
    }
    const bool heard = i < job.known_of.size() && (job.known_of[i] & Job::kHeardOf) != 0;
    if (!changed || worker.claiming || (!heard && !waits)) continue;
    if (!heard) {
      open_batch(job, WorkerSlot{i});  // The batch announces the job first: slots are reserved before work comes.
      continue;
    }
    send_entitlements(job, WorkerSlot{i});
    // Behind the entitlement: prepared attempts have gone back by then and can be given up.
    for (const BandSlot band : worker.bands)
      if (const BandShare share = job.shares->of(band); share.entitled.is_zero() && share.in_flight > 0)
        recall(job, band);
  }
  if (job.shares->preemptions != preempted) record_change(job);
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) open_if_all_held(job, kind);
}

/// Before the first assignment of the job, and whenever they change.
void SupervisorCore::send_entitlements(const Job& job, WorkerSlot slot) {
  std::vector<ToWorker>& outbox = mail_.of(slot);
  auto* batch = outbox.empty() ? nullptr : std::get_if<EntitlementBatch>(&outbox.back());
  if (batch == nullptr) batch = &std::get<EntitlementBatch>(outbox.emplace_back(EntitlementBatch{}));
  batch->version = ++policy_.version;
  for (const BandSlot band : workers_[slot].bands) {
    batch->entitlements.push_back({job.id, workers_[band].id.band, job.shares->of(band).entitled, 0});
    reserve_for(job, band, batch->entitlements.back());
  }
}

/// The job has lost the band: unprepared attempts there come back and go to bands where the job has slots.
void SupervisorCore::recall(Job& job, BandSlot slot) {
  for (const AssignedRef& ref : workers_[slot].assigned) {
    if (ref.job != job.id || ref.subtask >= job.total()) continue;
    SubtaskHot& hot = job.hot[ref.subtask];
    const bool waits = hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.band == slot &&
                       (hot.flags & SubtaskFlag::kForAttempt) == 0;
    if (!waits) continue;
    hot.flags |= SubtaskFlag::kStealAsked;
    mail_.last<StealRequest>(workers_[slot].worker, job.id)
        .attempts.push_back(AttemptRef{SubtaskIndex{ref.subtask}, Attempt{ref.attempt}});
  }
}

/// Asks attempts that have been running for a while on slots that the job has lost to leave, the latest first. Short
/// attempts end before a message could reach them.
void SupervisorCore::take_back_running(Job& job, BandSlot slot) {
  const BandShare share = job.shares->of(slot);
  const auto kind = static_cast<std::size_t>(workers_[slot].kind);
  const MilliSlots most{std::int64_t{share.started} * job.shares->kinds[kind].unit_milli};
  if (!share.limited() || most <= share.entitled || share.claimed) return;
  if (!job.spec.policy.may_be_preempted() || !parts_in(job.shares->pool).preemption) return;
  if (!policy_.contended[job.shares->pool * kBandKinds + kind]) return;
  std::vector<AssignedRef> running;
  MilliSlots held;
  for (const AssignedRef& ref : workers_[slot].assigned) {
    if (ref.job != job.id || ref.subtask >= job.total()) continue;
    const SubtaskHot& hot = job.hot[ref.subtask];
    const bool runs = hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.band == slot &&
                      (hot.flags & SubtaskFlag::kStarted) != 0;
    if (!runs || is_leaving(job, ref.subtask, ref.attempt)) continue;
    running.push_back(ref);
    held += job.shape->template_of(ref.subtask).request.slots;
  }
  for (; held > share.entitled && !running.empty(); running.pop_back()) {
    const Template& of = job.shape->template_of(running.back().subtask);
    if (!of.retryable) continue;
    held -= of.request.slots;
    preempt(job, running.back());
  }
}

bool SupervisorCore::is_leaving(const Job& job, std::uint32_t subtask, std::uint64_t attempt) const {
  const std::uint64_t* reported = job.shares->preempting->find(SubtaskIndex{subtask});
  return reported != nullptr && *reported == attempt && subtask < job.total() &&
         job.hot[subtask].phase == SubtaskPhase::Assigned && job.hot[subtask].attempt == attempt;
}

void SupervisorCore::preempt(Job& job, const AssignedRef& ref) {
  PENSTOCK_COVERAGE_MARK("a running attempt is preempted");
  job.shares->preempting.edit()[SubtaskIndex{ref.subtask}] = ref.attempt;
  ++job.shares->preemptions;
  ++policy_.preemptions;
  CancelBatch order;
  order.job = job.id;
  order.attempts = {{SubtaskIndex{ref.subtask}, Attempt{ref.attempt}}};
  order.kill_after = grace_of(job);
  order.alone = order.preempt = true;
  mail_.tell(workers_[job.hot[ref.subtask].band].worker, std::move(order));
  note_preempted(job, ref);
}

}  // namespace penstock::supervisor
