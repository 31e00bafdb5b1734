#include "supervisor/core/policy/job_demand.hpp"

#include <algorithm>
#include <utility>

#include "supervisor/core/band_kinds.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/policy/allocation_units.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {
namespace {

/// A part of the demand that is forgotten with each pass: between two stages of a graph it does not fall to nothing.
/// Not a setting: how long that takes is, as `policy.period`.
constexpr std::uint32_t kForgottenPart = 4;

/// A former demand is forgotten slot by slot, or by parts of one.
std::uint64_t step_of(const AllocationUnit& allocation_unit) {
  return std::min<std::uint64_t>(allocation_unit.milli, 1000);
}

/// Passes that may find a job's slots where it has no work before its slots move to its work. Not a setting: one pass
/// is too few, because work may be on its way there, and a vain wait lasts as long as `policy.period` says.
constexpr std::uint32_t kMisplacedMax = 4;

/// Whether an open subtask must not return to a band where it has failed. A subtask that was lost with its worker must
/// not either, but that worker does not return.
bool avoids_a_band(const Job& job, const WorkerTable& workers) {
  std::size_t left = job.extras.histories->size();
  for (std::uint32_t subtask = 0; left > 0 && subtask < job.total(); ++subtask) {
    const SubtaskHot& hot = job.hot[subtask];
    if ((hot.flags & SubtaskFlag::kTroubled) == 0) continue;
    --left;
    if (is_final(hot.phase)) continue;
    const SubtaskHistory* history = job.extras.histories->find(SubtaskIndex{subtask});
    if (history == nullptr) continue;
    if (history->larger.valid()) return true;  // Its larger template may be too large for some bands.
    if (history->tried_epoch != workers.epoch()) continue;
    for (const BandSlot band : history->tried)
      if (workers[band].alive) return true;
  }
  return false;
}

/// A gang without running members, at its barrier or between two stages, loses all of its slots if others run on a part
/// of them: the next plan gives it a place as a whole. Its slots count in `held`, by band slot.
void take_back_given(Job& job, BandKind kind, const WorkerTable& workers, std::vector<std::uint64_t>& held) {
  for (std::uint32_t i = 0; i < job.shares->bands.size() && i < held.size(); ++i)
    if (workers[BandSlot{i}].alive && workers[BandSlot{i}].kind == kind)
      held[i] -= std::exchange(job.shares->bands[i].planned, 0);
  job.shares->kinds.edit(kind).gang.barrier.edit().end(false);  // Its next place has its whole time.
}

/// Where nothing was limited, the last plan has the number of a job's slots and its attempts have the places: slots
/// planned on bands without attempts count on bands with attempts. Attempts that have just begun are not reported yet,
/// and would have to leave otherwise.
void follow_attempts(JobShares& shares, const WorkerTable& workers) {
  const auto busy_on = [&](std::uint32_t i) {
    const AllocationUnit& allocation_unit =
        shares.kinds[static_cast<std::size_t>(workers[BandSlot{i}].kind)].allocation_unit;
    const std::uint64_t milli =
        round_up(shares.bands[i].runnable * allocation_unit.run_milli, step_of(allocation_unit));
    return std::min(milli, std::uint64_t{workers[BandSlot{i}].slots} * 1000);
  };
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(shares.bands.size(), workers.band_slots()));
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    const auto follows = [&](std::uint32_t i) {
      const BandEntry& band = workers[BandSlot{i}];
      return band.alive && band.kind == kind && !shares.bands[i].limited();
    };
    std::uint64_t unused = 0;
    std::uint64_t elsewhere = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!follows(i)) continue;
      const std::uint64_t busy = busy_on(i);
      const std::uint64_t planned = shares.bands[i].planned;
      (busy < planned ? unused : elsewhere) += busy < planned ? planned - busy : busy - planned;
    }
    const std::uint64_t moves = std::min(unused, elsewhere);
    std::uint64_t leaves = moves;
    std::uint64_t comes = moves;
    for (std::uint32_t i = 0; i < count && moves > 0; ++i) {
      if (!follows(i)) continue;
      const std::uint64_t busy = busy_on(i);
      std::uint64_t& planned = shares.bands[i].planned;
      if (busy < planned) {
        const std::uint64_t part = std::min(leaves, planned - busy);
        planned -= part, leaves -= part;
      } else {
        const std::uint64_t part = std::min(comes, busy - planned);
        planned += part, comes -= part;
      }
    }
  }
}

