// The slots that owners hold together, beside their limits.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// Slots that each owner of a share tree holds, those of its parts included. `nodes` must outlive it. Cost: O(depth).
class OwnedSlots {
 public:
  explicit OwnedSlots(const std::vector<ShareNode>& nodes) : nodes_(nodes), held_(nodes.size(), 0) {}

  void add(std::uint32_t node, std::int64_t slots) {
    for (std::uint32_t at = node; at != kNone; at = nodes_[at].parent) held_[at] += slots;
  }
  /// Whether an owner from there upwards would hold more than it may, with so many more.
  bool is_beyond(std::uint32_t node, std::int64_t more) const {
    for (std::uint32_t at = node; at != kNone; at = nodes_[at].parent)
      if (nodes_[at].slots_max != kUnlimited && held_[at] + more > nodes_[at].slots_max) return true;
    return false;
  }

 private:
  const std::vector<ShareNode>& nodes_;
  std::vector<std::int64_t> held_;  ///< By node.
};

}  // namespace penstock::policy
