// The costs of running a subtask on a band.
#pragma once

#include <cstdint>
#include <span>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// Compares bands for a subtask by nanoseconds until it could end there (spec worker 10). Reads jobs and bands; keeps
/// nothing. Every cost saturates far below the largest number, so that sums of a few stay numbers.
/// Cost: linear in the predecessors that are looked at, of which there are 64 at most.
class PlacementCosts {
 public:
  PlacementCosts(const SupervisorConfig& config, const WorkerTable& workers) : config_(config), workers_(workers) {}
  PlacementCosts(const PlacementCosts&) = delete;
  PlacementCosts& operator=(const PlacementCosts&) = delete;

  /// The band of the lowest cost, then of the least load, then by a hash. REQUIRES: there are candidates.
  BandSlot cheapest_of(const Job& job, std::uint32_t subtask, std::span<const BandSlot> candidates) const;
  /// Time to bring the inputs that are not on the band's worker. A broadcast weighs nothing: it will be everywhere.
  std::int64_t movement_ns(const Job& job, std::uint32_t subtask, BandSlot band) const;
  /// Time for which the queued work of the band will keep it busy.
  std::int64_t queue_ns(const Job& job, std::uint32_t subtask, BandSlot band) const;
  /// A penalty of a band with nearly full memory: a second for each tenth above four fifths.
  std::int64_t pressure_ns(BandSlot band) const;
  /// The duration of the subtask: as it was given, or of runs of its template, or a guess.
  std::uint64_t estimate_ns(const Job& job, std::uint32_t subtask) const;
  /// Time until so many subtasks of `each_ns` have run on so many slots.
  static std::int64_t waiting_ns(std::uint64_t queued, std::uint64_t each_ns, std::uint32_t slots);
  /// Whether the band's memory is nearly full, by its last word.
  static bool is_pressed(const BandEntry& band);

 private:
  static std::int64_t used_permille(const BandEntry& band);

  const SupervisorConfig& config_;
  const WorkerTable& workers_;
};

}  // namespace penstock::supervisor