/// The order in which jobs lose slots to runs of others that may not leave.
enum class Loses : std::uint8_t { NoGang, AtBarrier, Begun };

Loses loss_order_of(const Job& job, BandKind kind) {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  if (job.spec.policy.gang == 0 || share.bound) return Loses::NoGang;
  return share.gang.barrier->waits() ? Loses::AtBarrier : Loses::Begun;
}

}  // namespace

std::uint64_t JobDemand::runnable_for(const Job& job, BandSlot band) const {
  const LocalSet* local = job.place.locals.find(band);
  return job.shares->of(band).runnable + (local != nullptr ? local->ready_count() : 0);
}

std::uint64_t JobDemand::waiting_of(const Job& job, BandKind kind) const {
  std::uint64_t subtasks = 0;
  for (const std::uint32_t each : job.place.unschedulable)
    if (may_take(job.graph.shape->template_of(each), kind)) ++subtasks;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (const BandSlot band{i}; workers_[band].alive && workers_[band].kind == kind)
      subtasks +=
          runnable_for(job, band) - std::min(runnable_for(job, band), std::uint64_t{job.shares->of(band).started});
  return subtasks;
}

std::uint64_t JobDemand::measure_demand_at(const Job& job, BandSlot slot) const {
  const BandEntry& band = workers_[slot];
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(band.kind)];
  const std::uint64_t wanted =
      round_up(runnable_for(job, slot) * share.allocation_unit.run_milli, step_of(share.allocation_unit));
  if (wanted == 0 || !band.alive || !view_.may_use(job, slot)) return 0;
  const std::uint64_t unit = share.unit_on(band);
  return std::max<std::uint64_t>(std::min(wanted, std::uint64_t{band.slots} * 1000) / unit, 1) * unit;
}

std::uint64_t JobDemand::measure_demand(const Job& job, BandKind kind, std::uint64_t capacity) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  if (share.unit_milli == 0) return 0;
  std::uint64_t subtasks = 0;
  std::uint64_t bound = 0;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandSlot band{i};
    if (!workers_[band].alive || workers_[band].kind != kind) continue;
    subtasks += runnable_for(job, band);
    if (share.bound) bound += measure_demand_at(job, band);
  }
  subtasks += job.place.unschedulable.size();
  const std::uint64_t wanted = round_up(subtasks * share.allocation_unit.run_milli, step_of(share.allocation_unit));
  const std::uint64_t forgotten = share.demand / kForgottenPart + step_of(share.allocation_unit);
  const std::uint64_t lately = share.demand - std::min(share.demand, forgotten);
  const std::uint32_t slots_max = job.spec.policy.slots_max;
  const std::uint64_t cap = slots_max > 0 ? std::uint64_t{slots_max} * 1000 : ~std::uint64_t{0};
  if (share.bound) return std::min(bound, cap);
  if (const std::uint64_t gang = std::uint64_t{job.spec.policy.gang} * 1000; gang > 0) {
    if (capacity == 0 || (wanted == 0 && lately == 0)) return 0;
    const std::uint64_t most = std::min(std::uint64_t{job.spec.policy.gang_max} * 1000, cap);
    const std::uint64_t unit = share.allocation_unit.milli;
    return std::max(gang, std::min({std::max(wanted, lately), most, capacity}) / unit * unit);
  }
  // The cap counts whole allocation units; a job with a cap below one allocation unit wants one, so that it is shown
  // the reason.
  const std::uint64_t whole = std::max<std::uint64_t>(cap / share.allocation_unit.milli, 1);
  const std::uint64_t allocation_units =
      (std::min(std::max(wanted, lately), capacity) + share.allocation_unit.milli - 1) / share.allocation_unit.milli;
  return std::min(allocation_units, whole) * share.allocation_unit.milli;
}

std::uint64_t JobDemand::measure_beyond(const Job& job, BandKind kind, std::uint64_t capacity,
                                        std::uint64_t before) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  if (share.demand == 0 || share.demand < capacity) return 0;
  const std::uint64_t all = measure_demand(job, kind, ~std::uint64_t{0});
  const std::uint64_t forgotten = before / kForgottenPart + step_of(share.allocation_unit);
  const std::uint64_t lately = before - std::min(before, forgotten);
  return std::max(all, lately) - std::min(std::max(all, lately), share.demand);
}

