// SupervisorCore: where a subtask goes (spec worker 10).
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

constexpr std::size_t kCandidatesMax = 8;
constexpr std::size_t kPredecessorsLookedAt = 64;
/// Times `steal_after` that a band must have been idle before it gets subtasks that cannot run yet.
constexpr std::int64_t kHysteresis = 4;
/// Of a band's memory: beyond it the band is avoided.
constexpr std::int64_t kPressedPermille = 800;
/// No single cost is above this, so that sums of a few stay numbers.
constexpr std::int64_t kCostMax = INT64_MAX / 16;

std::int64_t transfer_ns(std::int64_t bytes, std::int64_t bytes_per_second) {
  if (bytes <= 0) return 0;
  // Whole seconds first: the product with a thousand million may not fit.
  const std::int64_t whole = bytes / bytes_per_second;
  if (whole > kCostMax / 2'000'000'000) return kCostMax / 2;
  const std::int64_t rest = bytes % bytes_per_second;
  const bool fits = rest <= INT64_MAX / 1'000'000'000;
  return whole * 1'000'000'000 +
         (fits ? rest * 1'000'000'000 / bytes_per_second : rest / (bytes_per_second / 1'000'000 + 1) * 1000);
}

}  // namespace

void SupervisorCore::become_placeable(Job& job, std::uint32_t subtask) {
  if (job.recovering) return;  // The subtask stays `Waiting` and is placed with all the others.
  SubtaskHot& hot = job.hot[subtask];
  const Instant unclaimed_until = readoption_.claims_open() > 0 ? later(event_.now, config_.reclaim_wait) : Instant{};
  if (const Instant until = overlap_ends(job, subtask, unclaimed_until); until > event_.now) {
    PENSTOCK_COVERAGE_MARK("a subtask waits until its lost worker has ended it");
    hot.band = BandSlot::none();
    machine_.transition(job, subtask, SubtaskPhase::Backoff);
    return timers_.add(RetryTimer{until, job.id, subtask, hot.attempt});
  }
  machine_.transition(job, subtask, SubtaskPhase::Placeable);
  const ExternalInput* external = job.shape->external_input_of(subtask);
  hot.band = choose_tentative_band(job, subtask);
  if (!hot.band.valid() && (hot.flags & SubtaskFlag::kTroubled) != 0) {
    // Every band that may have it was tried; then each may be tried again.
    std::vector<BandSlot>& tried = job.histories.edit()[SubtaskIndex{subtask}].tried;
    if (!tried.empty()) PENSTOCK_COVERAGE_MARK("every allowed band was tried");
    tried.clear();
    hot.band = choose_tentative_band(job, subtask);
  }
  if (!hot.band.valid()) {
    if (external != nullptr)
      await_external_input(job, *external);
    else
      leave_unschedulable(job, subtask);
    return;
  }
  if (hot.missing == 0) {
    keep_ready(job, hot.band, subtask);
  } else {
    LocalSet& local = job.local(hot.band);
    local.push_ahead(job.order_key(subtask));
    enter_waiting(job, hot.band, local);
  }
  bands_.mark_dirty(hot.band);
  // The subtask may be sent in this very event.
  if (job.shape->has_edges()) job.shape->prefetch_edges(subtask);
}

BandSlot SupervisorCore::choose_tentative_band(Job& job, std::uint32_t subtask) {
  if (const ExternalInput* external = job.shape->external_input_of(subtask); external != nullptr)
    return band_of_external_input(job, *external);
  const Template& wanted = job.shape->template_of(subtask);
  // A subtask that was asked back for an idle band goes there; the rules below would often return it to where it came
  // from.
  if (const BandSlot* asked = job.thieves->find(SubtaskIndex{subtask}); asked != nullptr) {
    const BandSlot thief = *asked;
    job.thieves.edit().erase(SubtaskIndex{subtask});
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

// The best of several that are meant: one that is in need of work, and others from a place that a hash names on.
BandSlot SupervisorCore::preferred_band(Job& job, std::uint32_t subtask, const BandSelector& preferred) {
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
  return count == 0 ? BandSlot::none() : cheapest_of(job, subtask, {candidates, count});
}

// One of the idle bands, drawn by a hash; none if the subtask is nothing for that band. A subtask that waits for
// producers gives the band no work now, and far from its producers it costs more later: it goes only to a band that
// holds nothing, or that stays idle for so long that the graph must be out of balance.
BandSlot SupervisorCore::idle_band_for(const Job& job, std::uint32_t subtask) const {
  if (search_.idle.empty()) return BandSlot::none();
  const std::uint64_t draw = mix_bits(hash_of(SubtaskId{job.id, SubtaskIndex{subtask}}));
  const BandSlot slot{search_.idle.next_around(static_cast<std::uint32_t>(draw % std::max(workers_.band_slots(), 1U)))};
  const BandEntry& band = workers_[slot];
  const bool wants = job.hot[subtask].missing == 0 || band.in_flight + band.ready_here == 0 ||
                     event_.now >= later(band.idle_since, config_.steal_after * kHysteresis);
  return wants ? slot : BandSlot::none();
}

BandSlot SupervisorCore::common_band_of_predecessors(const Job& job, std::uint32_t subtask) const {
  const auto predecessors = job.shape->predecessors(subtask);
  if (predecessors.empty() || predecessors.size() > kPredecessorsLookedAt) return BandSlot::none();
  const BandSlot first = job.hot[predecessors.front()].band;
  for (const std::uint32_t predecessor : predecessors)
    if (job.hot[predecessor].band != first) return BandSlot::none();
  return first;
}

// The lowest cost wins, then the least load, then a hash. REQUIRES: there are some.
BandSlot SupervisorCore::cheapest_of(const Job& job, std::uint32_t subtask,
                                     std::span<const BandSlot> candidates) const {
  const std::uint64_t draw = mix_bits(hash_of(SubtaskId{job.id, SubtaskIndex{subtask}}));
  const auto load = [this](BandSlot slot) { return workers_[slot].in_flight + workers_[slot].ready_here; };
  BandSlot best;
  std::int64_t best_cost = 0;
  for (const BandSlot band : candidates) {
    const std::int64_t cost =
        movement_cost_ns(job, subtask, band) + queue_cost_ns(job, subtask, band) + pressure_cost_ns(band);
    const bool better = !best.valid() || cost < best_cost || (cost == best_cost && load(band) < load(best)) ||
                        (cost == best_cost && load(band) == load(best) &&
                         mix_bits(draw ^ band.value()) < mix_bits(draw ^ best.value()));
    if (better) best = band, best_cost = cost;
  }
  return best;
}

// The bands of its predecessors and one that is in need of work.
BandSlot SupervisorCore::best_of_candidates(Job& job, std::uint32_t subtask) {
  BandSlot candidates[kCandidatesMax + 2];
  std::size_t count = 0;
  const auto consider = [&](BandSlot band) {
    if (std::find(candidates, candidates + count, band) != candidates + count) return true;
    if (!may_run_on(job, subtask, band)) return false;
    candidates[count++] = band;
    return true;
  };
  std::size_t looked_at = 0;
  for (const std::uint32_t predecessor : job.shape->predecessors(subtask)) {
    if (count == kCandidatesMax || looked_at++ == kPredecessorsLookedAt) break;
    const BandSlot band = job.hot[predecessor].band;
    if (!band.valid() || consider(band) || !workers_[band].alive) continue;
    // The data is on the worker, not on the band: a GPU beside it is as near.
    for (const BandSlot beside : workers_[workers_[band].worker].bands)
      if (count == kCandidatesMax || consider(beside)) break;
  }
  if (const BandSlot idle = idle_band_for(job, subtask); idle.valid()) consider(idle);
  return count == 0 ? any_band(job, subtask) : cheapest_of(job, subtask, {candidates, count});
}

// For a subtask that no predecessor's band suits: of two bands that a hash names, the one with the shorter queue (power
// of two choices, Mitzenmacher 2001), else any allowed band.
BandSlot SupervisorCore::any_band(Job& job, std::uint32_t subtask) {
  const std::uint32_t count = workers_.band_slots();
  if (count == 0) return BandSlot::none();
  BandSlot best;
  std::uint32_t found = 0;
  std::uint32_t at = static_cast<std::uint32_t>(hash_of(SubtaskId{job.id, SubtaskIndex{subtask}}) % count);
  for (std::uint32_t tries = 0; tries < count && found < 2; ++tries, at = at + 1 == count ? 0 : at + 1) {
    const BandSlot band{at};
    if (!may_run_on(job, subtask, band)) continue;
    ++found;
    if (!best.valid() || queue_cost_ns(job, subtask, band) < queue_cost_ns(job, subtask, best)) best = band;
  }
  return best;
}

// Time to bring the inputs that are not on the band's worker. A broadcast weighs nothing: it will be everywhere.
std::int64_t SupervisorCore::movement_cost_ns(const Job& job, std::uint32_t subtask, BandSlot band) const {
  const WorkerSlot worker = workers_[band].worker;
  const auto predecessors = job.shape->predecessors(subtask);
  std::int64_t cost = 0;
  for (std::uint32_t k = 0; k < std::min<std::size_t>(predecessors.size(), kPredecessorsLookedAt); ++k) {
    const SubtaskHot& producer = job.hot[predecessors[k]];
    if (!producer.band.valid() || workers_[producer.band].worker == worker) continue;
    if (job.shape->successors(predecessors[k]).size() >= config_.broadcast_readers_min) continue;
    const std::uint16_t output = job.shape->edge_output(job.shape->first_edge(subtask) + k);
    if (output == EdgeKind::kOrderOnly && producer.phase == SubtaskPhase::Succeeded) continue;
    if (job.data.is_copied_to(*job.shape, predecessors[k], workers_[band].id.worker)) continue;
    const std::int64_t bytes = output == EdgeKind::kOrderOnly ? 0 : job.data.bytes(*job.shape, predecessors[k], output);
    cost = std::min(cost + config_.link_latency.count() + transfer_ns(bytes, config_.link_bytes_per_second), kCostMax);
  }
  return cost;
}

// The time for which the queued work of the band will keep it busy.
std::int64_t SupervisorCore::queue_cost_ns(const Job& job, std::uint32_t subtask, BandSlot slot) const {
  const BandEntry& band = workers_[slot];
  return waiting_ns(std::uint64_t{band.in_flight} + band.ready_here, estimate_ns(job, subtask), band.slots);
}

// Saturates: expected durations of a year, a thousand times over, do not fit.
std::int64_t SupervisorCore::waiting_ns(std::uint64_t queued, std::uint64_t each_ns, std::uint32_t slots) {
  std::uint64_t sum = 0;
  if (__builtin_mul_overflow(queued, each_ns, &sum)) return kCostMax;
  return static_cast<std::int64_t>(std::min(sum / slots, static_cast<std::uint64_t>(kCostMax)));
}

// A band with nearly full memory is avoided: a second for each tenth above four fifths.
std::int64_t SupervisorCore::pressure_cost_ns(BandSlot slot) const {
  const BandEntry& band = workers_[slot];
  return band.pressed ? (used_permille(band) - kPressedPermille) * 10'000'000 : 0;
}

void SupervisorCore::note_load(BandSlot slot, const BandLoad& load) {
  BandEntry& band = workers_[slot];
  band.load = load;
  if (std::exchange(band.yielded, load.yielded) < load.yielded) bands_.mark_dirty(slot);
  band.pressed = used_permille(band) > kPressedPermille;
  band.blocked = load.ready > 0 && load.running < band.slots && load.running < band.runnable;
  if (band.blocked && !band.offers) bands_.offer(slot, true);
}

std::int64_t SupervisorCore::used_permille(const BandEntry& band) {
  const std::int64_t capacity = band.description.capacity.memory.value();
  if (capacity < 1000) return 0;
  return std::min<std::int64_t>((band.load.quota_used + band.load.store_used).value() / (capacity / 1000), 10'000);
}

bool SupervisorCore::may_run_on(const Job& job, std::uint32_t subtask, BandSlot slot) {
  const BandEntry& band = workers_[slot];
  if (!band.alive || band.draining) return false;
  if (!may_use(job, slot)) return false;
  const EligibleBands& eligible_now = eligible_bands(job, job.shape->template_index(subtask));
  const bool eligible = eligible_now.everywhere
                            ? band.kind == (wants_gpu(job.shape->template_of(subtask)) ? BandKind::Gpu : BandKind::Cpu)
                            : eligible_now.bands.contains(slot.value());
  if (!eligible) return false;
  if (const ExternalInput* external = job.shape->external_input_of(subtask);
      external != nullptr && !may_read_external_on(*external, slot))
    return false;
  if ((job.hot[subtask].flags & SubtaskFlag::kTroubled) == 0) return true;
  if (was_tried(job, subtask, slot)) return false;
  const bool larger = job.template_index_of(subtask) >= job.shape->graph().templates.size();
  return !larger || (knows_larger(band) && job.memory_of(subtask) <= memory_limit_of(band));
}

// A worker from before protocol 1.2, which brought barriers, keeps the first content that it has received for a
// template's number, also when a restarted supervisor means another one by it.
bool SupervisorCore::knows_larger(const BandEntry& band) const { return workers_[band.worker].description.barriers; }

// A subtask that exceeds the capacity runs alone.
Bytes SupervisorCore::memory_limit_of(const BandEntry& band) {
  return std::max(band.description.capacity.memory, band.description.memory_hard_limit);
}

bool SupervisorCore::is_eligible(const Template& wanted, const BandEntry& band) const {
  if (!wanted.required.empty()) {
    if (!workers_.selects(wanted.required, band)) return false;
  } else if ((band.description.kind == BandKind::Gpu) != wants_gpu(wanted)) {
    return false;
  }
  if (!fits_execution(wanted.request, band.description.capacity)) return false;
  if (wanted.request.memory > memory_limit_of(band)) return false;
  const Register& worker = workers_[band.worker].description;
  if (wanted.runner != RunnerKind::Native || worker.operators.empty()) return true;
  return std::find(worker.operators.begin(), worker.operators.end(), wanted.program) != worker.operators.end();
}

// Only changed bands are examined: a fleet that registers costs each template one look for each band.
const EligibleBands& SupervisorCore::eligible_bands(const Job& job, std::uint32_t template_index) {
  EligibleBands& eligible = job.graph->eligible[template_index];
  if (eligible.epoch == workers_.epoch()) return eligible;
  const Template& wanted = job.shape->graph().templates[template_index];
  if (workers_.remembers(eligible.epoch)) {
    for (const BandSlot band : workers_.changed_since(eligible.epoch)) note_eligibility(wanted, eligible, band);
  } else {
    eligible = EligibleBands{};
    for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) note_eligibility(wanted, eligible, BandSlot{i});
  }
  eligible.everywhere = wanted.required.empty() && eligible.misfits.empty();
  eligible.epoch = workers_.epoch();
  return eligible;
}

void SupervisorCore::note_eligibility(const Template& wanted, EligibleBands& eligible, BandSlot slot) const {
  const BandEntry& band = workers_[slot];
  const bool present = band.alive && !band.draining;
  const bool fits = present && is_eligible(wanted, band);
  const bool misfit = present && !fits && (band.kind == BandKind::Gpu) == wants_gpu(wanted);
  eligible.bands.set(slot.value(), fits);
  eligible.misfits.set(slot.value(), misfit);
}

bool SupervisorCore::was_tried(const Job& job, std::uint32_t subtask, BandSlot band) const {
  const SubtaskHistory* history = job.histories->find(SubtaskIndex{subtask});
  if (history == nullptr || history->tried_epoch != workers_.epoch()) return false;
  return std::find(history->tried.begin(), history->tried.end(), band) != history->tried.end();
}

}  // namespace penstock::supervisor
