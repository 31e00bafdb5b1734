// How many slots each workload should hold: fair share, in proportion to weight and demand or by max-min filling.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// One workload of a pool that is shared fairly.
struct ShareGroup {
  std::int64_t demand = 0;            ///< Slots that it holds and could use, within its cap; at least `pinned`.
  std::int64_t elsewhere = 0;         ///< Slots that it has in other pools: its share grows by these and its demand.
  std::int64_t pinned = 0;            ///< Slots that may not be taken from it.
  std::int64_t weight = 1000;         ///< In thousandths, above 0.
  std::int64_t held = 0;              ///< Slots that it has now.
  std::int64_t smallest_pending = 0;  ///< The smallest gang that waits; 0: none waits.
  std::int64_t unit = 1;              ///< The slots that each of its members takes; 1 also if they differ.
  std::int64_t core = 0;              ///< Slots without which it can use none, before any of `unit`.
  bool stays = false;                 ///< Runs, and keeps its room from groups that are rounded up.
  std::uint32_t node = kNone;         ///< Its owner, where slots are divided among owners first.
  friend bool operator==(const ShareGroup&, const ShareGroup&) = default;

  /// In all pools.
  std::int64_t whole_demand() const { return demand + elsewhere; }
  /// From now on the group has that amount, with no wish for more.
  void settle(std::int64_t amount) {
    demand = pinned = amount;
    smallest_pending = core = 0;
    unit = 1;
  }
};

/// Whether the smallest gang that waits does not fit the unused part of that target. Spec: policy-determined 3.3.
constexpr bool is_blocked(const ShareGroup& group, std::int64_t target) {
  const std::int64_t spare = target - group.held;
  return spare > 0 && group.smallest_pending > spare;
}

/// Targets in proportion to weight times demand, at least 1 each where there is enough. `groups` are ordered oldest
/// first. Gangs that could never fit the unused part of their target do not hold it against others.
/// Cost: O(n log n), and O(n) for each gang that is passed over. Spec: policy-determined 3.1, 3.3.
std::vector<std::int64_t> fair_targets(const std::vector<ShareGroup>& groups, std::int64_t capacity);

/// The same by weighted max-min filling: demand only caps. Spec: policy-determined 4, with the faults of 4.9 mended.
/// The whole is divided again after each gang that does not fit, as if that gang did not wait: the order in which
/// others were served before does not show.
std::vector<std::int64_t> max_min_targets(const std::vector<ShareGroup>& groups, std::int64_t capacity);

/// In proportion to the weights alone, at least 1 each where there is enough; demand only caps, and the rest is divided
/// again. The rest of rounding goes to the largest fractions, the older first. Gangs do not count. Cost: O(n log n).
std::vector<std::int64_t> weighted_targets(const std::vector<ShareGroup>& groups, std::int64_t capacity);

}  // namespace penstock::policy
