#include "supervisor/core/driver/entitlements.hpp"

#include <algorithm>
#include <map>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/driver/admission_audit.hpp"
#include "supervisor/core/driver/barrier_facts.hpp"
#include "supervisor/core/driver/device_places.hpp"
#include "supervisor/core/driver/gang_barriers.hpp"
#include "supervisor/core/driver/pool_spread.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/placement/assignment_writer.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/policy/entitlement_mail.hpp"
#include "supervisor/core/policy/job_demand.hpp"
#include "supervisor/core/policy/job_records.hpp"
#include "supervisor/core/policy/policy_turns.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/worker_mail.hpp"
#include "supervisor/policy/plan.hpp"

namespace penstock::supervisor {
namespace {

/// Attempts that may run at once on the slots of an entitlement: at least one for each slot.
std::uint32_t runs_of(const KindShare& share, MilliSlots entitled) {
  const std::int64_t each = std::min<std::int64_t>(std::max<std::int64_t>(share.unit_milli, 1), kOneSlot.value());
  return static_cast<std::uint32_t>(std::min<std::int64_t>((entitled.value() + each - 1) / each, UINT32_MAX));
}

/// Whether the attempt is with its worker, has complete inputs and is not known to run.
bool waits_there(const Job& job, const AssignedRef& ref, BandSlot slot) {
  if (ref.job != job.id || ref.subtask >= job.total()) return false;
  const SubtaskHot& hot = job.hot[ref.subtask];
  return hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.band == slot && hot.missing == 0 &&
         (hot.flags & SubtaskFlag::kStarted) == 0;
}

bool is_entitled(const JobShares& shares) {
  return std::any_of(shares.bands.begin(), shares.bands.end(),
                     [](const BandShare& band) { return !band.entitled.is_zero(); });
}

}  // namespace

void Entitlements::entitle(Job& job) {
  if (job.shares == nullptr || job.status.cancelling) return;
  const bool limited[kBandKinds] = {view_.is_limited(job, BandKind::Cpu), view_.is_limited(job, BandKind::Gpu)};
  // Work of a bag that waits in one pool is given back for its slots in another.
  const bool is_spread = holds_in_several_pools(*job.shares, policy_.pool_of_band);
  const auto is_limited_on = [&](BandSlot band) {
    if (is_spread) return true;
    const BandKind kind = workers_[band].kind;
    const std::uint32_t pool = policy_.pool_of_band[band.value()];
    return pool == job.shares->pool.position ? limited[static_cast<std::size_t>(kind)]
                                             : view_.is_limited(job, kind, pool);
  };
  const std::uint64_t preempted = job.shares->preemptions;
  const bool placed_first = !is_entitled(*job.shares) && holds_slots(*job.shares);
  const bool anew[kBandKinds] = {barriers_.watch_barrier(job, BandKind::Cpu),
                                 barriers_.watch_barrier(job, BandKind::Gpu)};
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = workers_[WorkerSlot{i}];
    if (!worker.alive) continue;
    bool changed = false;
    bool waits = false;
    for (const BandSlot band : worker.bands) {
      const BandShare share = job.shares->of(band);
      const bool free = view_.may_use(job, band) && !is_limited_on(band) && !placed_first;
      const KindShare& of_kind = job.shares->kinds[static_cast<std::size_t>(workers_[band].kind)];
      const MilliSlots entitled = free ? MilliSlots::max() : of_kind.entitled_by(share.planned);
      const bool moves =
          workers_[band].description.devices.size() > 1 && follow_devices(*job.shares, of_kind, band, free);
      const bool differs = share.entitled != entitled || moves;
      const std::uint32_t runs = free ? workers_[band].slots : runs_of(of_kind, entitled);
      // A waiting job has nothing on any of possibly thousands of bands, and keeps no list of them.
      if (differs || share.runs != runs)
        job.shares->change(band, workers_[band].kind, [&](BandShare& changes) {
          changes.runs = runs;
          changes.entitled = entitled;
        });
      if (differs) {
        changed = true;
        queues_.follow_entitlement(job, band);
      }
      const bool sent_anew = anew[static_cast<std::size_t>(workers_[band].kind)] && worker.description.barriers;
      changed = changed || (sent_anew && !entitled.is_zero());
      waits = waits || (of_kind.gang.barrier->waits() && !entitled.is_zero() && worker.description.barriers);
      take_back_running(job, band);
    }
    const bool heard = i < job.audience.known_of.size() && (job.audience.known_of[i] & JobAudience::kHeardOf) != 0;
    if (!changed || worker.claiming || (!heard && !waits)) continue;
    if (!heard) {
      assignments_.open_batch(
          job, WorkerSlot{i});  // The batch announces the job first: slots are reserved before work comes.
      continue;
    }
    entitlement_mail_.send_entitlements(job, WorkerSlot{i});
    // Behind the entitlement: prepared attempts have gone back by then and can be given up.
    for (const BandSlot band : worker.bands)
      if (const BandShare share = job.shares->of(band); share.entitled.is_zero() && share.in_flight > 0)
        recall(job, band);
  }
  if (placed_first) turns_.policy_changed();
  if (job.shares->preemptions != preempted) records_.record_change(job);
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    recall_excess(job, kind);
    barriers_.open_if_all_held(job, kind);
  }
}

