#include "supervisor/core/placement/placement_costs.hpp"

#include <algorithm>

namespace penstock::supervisor {
namespace {

constexpr std::size_t kInputsLookedAt = 64;
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

std::uint64_t PlacementCosts::estimate_ns(const Job& job, std::uint32_t subtask) const {
  const TemplateFacts& facts = job.graph.templates[job.graph.shape->template_index(subtask)];
  if (!job.graph.shape->graph().expected_ns.empty() && job.graph.shape->graph().expected_ns[subtask] > 0)
    return job.graph.shape->graph().expected_ns[subtask];
  if (facts.runs > 0) return std::max<std::uint64_t>(facts.mean_ns, 100);
  const Duration expected = job.graph.shape->template_of(subtask).expected_duration;
  if (expected > Duration{0}) return static_cast<std::uint64_t>(expected.count());
  return static_cast<std::uint64_t>(config_.lookahead.count()) / config_.lookahead_subtasks_initial;
}

BandSlot PlacementCosts::cheapest_of(const Job& job, std::uint32_t subtask,
                                     std::span<const BandSlot> candidates) const {
  const std::uint64_t draw = mix_bits(hash_of(SubtaskId{job.id, SubtaskIndex{subtask}}));
  const auto load = [this](BandSlot slot) { return workers_[slot].in_flight + workers_[slot].ready_here; };
  BandSlot best;
  std::int64_t best_cost = 0;
  for (const BandSlot band : candidates) {
    const std::int64_t cost = movement_ns(job, subtask, band) + queue_ns(job, subtask, band) + pressure_ns(band);
    const bool better = !best.valid() || cost < best_cost || (cost == best_cost && load(band) < load(best)) ||
                        (cost == best_cost && load(band) == load(best) &&
                         mix_bits(draw ^ band.value()) < mix_bits(draw ^ best.value()));
    if (better) best = band, best_cost = cost;
  }
  return best;
}

std::int64_t PlacementCosts::movement_ns(const Job& job, std::uint32_t subtask, BandSlot band) const {
  const WorkerSlot worker = workers_[band].worker;
  const auto predecessors = job.graph.shape->predecessors(subtask);
  std::int64_t cost = 0;
  for (std::uint32_t k = 0; k < std::min<std::size_t>(predecessors.size(), kInputsLookedAt); ++k) {
    const SubtaskHot& producer = job.hot[predecessors[k]];
    if (!producer.band.valid() || workers_[producer.band].worker == worker) continue;
    if (job.graph.shape->successors(predecessors[k]).size() >= config_.broadcast_readers_min) continue;
    const std::uint16_t output = job.graph.shape->edge_output(job.graph.shape->first_edge(subtask) + k);
    if (output == EdgeKind::kOrderOnly && producer.phase == SubtaskPhase::Succeeded) continue;
    if (job.data.is_copied_to(*job.graph.shape, predecessors[k], workers_[band].id.worker)) continue;
    const std::int64_t bytes =
        output == EdgeKind::kOrderOnly ? 0 : job.data.bytes(*job.graph.shape, predecessors[k], output);
    cost = std::min(cost + config_.link_latency.count() + transfer_ns(bytes, config_.link_bytes_per_second), kCostMax);
  }
  return cost;
}

std::int64_t PlacementCosts::queue_ns(const Job& job, std::uint32_t subtask, BandSlot slot) const {
  const BandEntry& band = workers_[slot];
  return waiting_ns(std::uint64_t{band.in_flight} + band.ready_here, estimate_ns(job, subtask), band.slots);
}

// Saturates: expected durations of a year, a thousand times over, do not fit.
std::int64_t PlacementCosts::waiting_ns(std::uint64_t queued, std::uint64_t each_ns, std::uint32_t slots) {
  std::uint64_t sum = 0;
  if (__builtin_mul_overflow(queued, each_ns, &sum)) return kCostMax;
  return static_cast<std::int64_t>(std::min(sum / slots, static_cast<std::uint64_t>(kCostMax)));
}

std::int64_t PlacementCosts::pressure_ns(BandSlot slot) const {
  const BandEntry& band = workers_[slot];
  return band.pressed ? (used_permille(band) - kPressedPermille) * 10'000'000 : 0;
}

std::int64_t PlacementCosts::used_permille(const BandEntry& band) {
  const std::int64_t capacity = band.description.capacity.memory.value();
  if (capacity < 1000) return 0;
  return std::min<std::int64_t>((band.load.quota_used + band.load.store_used).value() / (capacity / 1000), 10'000);
}

bool PlacementCosts::is_pressed(const BandEntry& band) { return used_permille(band) > kPressedPermille; }

}  // namespace penstock::supervisor
