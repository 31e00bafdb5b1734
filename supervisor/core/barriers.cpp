// SupervisorCore: gangs that have been given all their slots and wait until workers hold all of them. Decision 0016.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

std::string seconds_text(Duration duration) {
  const std::int64_t milliseconds = std::max<std::int64_t>(duration / std::chrono::milliseconds{1}, 0);
  return decimal_text(milliseconds) + " s";
}

std::string band_text(const WorkerTable& workers, BandSlot band) {
  return workers.worker_of(band).description.name + "/" + workers[band].description.name;
}

/// Whether the gang has begun at its present place: it runs something that is never preempted on a band where the plan
/// gives it slots. A run at a place that the gang has given up does not count.
bool has_runs_that_stay(const WorkerTable& workers, const Job& job, BandKind kind) {
  if (job.spec.policy.may_be_preempted() && !job.shares->kinds[static_cast<std::size_t>(kind)].all_stay) return false;
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i) {
    const BandShare there = job.shares->of(BandSlot{i});
    const bool counts = workers[BandSlot{i}].alive && workers[BandSlot{i}].kind == kind;
    if (counts && there.started > 0 && there.planned > 0) return true;
  }
  return false;
}

}  // namespace

/// Begins, changes or ends the gang's wait at a barrier. A gang that is given slots and had none waits; one that has
/// begun, or needs its slots where its work is, does not. Returns whether workers must get its entitlements again.
bool SupervisorCore::watch_barrier(Job& job, BandKind kind) {
  if (job.spec.policy.gang == 0) return false;
  KindShare& share = job.shares->kinds.edit(kind);
  std::uint64_t given = 0;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (workers_[BandSlot{i}].alive && workers_[BandSlot{i}].kind == kind) given += job.shares->of(BandSlot{i}).planned;
  GangBarrier& barrier = share.barrier.edit();
  if (given == 0 || share.bound) {
    barrier.end(given > 0);
    return std::exchange(barrier.reported, false);
  }
  // A gang cannot begin with a part of its slots: a worker was lost, or a run of the pass's snapshot has ended.
  if (!barrier.open && given < milli_of_gang(job, kind) && !has_runs_that_stay(workers_, job, kind)) {
    for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
      if (workers_[BandSlot{i}].alive && workers_[BandSlot{i}].kind == kind) job.shares->at(BandSlot{i}).planned = 0;
    policy_.barriers_given_up += barrier.waits();
    barrier.end(false);
    return std::exchange(barrier.reported, false);
  }
  if (barrier.waits() && asks_otherwise(job, kind)) {
    PENSTOCK_COVERAGE_MARK("a gang asks for other slots at its barrier");
    barrier.ask_anew(++policy_.barriers);
    return true;
  }
  if (barrier.waits()) return false;
  if (barrier.open) return std::exchange(barrier.reported, false);
  // After a restart of the supervisor it may run as a whole: to wait at a barrier could only cost it that.
  if (has_runs_that_stay(workers_, job, kind) || runs_whole_where_planned(job, kind)) {
    barrier.end(true);
    return std::exchange(barrier.reported, false);
  }
  PENSTOCK_COVERAGE_MARK("a gang waits at its barrier");
  barrier.begin(++policy_.barriers, event_.now, later(event_.now, policy_.config.gang_barrier));
  policy_.barriers_end = std::min(policy_.barriers_end, barrier.until);
  return true;
}

/// Whether the plan for any band differs from the reservation that its worker was asked for.
bool SupervisorCore::asks_otherwise(const Job& job, BandKind kind) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (workers_[BandSlot{i}].alive && workers_[BandSlot{i}].kind == kind) {
      const BandShare there = job.shares->of(BandSlot{i});
      if (there.entitled != share.entitled_by(there.planned)) return true;
    }
  return false;
}

/// Whether all of the gang runs already, and where the plan gives it its slots.
bool SupervisorCore::runs_whole_where_planned(const Job& job, BandKind kind) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  std::uint64_t runs = 0;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (const BandEntry& band = workers_[BandSlot{i}]; band.alive && band.kind == kind) {
      const BandShare there = job.shares->of(BandSlot{i});
      runs += std::min(there.planned, milli_run(share, there, band));
    }
  if (runs == 0 || runs < milli_of_gang(job, kind)) return false;
  PENSTOCK_COVERAGE_MARK("a gang that runs as a whole waits at no barrier");
  return true;
}