bool Entitlements::follow_devices(JobShares& shares, const KindShare& share, BandSlot band, bool free) {
  std::vector<std::uint16_t> slots = free ? std::vector<std::uint16_t>{} : device_slots_of(shares, share, band);
  const auto known = shares.devices->find(band);
  if (known == shares.devices->end() || known->second.entitled == slots) return false;
  shares.devices.edit()[band].entitled = std::move(slots);
  return true;
}

void Entitlements::recall(Job& job, BandSlot slot) {
  for (const AssignedRef& ref : workers_[slot].assigned) {
    if (ref.job != job.id || ref.subtask >= job.total()) continue;
    SubtaskHot& hot = job.hot[ref.subtask];
    const bool waits = hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.band == slot &&
                       (hot.flags & (SubtaskFlag::kStarted | SubtaskFlag::kStealAsked)) == 0;
    if (!waits) continue;
    hot.flags |= SubtaskFlag::kStealAsked;
    mail_.last<StealRequest>(workers_[slot].worker, job.id)
        .attempts.push_back(AttemptRef{SubtaskIndex{ref.subtask}, Attempt{ref.attempt}});
  }
}

void Entitlements::recall_excess(Job& job, BandKind kind) {
  const auto of_kind = static_cast<std::size_t>(kind);
  // Work of a bound job would come back to the same band.
  if (job.shares->short_bands[of_kind].empty() || job.spec.policy.gang > 0 || job.shares->kinds[of_kind].bound) return;
  if (job.status.recovering) return;  // Work would come back only to wait until all workers of the job have claimed.
  std::vector<BandSlot> short_bands;
  std::uint64_t missing = 0;
  for (std::uint32_t at = job.shares->short_bands[of_kind].next(0); at != IndexSet::kNone;
       at = job.shares->short_bands[of_kind].next(at + 1)) {
    const BandEntry& band = workers_[BandSlot{at}];
    if (!band.alive || band.draining || !view_.may_use(job, BandSlot{at})) continue;
    short_bands.emplace_back(at);
    missing += job.shares->bands[at].runs - job.shares->bands[at].runnable;
  }
  // Subtasks that are kept here are pulled without this.
  for (std::uint32_t at = job.place.locals.first(); at < job.place.locals.end(); ++at)
    if (const LocalSet* local = job.place.locals.find(BandSlot{at});
        local != nullptr && workers_[BandSlot{at}].kind == kind)
      missing -= std::min<std::uint64_t>(missing, local->ready_count());
  const auto is_wanted = [&](std::uint32_t subtask) {
    return std::any_of(short_bands.begin(), short_bands.end(), [&](BandSlot band) {
      return eligibility_.may_run_on(job, job.graph.shape->template_index(subtask), band);
    });
  };
  for (std::uint32_t i = 0; i < job.shares->bands.size() && missing > 0; ++i) {
    const BandSlot slot{i};
    const BandShare share = job.shares->of(slot);
    const BandEntry& band = workers_[slot];
    if (!band.alive || band.kind != kind || !share.limited() || share.runnable <= share.runs) continue;
    std::uint64_t excess = share.runnable - share.runs;
    // The latest are the last that would run. Attempts that were asked already are on their way, or run.
    for (auto ref = band.assigned.rbegin(); ref != band.assigned.rend() && excess > 0 && missing > 0; ++ref) {
      if (!waits_there(job, *ref, slot)) continue;
      --excess;
      SubtaskHot& hot = job.hot[ref->subtask];
      const bool asked = (hot.flags & SubtaskFlag::kStealAsked) != 0;
      if (!asked && !is_wanted(ref->subtask)) continue;
      --missing;
      if (asked) continue;
      PENSTOCK_COVERAGE_MARK("more of a job waited on a band than may run there, and it has slots elsewhere");
      hot.flags |= SubtaskFlag::kStealAsked;
      mail_.last<StealRequest>(band.worker, job.id)
          .attempts.push_back(AttemptRef{SubtaskIndex{ref->subtask}, Attempt{ref->attempt}});
    }
  }
}

