// Filling groups like connected basins: each grows by its slope, from its low mark to its demand.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "supervisor/policy/sharing/fair_targets.hpp"
#include "supervisor/policy/wide.hpp"

namespace penstock::policy {

/// What a group grows by as the water rises: its weight times its demand, or its weight alone.
enum class Slope : std::uint8_t { Demand, Weight };

/// Fills all groups from their low marks to their demands so that each grows by its slope, until all is given out.
/// Groups can be frozen one after the other: what is sorted stays sorted. Cost: O(n log n) once, O(n) for each
/// division.
class WaterLevel {
 public:
  WaterLevel(const std::vector<ShareGroup>& groups, Slope slope);

  /// One division without regard to gangs, in whole slots: all down, then what is left by largest remainder, the older
  /// group first.
  const std::vector<std::int64_t>& divide(std::int64_t total);
  /// The same before it is rounded: numerators over `denominator()`.
  const std::vector<Wide>& divide_exactly(std::int64_t total);
  Wide denominator() const { return denominator_; }

  /// From now on the group keeps what it holds: pinned, with no wish for more.
  void freeze(std::size_t group);

  const std::vector<ShareGroup>& groups() const { return groups_; }

 private:
  /// A level of water at which one group's part begins or ends to grow.
  struct Breakpoint {
    std::int64_t numerator = 0;
    Wide denominator = 1;
    std::size_t group = 0;
    bool begins = false;
  };

  static bool before(const Breakpoint& a, const Breakpoint& b);
  Wide slope(std::size_t i) const {
    return slope_ == Slope::Weight ? Wide{groups_[i].weight} : Wide{groups_[i].weight} * groups_[i].demand;
  }
  std::int64_t low_mark(std::size_t i) const;
  bool grows(std::size_t i) const { return groups_[i].demand > low_mark(i); }
  bool divide_plainly(std::int64_t total);
  void give_to_oldest(std::int64_t left);
  void rise(std::int64_t total);
  void round_down(std::int64_t total);

  std::vector<ShareGroup> groups_;
  Slope slope_;
  std::vector<Breakpoint> points_;
  std::int64_t pinned_ = 0;
  std::int64_t lows_ = 0;
  std::int64_t demands_ = 0;
  std::size_t frozen_since_sweep_ = 0;
  // Of one division.
  std::vector<std::int64_t> given_;
  std::vector<Wide> exact_;
  Wide denominator_ = 1;
  std::vector<bool> growing_;
  std::vector<bool> full_;
  std::vector<std::pair<Wide, std::size_t>> remainders_;
  Wide fixed_ = 0;
  Wide slopes_ = 0;
};

}  // namespace penstock::policy
