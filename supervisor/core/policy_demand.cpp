// SupervisorCore: what a job wants of the cluster and what it holds, as policy counts it.
#include <algorithm>

#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

/// A part of the demand that is forgotten with each pass: between two stages of a graph it does not fall to nothing.
/// Not a setting: how long that takes is, as `policy.period`.
constexpr std::uint32_t kForgottenPart = 4;

/// Passes that may find a job's slots where it has no work before it gets them where it has. Not a setting: a pass is
/// too few, because work is on its way there, and what is waited for in vain lasts as long as `policy.period` says.
constexpr std::uint32_t kMisplacedMax = 4;

}  // namespace

/// Runnable subtasks that are kept for a band or are there.
std::uint64_t SupervisorCore::runnable_for(const Job& job, BandSlot band) const {
  const bool is_home = band.value() < job.local_of.size() && job.local_of[band.value()] != ~0U;
  return job.shares->of(band).runnable + (is_home ? job.locals[job.local_of[band.value()]].ready_count() : 0);
}

/// Slots of one band that a job could use which can run nowhere else what it has there.
std::uint32_t SupervisorCore::measure_demand_at(const Job& job, BandSlot slot) const {
  const BandEntry& band = workers_[slot];
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(band.kind)];
  const std::uint64_t slots = (runnable_for(job, slot) * share.unit_milli + 999) / 1000;
  if (slots == 0 || !band.alive || policy_.pool_of_band[slot.value()] != job.shares->pool) return 0;
  const std::uint32_t unit = share.unit_on(band);
  return std::max(static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, band.slots)) / unit, 1U) * unit;
}

/// Slots that the job could use now, or could until lately.
std::uint32_t SupervisorCore::measure_demand(const Job& job, BandKind kind, std::int64_t capacity) const {
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
  subtasks += job.homeless.size();
  const std::uint64_t slots = (subtasks * share.unit_milli + 999) / 1000;
  const std::uint64_t lately = share.demand - std::min(share.demand, share.demand / kForgottenPart + 1);
  const std::uint32_t cap = job.spec.policy.slots_max > 0 ? job.spec.policy.slots_max : ~std::uint32_t{0};
  if (share.bound) return static_cast<std::uint32_t>(std::min<std::uint64_t>(bound, cap));
  if (job.spec.policy.gang > 0) return slots > 0 || lately > 0 ? job.spec.policy.gang : 0;
  std::uint64_t demand = std::min<std::uint64_t>(std::max(slots, lately), static_cast<std::uint64_t>(capacity));
  demand = std::min<std::uint64_t>(demand, cap);
  const std::uint32_t unit = share.unit_slots();
  return static_cast<std::uint32_t>((demand + unit - 1) / unit * unit);
}

/// What bands of other pools are like is nothing to it.
bool SupervisorCore::fits_all_of_pool(const Job& job, std::uint32_t template_index) {
  const IndexSet& misfits = eligible_bands(job, template_index).misfits;
  for (std::uint32_t band = misfits.next(0); band != IndexSet::kNone; band = misfits.next(band + 1))
    if (policy_.pool_of_band[band] == job.shares->pool) return false;
  const Template& wanted = job.shape->graph().templates[template_index];
  return wanted.required.empty() && !borrows(wanted);
}

/// Most jobs take slots wherever they are, and bring their work there. Whose subtasks fit some bands only, or must not
/// return to where they have failed, or whoever was given slots that it cannot use, wants them where its work is; a
/// gang then as many as it gets.
bool SupervisorCore::is_bound(Job& job, BandKind kind) {
  KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  if (share.bound || job.histories.size() > 0) return true;
  const std::vector<Template>& templates = job.shape->graph().templates;
  for (std::uint32_t i = 0; i < templates.size(); ++i)
    if (wants_gpu(templates[i]) == (kind == BandKind::Gpu) && !fits_all_of_pool(job, i)) return true;
  bool idle = false;
  bool unserved = false;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandSlot band{i};
    const BandShare there = job.shares->of(band);
    if (!workers_[band].alive || workers_[band].kind != kind || !there.limited()) continue;
    const bool has_work = runnable_for(job, band) > 0;
    idle |= there.planned > 0 && !has_work;
    unserved |= there.planned == 0 && has_work;
  }
  share.misplaced = idle && unserved ? share.misplaced + 1 : 0;
  return share.misplaced >= kMisplacedMax;
}

/// Whether policy may take back what the job runs on bands of that kind.
bool SupervisorCore::may_leave(const Job& job, BandKind kind) const {
  return job.spec.policy.may_be_preempted() && !job.shares->kinds[static_cast<std::size_t>(kind)].all_stay;
}

