#include "supervisor/core/driver/gang_barriers.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/driver/barrier_facts.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/entitlement_mail.hpp"
#include "supervisor/core/policy/job_demand.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {
bool GangBarriers::watch_barrier(Job& job, BandKind kind) {
  if (job.spec.policy.gang == 0) return false;
  KindShare& share = job.shares->kinds.edit(kind);
  std::uint64_t given = 0;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (workers_[BandSlot{i}].alive && workers_[BandSlot{i}].kind == kind) given += job.shares->of(BandSlot{i}).planned;
  GangBarrier& barrier = share.gang.barrier.edit();
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

bool GangBarriers::asks_otherwise(const Job& job, BandKind kind) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (workers_[BandSlot{i}].alive && workers_[BandSlot{i}].kind == kind) {
      const BandShare there = job.shares->of(BandSlot{i});
      if (there.entitled != share.entitled_by(there.planned)) return true;
    }
  return false;
}

bool GangBarriers::runs_whole_where_planned(const Job& job, BandKind kind) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  std::uint64_t runs = 0;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (const BandEntry& band = workers_[BandSlot{i}]; band.alive && band.kind == kind) {
      const BandShare there = job.shares->of(BandSlot{i});
      runs += std::min(there.planned, demand_.milli_run(share, there, band));
    }
  if (runs == 0 || runs < milli_of_gang(job, kind)) return false;
  PENSTOCK_COVERAGE_MARK("a gang that runs as a whole waits at no barrier");
  return true;
}

std::uint64_t GangBarriers::milli_of_gang(const Job& job, BandKind kind) const {
  const std::uint64_t all = std::uint64_t{job.spec.policy.gang} * 1000;
  const std::uint64_t allocation_unit = job.shares->kinds[static_cast<std::size_t>(kind)].allocation_unit.milli;
  return view_.counts_quotas(job.shares->pool.position) ? all / allocation_unit * allocation_unit : all;
}

void GangBarriers::open_if_all_held(Job& job, BandKind kind) {
  // A worker may have given up a late barrier: see `worker.barrier_margin`.
  if (const Seldom<GangBarrier>& at = job.shares->kinds[static_cast<std::size_t>(kind)].gang.barrier;
      !at->waits() || event_.now >= at->until)
    return;
  GangBarrier& barrier = job.shares->kinds.edit(kind).gang.barrier.edit();
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
  for (const WorkerSlot worker : workers) entitlement_mail_.send_entitlements(job, worker);
}

std::vector<std::pair<JobId, BandKind>> GangBarriers::barriers_with(WorkerSlot slot) const {
  std::vector<std::pair<JobId, BandKind>> found;
  for (const JobId id : policy_.agenda.in_sight())
    for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
      const Job& job = jobs_[id];
      if (job.shares == nullptr || !job.shares->kinds[static_cast<std::size_t>(kind)].gang.barrier->waits()) continue;
      const std::vector<BandSlot>& bands = workers_[slot].bands;
      const bool there = std::any_of(bands.begin(), bands.end(), [&](BandSlot band) {
        return workers_[band].kind == kind && job.shares->of(band).planned > 0;
      });
      if (there) found.emplace_back(id, kind);
    }
  return found;
}

void GangBarriers::leave_barriers(Job& job) {
  if (job.shares == nullptr || job.spec.policy.gang == 0) return;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu})
    if (job.shares->kinds[static_cast<std::size_t>(kind)].gang.barrier->waits()) {
      PENSTOCK_COVERAGE_MARK("a gang ends while it waits at a barrier");
      job.shares->kinds.edit(kind).gang.barrier.edit().end(false);
      for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
        const WorkerEntry& worker = workers_[WorkerSlot{i}];
        const bool heard =
            worker.alive && i < job.audience.known_of.size() && (job.audience.known_of[i] & JobAudience::kHeardOf) != 0;
        bool any = false;
        for (const BandSlot band : heard ? worker.bands : std::vector<BandSlot>{})
          if (workers_[band].kind == kind && !job.shares->of(band).entitled.is_zero()) {
            job.shares->change(band, kind, [](BandShare& share) { share.entitled = MilliSlots{}, share.runs = 0; });
            any = true;
          }
        if (any) entitlement_mail_.send_entitlements(job, WorkerSlot{i});
      }
    }
}

std::string GangBarriers::barrier_text(const Job& job, BandKind kind) const {
  const GangBarrier& barrier = *job.shares->kinds[static_cast<std::size_t>(kind)].gang.barrier;
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

std::string GangBarriers::barrier_hold(const Job& job, BandKind kind) const {
  const GangBarrier& barrier = *job.shares->kinds[static_cast<std::size_t>(kind)].gang.barrier;
  return "barrier: " + barrier_text(job, kind) + "; it waits for " + seconds_text(event_.now - barrier.since) +
         ", and in " + seconds_text(barrier.until - event_.now) + " all are given back";
}

}  // namespace penstock::supervisor
