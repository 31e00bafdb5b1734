#include "supervisor/core/placement/placer.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/retry_timers.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/placement/external_inputs.hpp"
#include "supervisor/core/placement/placement_costs.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/work_search.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/band_indices.hpp"
#include "supervisor/core/workers/readoption.hpp"

namespace penstock::supervisor {
namespace {

constexpr std::size_t kCandidatesMax = 8;
constexpr std::size_t kPredecessorsLookedAt = 64;
/// Times `steal_after` that a band must have been idle before it gets subtasks that cannot run yet.
constexpr std::int64_t kHysteresis = 4;

}  // namespace

void Placer::become_placeable(Job& job, std::uint32_t subtask) {
  if (job.status.recovering) return;  // The subtask stays `Waiting` and is placed with all the others.
  SubtaskHot& hot = job.hot[subtask];
  const Instant unclaimed_until = readoption_.claims_open() > 0 ? later(event_.now, config_.reclaim_wait) : Instant{};
  if (const Instant until = overlap_ends(job, subtask, unclaimed_until); until > event_.now) {
    PENSTOCK_COVERAGE_MARK("a subtask waits until its lost worker has ended it");
    hot.band = BandSlot::none();
    machine_.transition(job, subtask, SubtaskPhase::Backoff);
    return timers_.add(RetryTimer{until, job.id, subtask, hot.attempt});
  }
  machine_.transition(job, subtask, SubtaskPhase::Placeable);
  hot.band = choose_tentative_band(job, subtask);
  if (!hot.band.valid() && (hot.flags & SubtaskFlag::kTroubled) != 0) {
    // Every band that may have it was tried; then each may be tried again.
    std::vector<BandSlot>& tried = job.extras.histories.edit()[SubtaskIndex{subtask}].tried;
    if (!tried.empty()) PENSTOCK_COVERAGE_MARK("every allowed band was tried");
    tried.clear();
    hot.band = choose_tentative_band(job, subtask);
  }
  if (!hot.band.valid()) {
    if (const ExternalInput* external = job.graph.shape->external_input_of(subtask); external != nullptr)
      external_inputs_.await_external_input(job, *external);
    else
      leave_unschedulable(job, subtask);
    return;
  }
  if (hot.missing == 0) {
    queues_.keep_ready(job, hot.band, subtask);
  } else {
    LocalSet& local = job.place.locals.at(hot.band);
    local.push_ahead(job.order_key(subtask));
    queues_.enter_waiting(job, hot.band, local);
  }
  bands_.mark_dirty(hot.band);
  // The subtask may be sent in this very event.
  if (job.graph.shape->has_edges()) job.graph.shape->prefetch_edges(subtask);
}

BandSlot Placer::choose_tentative_band(Job& job, std::uint32_t subtask) {
  if (const ExternalInput* external = job.graph.shape->external_input_of(subtask); external != nullptr)
    return band_of_external_input(job, *external);
  const Template& wanted = job.graph.shape->template_of(subtask);
  // A subtask that was asked back for an idle band goes there; the rules below would often return it to where it came
  // from.
  if (const BandSlot* asked = job.extras.thieves->find(SubtaskIndex{subtask}); asked != nullptr) {
    const BandSlot thief = *asked;
    job.extras.thieves.edit().erase(SubtaskIndex{subtask});
    const BandEntry& band = workers_[thief];
    if (band.runnable + band.ready_here < band.slots + kPreparedAhead && may_run_on(job, subtask, thief)) return thief;
  }
  if (!wanted.preferred.empty())
    if (const BandSlot preferred = preferred_band(job, subtask, wanted.preferred); preferred.valid()) return preferred;
  // Most subtasks of most graphs: all predecessors are on one band, and no other band is in need of work.
  if (const BandSlot common = common_band_of_predecessors(job, subtask); common.valid()) {
    const bool others_need = workers_[common].runnable > workers_[common].slots && idle_band_for(job, subtask).valid();
    if (!others_need && may_run_on(job, subtask, common)) return common;
  }
  return best_of_candidates(job, subtask);
}

BandSlot Placer::preferred_band(Job& job, std::uint32_t subtask, const BandSelector& preferred) {
  BandSlot candidates[kCandidatesMax];
  std::size_t count = 0;
  const auto consider = [&](BandSlot band) {
    const bool is_new = std::find(candidates, candidates + count, band) == candidates + count;
    if (is_new && workers_[band].alive && workers_.selects(preferred, workers_[band]) && may_run_on(job, subtask, band))
      candidates[count++] = band;
  };
  if (const BandSlot idle = idle_band_for(job, subtask); idle.valid()) consider(idle);
  const std::uint32_t bands = workers_.band_slots();
  const std::uint64_t draw = mix_bits(hash_of(SubtaskId{job.id, SubtaskIndex{subtask}}));
  for (std::uint32_t i = 0; i < bands && count < kCandidatesMax; ++i)
    consider(BandSlot{static_cast<std::uint32_t>((draw + i) % bands)});
  return count == 0 ? BandSlot::none() : costs_.cheapest_of(job, subtask, {candidates, count});
}

BandSlot Placer::draw_idle_band(const Job& job, std::uint32_t subtask) const {
  const std::uint64_t draw = mix_bits(hash_of(SubtaskId{job.id, SubtaskIndex{subtask}}));
  const BandSlot slot{search_.idle.next_around(static_cast<std::uint32_t>(draw % std::max(workers_.band_slots(), 1U)))};
  const BandEntry& band = workers_[slot];
  const bool wants = job.hot[subtask].missing == 0 || band.in_flight + band.ready_here == 0 ||
                     event_.now >= later(band.idle_since, config_.steal_after * kHysteresis);
  return wants ? slot : BandSlot::none();
}

BandSlot Placer::common_band_of_predecessors(const Job& job, std::uint32_t subtask) const {
  const auto predecessors = job.graph.shape->predecessors(subtask);
  if (predecessors.empty() || predecessors.size() > kPredecessorsLookedAt) return BandSlot::none();
  const BandSlot first = job.hot[predecessors.front()].band;
  for (const std::uint32_t predecessor : predecessors)
    if (job.hot[predecessor].band != first) return BandSlot::none();
  return first;
}

BandSlot Placer::best_of_candidates(Job& job, std::uint32_t subtask) {
  BandSlot candidates[kCandidatesMax + 2];
  std::size_t count = 0;
  const auto consider = [&](BandSlot band) {
    if (std::find(candidates, candidates + count, band) != candidates + count) return true;
    if (!may_run_on(job, subtask, band)) return false;
    candidates[count++] = band;
    return true;
  };
  std::size_t looked_at = 0;
  for (const std::uint32_t predecessor : job.graph.shape->predecessors(subtask)) {
    if (count == kCandidatesMax || looked_at++ == kPredecessorsLookedAt) break;
    const BandSlot band = job.hot[predecessor].band;
    if (!band.valid() || consider(band) || !workers_[band].alive) continue;
    // The data is on the worker, not on the band: a GPU beside it is as near.
    for (const BandSlot beside : workers_[workers_[band].worker].bands)
      if (count == kCandidatesMax || consider(beside)) break;
  }
  if (const BandSlot idle = idle_band_for(job, subtask); idle.valid()) consider(idle);
  return count == 0 ? any_band(job, subtask) : costs_.cheapest_of(job, subtask, {candidates, count});
}

BandSlot Placer::any_band(Job& job, std::uint32_t subtask) {
  const std::uint32_t count = workers_.band_slots();
  if (count == 0) return BandSlot::none();
  BandSlot best;
  std::uint32_t found = 0;
  std::uint32_t at = static_cast<std::uint32_t>(hash_of(SubtaskId{job.id, SubtaskIndex{subtask}}) % count);
  for (std::uint32_t tries = 0; tries < count && found < 2; ++tries, at = at + 1 == count ? 0 : at + 1) {
    const BandSlot band{at};
    if (!may_run_on(job, subtask, band)) continue;
    ++found;
    if (!best.valid() || costs_.queue_ns(job, subtask, band) < costs_.queue_ns(job, subtask, best)) best = band;
  }
  return best;
}

void Placer::note_load(BandSlot slot, const BandLoad& load) {
  BandEntry& band = workers_[slot];
  band.load = load;
  if (std::exchange(band.yielded, load.yielded) < load.yielded) bands_.mark_dirty(slot);
  band.pressed = PlacementCosts::is_pressed(band);
  band.blocked = load.ready > 0 && load.running < band.slots && load.running < band.runnable;
  if (band.blocked && !band.offers) bands_.offer(slot, true);
}

bool Placer::may_run_on(const Job& job, std::uint32_t subtask, BandSlot slot) {
  const BandEntry& band = workers_[slot];
  if (!band.alive || band.draining) return false;
  if (!view_.may_use(job, slot)) return false;
  if (!eligibility_.may_run_on(job, job.graph.shape->template_index(subtask), slot)) return false;
  if (const ExternalInput* external = job.graph.shape->external_input_of(subtask);
      external != nullptr && !external_inputs_.may_read_external_on(*external, slot))
    return false;
  if ((job.hot[subtask].flags & SubtaskFlag::kTroubled) == 0) return true;
  return !eligibility_.was_tried(job, subtask, slot) && eligibility_.has_memory_for(job, subtask, slot);
}

BandSlot Placer::band_of_external_input(Job& job, const ExternalInput& input) {
  BandSlot best;
  for (const WorkerSlot holder : external_inputs_.holders_of(input.datum))
    for (const BandSlot band : workers_[holder].bands) {
      if (!may_run_on(job, input.subtask, band)) continue;
      if (!best.valid() || costs_.queue_ns(job, input.subtask, band) < costs_.queue_ns(job, input.subtask, best))
        best = band;
    }
  return best;
}

void Placer::leave_unschedulable(Job& job, std::uint32_t subtask) {
  if (job.place.unschedulable.empty()) indices_.with_unschedulable.insert(job.id);
  job.place.unschedulable.push_back(subtask);
  const bool may_end = !job.spec.wait_for_resources && !job.graph.shape->template_of(subtask).required.empty();
  if (may_end && job.place.bands_awaited_until == kNever)
    await_bands(job, later(event_.now, config_.required_band_wait));
}

void Placer::await_bands(Job& job, Instant until) {
  indices_.bands_awaited.erase(job.id, job.place.bands_awaited_until);
  job.place.bands_awaited_until = until;
  if (until != kNever) indices_.bands_awaited.insert(job.id, until);
}

std::vector<std::uint32_t> Placer::take_unschedulable(Job& job) {
  await_bands(job, kNever);
  if (!job.place.unschedulable.empty()) indices_.with_unschedulable.erase(job.id);
  return std::exchange(job.place.unschedulable, {});
}

void Placer::place_unschedulable(Job& job) {
  const Instant until = job.place.bands_awaited_until;
  const std::vector<std::uint32_t> unschedulable = take_unschedulable(job);
  for (const std::uint32_t subtask : unschedulable) {
    const SubtaskHot& hot = job.hot[subtask];
    if (hot.phase != SubtaskPhase::Placeable || hot.band.valid()) continue;
    become_placeable(job, subtask);
    if (hot.band.valid()) PENSTOCK_COVERAGE_MARK("an unschedulable subtask found a band");
  }
  // Workers that come and are no help do not prolong the wait for the one that would be.
  if (job.place.bands_awaited_until != kNever) await_bands(job, std::min(until, job.place.bands_awaited_until));
}

bool Placer::is_present(const BandSelector& required) const {
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (band.alive && workers_.selects(required, band)) return true;
  }
  return false;
}