/// Whole slots of running attempts that must not run twice, and so are never preempted.
std::uint32_t SupervisorCore::slots_that_stay(const Job& job, BandSlot slot) const {
  const BandEntry& band = workers_[slot];
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(band.kind)];
  if (!share.any_stays || job.shares->of(slot).started == 0) return 0;
  std::uint32_t attempts = 0;
  for (const AssignedRef& ref : band.assigned) {
    if (ref.job != job.id || ref.subtask >= job.total()) continue;
    const SubtaskHot& hot = job.hot[ref.subtask];
    const bool runs = hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.band == slot &&
                      (hot.flags & SubtaskFlag::kStarted) != 0;
    attempts += runs && !job.shape->template_of(ref.subtask).retryable ? 1 : 0;
  }
  return attempts * share.unit_on(band);
}

/// Whole slots that attempts of the job take which have been running for a while.
std::uint32_t SupervisorCore::slots_run(const KindShare& kind, const BandShare& share, const BandEntry& band) {
  const std::uint64_t slots = (std::uint64_t{share.started} * kind.unit_milli + 999) / 1000;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, band.slots));
}

/// What runs beyond what the last plan gave a job, where nothing was limited or it is never preempted, is its as well.
/// That may be more than there is, because what is short is told of late: then others lose what they do not use.
void SupervisorCore::count_holdings() {
  std::vector<std::uint64_t> held(workers_.band_slots());
  for (const JobId id : active_) {
    Job& job = *jobs_[id.value()];
    for (std::uint32_t i = 0; job.shares != nullptr && i < job.shares->bands.size() && i < held.size(); ++i) {
      BandShare& share = job.shares->bands[i];
      const BandEntry& band = workers_[BandSlot{i}];
      if (!band.alive) continue;
      const bool keeps = !share.limited() || !may_leave(job, band.kind);
      if (keeps)
        share.planned =
            std::max(share.planned, slots_run(job.shares->kinds[static_cast<std::size_t>(band.kind)], share, band));
      held[i] += share.planned;
    }
  }
  for (const bool gangs : {false, true})
    for (std::size_t at = active_.size(); at-- > 0;) {
      Job& job = *jobs_[active_[at].value()];
      if (job.shares == nullptr || (job.spec.policy.gang > 0) != gangs) continue;
      for (std::uint32_t i = 0; i < job.shares->bands.size() && i < held.size(); ++i) {
        BandShare& share = job.shares->bands[i];
        const BandEntry& band = workers_[BandSlot{i}];
        if (!band.alive || held[i] <= band.slots) continue;
        const std::uint32_t runs = slots_run(job.shares->kinds[static_cast<std::size_t>(band.kind)], share, band);
        const auto idle = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(share.planned - std::min(runs, share.planned), held[i] - band.slots));
        share.planned -= idle;
        held[i] -= idle;
      }
    }
}

/// What it holds of what the last plan gave it. Where that was limited, what runs beyond it is on its way out.
std::vector<PromisedPlace> SupervisorCore::settle_holdings(Job& job, BandKind kind,
                                                           std::vector<PromisedPlace>& leaving) {
  std::vector<PromisedPlace> held;
  const KindShare& of_kind = job.shares->kinds[static_cast<std::size_t>(kind)];
  const bool gang = job.spec.policy.gang > 0 && !of_kind.bound;
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < job.shares->bands.size(); ++i) {
    const BandShare& share = job.shares->bands[i];
    if (i >= workers_.band_slots() || !workers_[BandSlot{i}].alive || workers_[BandSlot{i}].kind != kind) continue;
    const std::uint32_t runs = slots_run(of_kind, share, workers_[BandSlot{i}]);
    if (runs > share.planned) leaving.push_back({BandSlot{i}, runs - share.planned});
    std::uint32_t keep = share.planned;
    if (of_kind.bound && share.limited()) keep = std::min(keep, measure_demand_at(job, BandSlot{i}));
    if (keep > 0) held.push_back({BandSlot{i}, keep});
    sum += keep;
  }
  if (gang) return of_kind.demand > 0 ? held : std::vector<PromisedPlace>{};
  // It wants less than it had: first where nothing of it is to be run.
  for (const bool idle_only : {true, false})
    for (PromisedPlace& place : held) {
      const std::uint32_t unit = of_kind.unit_on(workers_[place.band]);
      const std::uint32_t busy = idle_only ? job.shares->of(place.band).runnable * unit : 0;
      while (sum > of_kind.demand && place.slots >= unit && place.slots > busy) place.slots -= unit, sum -= unit;
    }
  std::erase_if(held, [](const PromisedPlace& place) { return place.slots == 0; });
  return held;
}

}  // namespace penstock::supervisor