bool JobDemand::fits_all_of_pool(const Job& job, std::uint32_t template_index) {
  const IndexSet& misfits = eligibility_.bands_of(job, template_index).misfits;
  for (std::uint32_t band = misfits.next(0); band != IndexSet::kNone; band = misfits.next(band + 1))
    if (view_.may_use(job, BandSlot{band})) return false;
  const Template& wanted = job.graph.shape->graph().templates[template_index];
  return wanted.required.empty() && !is_alias(wanted);
}

bool JobDemand::fits_alike(const Job& job, BandKind kind) {
  const std::vector<Template>& templates = job.graph.shape->graph().templates;
  std::vector<const IndexSet*> bands;
  for (std::uint32_t i = 0; i < templates.size(); ++i) {
    if (!may_take(templates[i], kind)) continue;
    if (!templates[i].required.empty() || is_alias(templates[i])) return false;
    bands.push_back(&eligibility_.bands_of(job, i).bands);
  }
  bool any = false;
  for (std::uint32_t band = 0; band < workers_.band_slots(); ++band) {
    if (!view_.may_use(job, BandSlot{band})) continue;
    const auto fit =
        std::count_if(bands.begin(), bands.end(), [band](const IndexSet* of) { return of->contains(band); });
    if (fit > 0 && fit < std::ssize(bands)) return false;
    any = any || fit > 0;
  }
  return any;
}

bool JobDemand::fits_where_it_may(const Job& job, BandKind kind) {
  const std::vector<Template>& templates = job.graph.shape->graph().templates;
  const auto of_kind = [kind](const Template& each) { return may_take(each, kind); };
  const auto first = std::find_if(templates.begin(), templates.end(), of_kind);
  const bool is_only = first != templates.end() && std::none_of(std::next(first), templates.end(), of_kind);
  if (is_only && job.spec.policy.gang == 0 && first->required.empty() && !is_alias(*first)) {
    const auto at = static_cast<std::uint32_t>(first - templates.begin());
    const IndexSet& bands = eligibility_.bands_of(job, at).bands;
    for (std::uint32_t band = bands.next(0); band != IndexSet::kNone; band = bands.next(band + 1))
      if (view_.may_use(job, BandSlot{band})) return true;
  }
  for (std::uint32_t i = 0; i < templates.size(); ++i)
    if (of_kind(templates[i]) && !fits_all_of_pool(job, i)) return job.spec.policy.gang > 0 && fits_alike(job, kind);
  return true;
}

bool JobDemand::is_bound(Job& job, BandKind kind) {
  KindShare& share = job.shares->kinds.edit(kind);
  if (job.shares->pool.placed != job.shares->pool.position) return false;
  if (share.misplaced >= kMisplacedMax || avoids_a_band(job, workers_)) return true;
  if (!fits_where_it_may(job, kind)) return true;
  bool idle = false;
  bool unserved = false;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandSlot band{i};
    const BandShare there = job.shares->of(band);
    if (!workers_[band].alive || workers_[band].kind != kind || !there.limited()) continue;
    const bool has_work = runnable_for(job, band) > leaving_from(job, band);
    idle |= there.planned > 0 && !has_work;
    unserved |= there.planned == 0 && has_work;
  }
  share.misplaced = idle && unserved ? share.misplaced + 1 : 0;
  return share.misplaced >= kMisplacedMax;
}

bool JobDemand::is_leaving(const Job& job, std::uint32_t subtask, Attempt attempt) {
  const std::uint64_t* asked = job.shares->preempting->find(SubtaskIndex{subtask});
  return asked != nullptr && *asked == attempt.value() && subtask < job.total() &&
         job.hot[subtask].phase == SubtaskPhase::Assigned && job.hot[subtask].attempt == attempt.value();
}

std::uint64_t JobDemand::leaving_from(const Job& job, BandSlot band) const {
  if (job.shares->preempting->empty()) return 0;
  const std::vector<AssignedRef>& assigned = workers_[band].assigned;
  return static_cast<std::uint64_t>(std::count_if(assigned.begin(), assigned.end(), [&](const AssignedRef& ref) {
    return ref.job == job.id && is_leaving(job, ref.subtask, Attempt{ref.attempt});
  }));
}

bool JobDemand::may_leave(const Job& job, BandKind kind) const {
  return job.spec.policy.may_be_preempted() && !job.shares->kinds[static_cast<std::size_t>(kind)].all_stay;
}