/// The reservation that a worker holds for the gang on a band, instead of letting it begin.
void SupervisorCore::reserve_for(const Job& job, BandSlot band, Entitlement& entitlement) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(workers_[band].kind)];
  if (!share.barrier->waits() || entitlement.slots.is_zero() || entitlement.slots == MilliSlots::max()) return;
  entitlement.barrier = share.barrier->number;
  // A worker that has not heard by then that the gang begins is lost, and must not hold slots for it. The supervisor
  // enforces this deadline, whatever workers are configured to.
  entitlement.barrier_max = std::max(share.barrier->until - event_.now, Duration{0}) + config_.worker_lost_after;
  const std::int64_t runs = entitlement.slots.value() / std::max<std::int64_t>(share.unit_milli, 1);
  entitlement.gpu = share.beside.gpu * runs;
  entitlement.device_memory = share.beside.device_memory * runs;
  // No plan divides these, so no job leaves for them: amounts that only some members take are not waited for.
  entitlement.cpu = share.beside_least->cpu * runs;
  entitlement.named = share.beside_least->named;
  for (NamedAmount& each : entitlement.named)
    each.amount = std::min(each.amount, INT64_MAX / std::max<std::int64_t>(runs, 1)) * runs;
  entitlement.patience = std::max(share.barrier->halfway() - event_.now, Duration{0});
}

/// Where quotas count, a gang is a whole number of allocation units.
std::uint64_t SupervisorCore::milli_of_gang(const Job& job, BandKind kind) const {
  const std::uint64_t all = std::uint64_t{job.spec.policy.gang} * 1000;
  const std::uint64_t allocation_unit = job.shares->kinds[static_cast<std::size_t>(kind)].allocation_unit.milli;
  return counts_quotas(job.shares->pool) ? all / allocation_unit * allocation_unit : all;
}

/// A worker without barriers lets the gang begin as soon as it is entitled to anything, so the supervisor does not wait
/// for it.
void SupervisorCore::open_if_all_held(Job& job, BandKind kind) {
  // A worker may have given up a late barrier: see `worker.barrier_margin`.
  if (const Seldom<GangBarrier>& at = job.shares->kinds[static_cast<std::size_t>(kind)].barrier;
      !at->waits() || event_.now >= at->until)
    return;
  GangBarrier& barrier = job.shares->kinds.edit(kind).barrier.edit();
  std::uint64_t given = 0;
  std::uint32_t missing = 0;
  std::vector<WorkerSlot> workers;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandSlot band{i};
    const std::uint64_t planned = job.shares->of(band).planned;
    if (!workers_[band].alive || workers_[band].kind != kind || planned == 0) continue;
    given += planned;
    if (!workers_.worker_of(band).description.barriers) continue;
    if (!barrier.is_held(band)) {
      ++missing;
      continue;
    }
    if (workers.empty() || workers.back() != workers_[band].worker) workers.push_back(workers_[band].worker);
  }
  barrier.missing = missing;
  if (missing > 0 || given < milli_of_gang(job, kind)) return;
  PENSTOCK_COVERAGE_MARK("a gang begins because all its slots are held");
  barrier.open_as_held();
  ++policy_.barriers_opened;
  for (const WorkerSlot worker : workers) send_entitlements(job, worker);
}

void SupervisorCore::receive(WorkerSlot slot, const BarrierAnswer& message) {
  if (!jobs_.knows(message.job) || message.band.value() >= workers_[slot].bands.size()) return;
  Job& job = jobs_[message.job];
  if (job.shares == nullptr || job.cancelling) return;
  const BandSlot band = workers_[slot].bands[message.band.value()];
  const BandKind kind = workers_[band].kind;
  GangBarrier& barrier = job.shares->kinds.edit(kind).barrier.edit();
  if (message.held.is_zero() && message.barrier != 0 && barrier.opened == message.barrier &&
      job.shares->of(band).planned > 0) {
    PENSTOCK_COVERAGE_MARK("a gang was let begin on slots that had been given back");
    return give_up_barrier(job, kind,
                           band_text(workers_, band) + " gave its slots back before it heard that all begin");
  }
  if (!barrier.waits() || barrier.number != message.barrier) {
    PENSTOCK_COVERAGE_MARK("a worker answers for a barrier that is over");
    return;
  }
  if (message.held.is_zero())
    return give_up_barrier(job, kind, band_text(workers_, band) + " had no word for too long and gave its slots back");
  // As the worker counts it: a band may have a part of a slot.
  const MilliSlots asked = std::min(job.shares->of(band).entitled, workers_[band].description.capacity.slots);
  if (asked.is_zero() || message.held < asked || barrier.is_held(band)) return;
  if (barrier.now_held(band)) open_if_all_held(job, kind);
}