bool Entitlements::exceeds_limit(const Job& job, BandKind kind) const {
  const JobShares& shares = *job.shares;
  if (job.status.on_hold || shares.rules.cut[static_cast<std::size_t>(kind)]) return true;
  // A limit that was divided with the shares keeps no job from wanting more.
  if (shares.rules.blocked_by == (kind == BandKind::Cpu ? LimitRule::Slots : LimitRule::GpuSlots)) return true;
  if (job.spec.policy.slots_max == 0) return false;
  std::uint64_t milli = 0;
  for (std::uint32_t i = 0; i < shares.bands.size() && i < workers_.band_slots(); ++i)
    if (workers_[BandSlot{i}].alive && workers_[BandSlot{i}].kind == kind)
      milli += std::uint64_t{shares.bands[i].started} * shares.kinds[static_cast<std::size_t>(kind)].unit_milli;
  return milli > std::uint64_t{job.spec.policy.slots_max} * 1000;
}

bool Entitlements::waits_for_own_runs(const Job& job, BandKind kind) const {
  const KindShare& of_kind = job.shares->kinds[static_cast<std::size_t>(kind)];
  if (job.spec.policy.gang == 0 || of_kind.bound) return false;
  // A gang that could have slots nowhere, by its labels or a limit, does not begin anew.
  if (of_kind.demand == 0) return false;
  if (view_.milli_held(job, kind) > 0 || demand_.waiting_of(job, kind) == 0) return false;
  PENSTOCK_COVERAGE_MARK("a gang without slots ends the runs that are left of it");
  return true;
}