std::uint64_t JobDemand::milli_that_stays(const Job& job, BandSlot slot) const {
  const BandEntry& band = workers_[slot];
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(band.kind)];
  if (!share.any_stays || job.shares->of(slot).started == 0) return 0;
  std::uint64_t attempts = 0;
  for (const AssignedRef& ref : band.assigned) {
    if (ref.job != job.id || ref.subtask >= job.total()) continue;
    const SubtaskHot& hot = job.hot[ref.subtask];
    const bool runs = hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.band == slot &&
                      (hot.flags & SubtaskFlag::kStarted) != 0;
    attempts += runs && !job.graph.shape->template_of(ref.subtask).retryable ? 1 : 0;
  }
  return round_up(attempts * share.allocation_unit.run_milli, step_of(share.allocation_unit));
}

std::uint64_t JobDemand::milli_of(const KindShare& kind, std::uint32_t runs, const BandEntry& band) {
  const std::uint64_t milli = round_up(runs * kind.allocation_unit.run_milli, step_of(kind.allocation_unit));
  return std::min(milli, std::uint64_t{band.slots} * 1000);
}

std::uint64_t JobDemand::milli_run(const KindShare& kind, const BandShare& share, const BandEntry& band) {
  return milli_of(kind, share.started, band);
}

void JobDemand::count_holdings() {
  std::vector<std::uint64_t> held(workers_.band_slots());
  const auto all_runs = [this](const Job& job, BandKind kind) {
    std::uint64_t milli = 0;
    for (std::uint32_t i = 0; i < job.shares->bands.size() && i < workers_.band_slots(); ++i)
      if (const BandEntry& band = workers_[BandSlot{i}]; band.alive && band.kind == kind)
        milli += milli_run(job.shares->kinds[static_cast<std::size_t>(kind)], job.shares->bands[i], band);
    return milli;
  };
  const auto runs_whole = [&](const Job& job, BandKind kind) {
    return all_runs(job, kind) >= job.spec.policy.gang * std::uint64_t{1000};
  };
  for (const JobId id : policy_.agenda.in_sight()) {
    Job& job = jobs_[id];
    if (job.shares != nullptr) follow_attempts(*job.shares, workers_);
    for (std::uint32_t i = 0; job.shares != nullptr && i < job.shares->bands.size() && i < held.size(); ++i) {
      BandShare& share = job.shares->bands[i];
      const BandEntry& band = workers_[BandSlot{i}];
      if (!band.alive) continue;
      const bool claimed = share.claimed && view_.may_hold(job, BandSlot{i}) && runs_whole(job, band.kind);
      if (view_.is_shown(job)) share.claimed = false;
      const bool keeps = claimed || !share.limited() || !may_leave(job, band.kind);
      const KindShare& of_kind = job.shares->kinds[static_cast<std::size_t>(band.kind)];
      if (keeps) share.planned = std::max(share.planned, milli_run(of_kind, share, band));
      // Without a limit the job runs what it has there, though it may not be known to run yet.
      if (!share.limited()) share.planned = std::max(share.planned, milli_of(of_kind, share.runnable, band));
      held[i] += share.planned;
    }
  }
  const std::vector<JobId> active = policy_.agenda.in_sight().all();
  for (const Loses order : {Loses::NoGang, Loses::AtBarrier, Loses::Begun})
    for (std::size_t at = active.size(); at-- > 0;) {
      Job& job = jobs_[active[at]];
      if (job.shares == nullptr) continue;
      for (std::uint32_t i = 0; i < job.shares->bands.size() && i < held.size(); ++i) {
        BandShare& share = job.shares->bands[i];
        const BandEntry& band = workers_[BandSlot{i}];
        const std::uint64_t all = std::uint64_t{band.slots} * 1000;
        if (!band.alive || held[i] <= all || share.planned == 0 || loss_order_of(job, band.kind) != order) continue;
        const KindShare& of_kind = job.shares->kinds[static_cast<std::size_t>(band.kind)];
        if (order == Loses::AtBarrier || (order == Loses::Begun && all_runs(job, band.kind) == 0)) {
          take_back_given(job, band.kind, workers_, held);
          continue;
        }
        const std::uint64_t runs = milli_run(of_kind, share, band);
        const std::uint64_t idle = std::min(share.planned - std::min(runs, share.planned), held[i] - all);
        if (order == Loses::Begun && idle > 0) job.shares->kinds.edit(band.kind).gang.lost_to_others = true;
        share.planned -= idle;
        held[i] -= idle;
      }
    }
}