/// All or nothing: slots that workers hold already are given back with the rest, and other jobs come first in the next
/// pass.
void SupervisorCore::give_up_barrier(Job& job, BandKind kind, const std::string& why) {
  PENSTOCK_COVERAGE_MARK("a gang gives all its reserved slots back");
  KindShare& share = job.shares->kinds.edit(kind);
  const bool stays = has_runs_that_stay(workers_, job, kind);
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive || band.kind != kind) continue;
    BandShare& there = job.shares->at(BandSlot{i});
    there.planned = stays ? milli_run(share, there, band) : 0;
  }
  share.barrier.edit().end(stays);
  share.barrier.edit().backs_off_through = stays ? 0 : policy_.passes + 1;
  share.gave_back = "its gang gave all its reserved slots back and waits anew: " + why;
  ++policy_.barriers_given_up;
  entitle(job);
  policy_changed();
}

void SupervisorCore::give_up_late_barriers() {
  policy_.barriers_end = kNever;
  for (const JobId id : policy_.agenda.in_sight().all())
    for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
      Job& job = jobs_[id];
      if (job.shares == nullptr || job.cancelling) continue;
      const GangBarrier& barrier = *job.shares->kinds[static_cast<std::size_t>(kind)].barrier;
      if (!barrier.waits()) continue;
      if (event_.now >= barrier.until)
        give_up_barrier(job, kind, "after `policy.gang_barrier`, " + seconds_text(barrier.until - barrier.since) +
                                       ", " + barrier_text(job, kind));
      else
        policy_.barriers_end = std::min(policy_.barriers_end, barrier.until);
    }
}

/// Gangs that wait for slots of that worker.
std::vector<std::pair<JobId, BandKind>> SupervisorCore::barriers_with(WorkerSlot slot) const {
  std::vector<std::pair<JobId, BandKind>> found;
  for (const JobId id : policy_.agenda.in_sight())
    for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
      const Job& job = jobs_[id];
      if (job.shares == nullptr || !job.shares->kinds[static_cast<std::size_t>(kind)].barrier->waits()) continue;
      const std::vector<BandSlot>& bands = workers_[slot].bands;
      const bool there = std::any_of(bands.begin(), bands.end(), [&](BandSlot band) {
        return workers_[band].kind == kind && job.shares->of(band).planned > 0;
      });
      if (there) found.emplace_back(id, kind);
    }
  return found;
}

/// The job ends: nothing stays reserved for it.
void SupervisorCore::leave_barriers(Job& job) {
  if (job.shares == nullptr || job.spec.policy.gang == 0) return;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu})
    if (job.shares->kinds[static_cast<std::size_t>(kind)].barrier->waits()) {
      PENSTOCK_COVERAGE_MARK("a gang ends while it waits at a barrier");
      job.shares->kinds.edit(kind).barrier.edit().end(false);
      for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
        const WorkerEntry& worker = workers_[WorkerSlot{i}];
        const bool heard = worker.alive && i < job.known_of.size() && (job.known_of[i] & Job::kHeardOf) != 0;
        bool any = false;
        for (const BandSlot band : heard ? worker.bands : std::vector<BandSlot>{})
          if (workers_[band].kind == kind && !job.shares->of(band).entitled.is_zero()) {
            job.shares->change(band, kind, [](BandShare& share) { share.entitled = MilliSlots{}, share.runs = 0; });
            any = true;
          }
        if (any) send_entitlements(job, WorkerSlot{i});
      }
    }
}

/// Opens barriers from before a restart, as no policy is in force now.
void SupervisorCore::free_gang(const Job& job, WorkerSlot slot) {
  EntitlementBatch batch;
  batch.version = ++policy_.version;
  for (const BandSlot band : workers_[slot].bands)
    batch.entitlements.push_back({job.id, workers_[band].id.band, MilliSlots::max(), 0});
  mail_.tell(slot, std::move(batch));
}

/// The progress of the barrier, for people, with the workers that it waits for.
std::string SupervisorCore::barrier_text(const Job& job, BandKind kind) const {
  const GangBarrier& barrier = *job.shares->kinds[static_cast<std::size_t>(kind)].barrier;
  std::uint64_t held = 0;
  std::string waits_for;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandSlot band{i};
    const std::uint64_t planned = job.shares->of(band).planned;
    if (!workers_[band].alive || workers_[band].kind != kind || planned == 0) continue;
    if (barrier.is_held(band) || !workers_.worker_of(band).description.barriers)
      held += planned;
    else if (waits_for.empty())
      waits_for = ", not yet those of " + band_text(workers_, band);
  }
  return decimal_text(held) + " of " + decimal_text(milli_of_gang(job, kind)) + " slots are held" + waits_for;
}

/// The same of one that waits, with its times.
std::string SupervisorCore::barrier_hold(const Job& job, BandKind kind) const {
  const GangBarrier& barrier = *job.shares->kinds[static_cast<std::size_t>(kind)].barrier;
  return "barrier: " + barrier_text(job, kind) + "; it waits for " + seconds_text(event_.now - barrier.since) +
         ", and in " + seconds_text(barrier.until - event_.now) + " all are given back";
}

}  // namespace penstock::supervisor