void Entitlements::take_back_running(Job& job, BandSlot slot) {
  const BandShare share = job.shares->of(slot);
  const auto kind = static_cast<std::size_t>(workers_[slot].kind);
  const MilliSlots most{std::int64_t{share.started} * job.shares->kinds[kind].unit_milli};
  const bool keeps_to_devices = job.shares->devices->contains(slot);
  if (!share.limited() || (most <= share.entitled && !keeps_to_devices) || share.claimed) return;
  const std::uint32_t pool = job.shares->pool.spreads ? policy_.pool_of_band[slot.value()] : job.shares->pool.position;
  const bool preempts = job.spec.policy.may_be_preempted() && view_.parts_in(pool).preemption;
  const bool leaves_to_others = (preempts || job.status.on_hold) && (policy_.contended[pool * kBandKinds + kind] ||
                                                                     exceeds_limit(job, workers_[slot].kind));
  if (!leaves_to_others && !waits_for_own_runs(job, workers_[slot].kind)) return;
  const Instant seen_by = policy_.last.has_value() ? policy_.last->pass.begun : Instant{};
  std::vector<AssignedRef> running;
  MilliSlots held;
  DeviceMilli held_on{};
  for (const AssignedRef& ref : workers_[slot].assigned) {
    if (ref.job != job.id || ref.subtask >= job.total()) continue;
    const SubtaskHot& hot = job.hot[ref.subtask];
    const bool runs = hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.band == slot &&
                      (hot.flags & SubtaskFlag::kStarted) != 0;
    if (!runs || JobDemand::is_leaving(job, ref.subtask, Attempt{ref.attempt})) continue;
    running.push_back(ref);
    held += job.graph.shape->template_of(ref.subtask).request.slots;
    count_on_devices(job, ref, held_on, 1);
  }
  for (; !running.empty(); running.pop_back()) {
    const AssignedRef& latest = running.back();
    const bool misplaced = keeps_to_devices && exceeds_device(job, slot, latest, held_on, seen_by);
    if (held <= share.entitled && !misplaced) {
      if (!keeps_to_devices) return;
      continue;
    }
    const Template& of = job.graph.shape->template_of(latest.subtask);
    if (!of.retryable) continue;
    held -= of.request.slots;
    count_on_devices(job, latest, held_on, -1);
    preempt(job, latest);
  }
}

void Entitlements::preempt(Job& job, const AssignedRef& ref) {
  PENSTOCK_COVERAGE_MARK("a running attempt is preempted");
  job.shares->preempting.edit()[SubtaskIndex{ref.subtask}] = ref.attempt;
  ++job.shares->preemptions;
  ++policy_.preemptions;
  CancelBatch order;
  order.job = job.id;
  order.attempts = {{SubtaskIndex{ref.subtask}, Attempt{ref.attempt}}};
  order.kill_after = view_.grace_of(job);
  order.alone = order.preempt = true;
  mail_.tell(workers_[job.hot[ref.subtask].band].worker, std::move(order));
  admission_audit_.note_preempted(job, ref);
}

void Entitlements::give_up_barrier(Job& job, BandKind kind, const std::string& why) {
  PENSTOCK_COVERAGE_MARK("a gang gives all its reserved slots back");
  KindShare& share = job.shares->kinds.edit(kind);
  const bool stays = has_runs_that_stay(workers_, job, kind);
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive || band.kind != kind) continue;
    BandShare& there = job.shares->at(BandSlot{i});
    there.planned = stays ? demand_.milli_run(share, there, band) : 0;
  }
  share.gang.barrier.edit().end(stays);
  share.gang.barrier.edit().backs_off_through = stays ? 0 : policy_.passes + 1;
  share.gang.gave_back = "its gang gave all its reserved slots back and waits anew: " + why;
  ++policy_.barriers_given_up;
  entitle(job);
  turns_.policy_changed();
}

void Entitlements::give_up_late_barriers() {
  policy_.barriers_end = kNever;
  for (const JobId id : policy_.agenda.in_sight().all())
    for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
      Job& job = jobs_[id];
      if (job.shares == nullptr || job.status.cancelling) continue;
      const GangBarrier& barrier = *job.shares->kinds[static_cast<std::size_t>(kind)].gang.barrier;
      if (!barrier.waits()) continue;
      if (event_.now >= barrier.until)
        give_up_barrier(job, kind,
                        "after `policy.gang_barrier`, " + seconds_text(barrier.until - barrier.since) + ", " +
                            barriers_.barrier_text(job, kind));
      else
        policy_.barriers_end = std::min(policy_.barriers_end, barrier.until);
    }
}

}  // namespace penstock::supervisor