std::vector<std::uint64_t> JobDemand::divide_by_pool(const Job& job, BandKind kind) const {
  const JobShares& shares = *job.shares;
  const KindShare& of_kind = shares.kinds[static_cast<std::size_t>(kind)];
  const std::vector<std::uint32_t>& pools = shares.pool.fallback.pools();
  std::vector<std::uint64_t> busy(pools.size(), 0);
  std::vector<std::uint64_t> idle(pools.size(), 0);
  for (std::uint32_t i = 0; i < shares.bands.size() && i < workers_.band_slots(); ++i) {
    const BandShare& share = shares.bands[i];
    const auto pool = std::find(pools.begin(), pools.end(), policy_.pool_of_band[i]);
    if (!workers_[BandSlot{i}].alive || workers_[BandSlot{i}].kind != kind || pool == pools.end()) continue;
    const AllocationUnit& unit = of_kind.allocation_unit;
    const std::uint64_t runs = std::min(share.planned, round_up(share.runnable * unit.run_milli, step_of(unit)));
    busy[static_cast<std::size_t>(pool - pools.begin())] += runs;
    idle[static_cast<std::size_t>(pool - pools.begin())] += share.planned - runs;
  }
  std::vector<std::uint64_t> parts(pools.size(), 0);
  std::uint64_t left = of_kind.demand;
  for (const std::vector<std::uint64_t>* most : {&busy, &idle})
    for (std::size_t i = 0; i < pools.size(); ++i) {
      const std::uint64_t part = std::min(left, (*most)[i]);
      parts[i] += part, left -= part;
    }
  const auto tried = std::find(pools.begin(), pools.end(), shares.pool.position);
  parts[static_cast<std::size_t>(tried - pools.begin())] += left;
  return parts;
}

std::vector<PromisedPlace> JobDemand::settle_holdings(Job& job, BandKind kind, std::vector<PromisedPlace>& leaving) {
  std::vector<PromisedPlace> held;
  std::vector<PromisedPlace> runs;
  const KindShare& of_kind = job.shares->kinds[static_cast<std::size_t>(kind)];
  const bool gang = job.spec.policy.gang > 0 && !of_kind.bound;
  // Runs of a job that may have nothing any more are leaving, too, whatever the last plan said.
  const bool all_leaves = of_kind.demand == 0 && job.shares->rules.cut[static_cast<std::size_t>(kind)];
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < job.shares->bands.size(); ++i) {
    const BandShare& share = job.shares->bands[i];
    if (i >= workers_.band_slots() || !workers_[BandSlot{i}].alive || workers_[BandSlot{i}].kind != kind) continue;
    if (job.shares->pool.spreads && policy_.pool_of_band[i] != job.shares->pool.position) continue;
    if (const std::uint64_t milli = milli_run(of_kind, share, workers_[BandSlot{i}]); milli > 0)
      runs.push_back({BandSlot{i}, milli});
    std::uint64_t keep = share.planned;
    if (of_kind.bound && share.limited()) keep = std::min(keep, measure_demand_at(job, BandSlot{i}));
    if (keep > 0) held.push_back({BandSlot{i}, keep});
    sum += keep;
  }
  // The job wants less than it had: it gives up idle slots first. A gang keeps a whole one, or nothing.
  const bool is_void = gang && of_kind.demand == 0;
  for (const bool idle_only : {true, false})
    for (PromisedPlace& place : held) {
      if (is_void) break;
      const std::uint64_t unit = of_kind.unit_on(workers_[place.band]);
      const std::uint64_t busy = idle_only ? job.shares->of(place.band).runnable * unit : 0;
      const std::uint64_t least = of_kind.demand + (gang ? unit : 1);
      while (sum >= least && place.milli >= unit && place.milli > busy) place.milli -= unit, sum -= unit;
    }
  for (const PromisedPlace& run : runs) {
    const auto at = std::find_if(held.begin(), held.end(), [&run](const auto& each) { return each.band == run.band; });
    const std::uint64_t stays = all_leaves || at == held.end() ? 0 : at->milli;
    if (run.milli > stays) leaving.push_back({run.band, run.milli - stays});
  }
  if (is_void) held.clear();
  std::erase_if(held, [](const PromisedPlace& place) { return place.milli == 0; });
  return held;
}

}  // namespace penstock::supervisor