void Placer::place_again(Job& job, BandSlot band) {
  LocalSet* local = job.place.locals.find(band);
  if (local == nullptr) return;
  std::vector<std::uint32_t> placed;
  for (const std::uint64_t key : local->all_keys()) {
    const std::uint32_t subtask = job.graph.shape->at_rank(static_cast<std::uint32_t>(key));
    if (job.hot[subtask].phase == SubtaskPhase::Placeable && job.hot[subtask].band == band) placed.push_back(subtask);
  }
  bands_.change_ready(band, -static_cast<std::int32_t>(local->ready_count()));
  local->clear();
  std::sort(placed.begin(), placed.end());
  placed.erase(std::unique(placed.begin(), placed.end()), placed.end());
  for (const std::uint32_t subtask : placed) become_placeable(job, subtask);
}

void Placer::place_in_pool(Job& job, bool all) {
  if (job.status.recovering) return;
  if (job.shares != nullptr) job.shares->pool.placed = job.shares->pool.position;
  leave_lost_bands(job, all);
  place_unschedulable(job);
}

void Placer::leave_lost_bands(Job& job, bool all) {
  if (job.status.recovering) return;
  for (std::uint32_t band = job.place.locals.first(); band < job.place.locals.end(); ++band)
    if (all || !workers_[BandSlot{band}].alive || !view_.may_use(job, BandSlot{band})) place_again(job, BandSlot{band});
}

}  // namespace penstock::supervisor
