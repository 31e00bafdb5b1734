// Shares rounded to slots that a group can use, where its members take several at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "supervisor/policy/sharing/fair_targets.hpp"

namespace penstock::policy {

/// A group that gets that amount and no more, before the others are divided again. `group` is `kNone` if there is none.
struct SettledShare {
  std::uint32_t group = kNone;
  std::int64_t amount = 0;
};

/// Whether a group could have so much without an owner of it passing a limit; `floors`: the least that each group
/// keeps.
using OwnersAllow =
    std::function<bool(std::uint32_t group, std::int64_t amount, const std::vector<std::int64_t>& floors)>;

/// The next group to settle, of those that cannot use all of their targets. A group of which all members take `unit`
/// slots is rounded up where at least half of a member is its share and all others keep what they need to run anything
/// of theirs, `ShareGroup::stays` included where all such groups can: the one that lacks the smallest part of a member
/// first, the older of equal ones. Where none is left for that the youngest group is rounded down to whole
/// members, or, if its members differ and the smallest that waits does not fit, to the slots that it holds.
/// Spec: policy-determined 3.3. Cost: O(n).
SettledShare next_to_settle(const std::vector<ShareGroup>& groups, const std::vector<std::int64_t>& targets,
                            std::int64_t capacity, const OwnersAllow& owners_allow);

/// Settles one group after the other until each can use its target. `Division` has `divide(capacity)`,
/// `settle(SettledShare)`, `groups()` and `is_free(capacity)`: whether a division leaves slots that no group wants.
template <class Division>
std::vector<std::int64_t> whole_targets(Division& division, std::int64_t capacity, const OwnersAllow& owners_allow) {
  for (std::size_t settled = 0;; ++settled) {
    const std::vector<std::int64_t>& targets = division.divide(capacity);
    if (settled == division.groups().size() || division.is_free(capacity)) return targets;
    const SettledShare next = next_to_settle(division.groups(), targets, capacity, owners_allow);
    if (next.group == kNone) return targets;
    division.settle(next);
  }
}

}  // namespace penstock::policy
