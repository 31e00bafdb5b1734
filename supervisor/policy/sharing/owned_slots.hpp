// The slots that owners hold together, beside their limits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// Slots that each owner of a share tree holds, those of its parts included, and those that count under each limit of a
/// user or an account. The snapshot must outlive it. Cost: O(depth + limits of the workload) for each call.
class OwnedSlots {
 public:
  explicit OwnedSlots(const Snapshot& snapshot)
      : snapshot_(snapshot), of_node_(snapshot.share_nodes.size(), 0), of_limit_(snapshot.slot_limits.size(), 0) {
    if (snapshot.slot_limits.empty()) return;
    limits_of_.resize(snapshot.workloads.size());
    for (std::uint32_t limit = 0; limit < snapshot.slot_limits.size(); ++limit)
      for (const std::uint32_t workload : snapshot.slot_limits[limit].workloads) limits_of_[workload].push_back(limit);
  }

  void add(std::uint32_t workload, std::int64_t slots) {
    for (std::uint32_t at = snapshot_.workloads[workload].share_node; at != kNone;
         at = snapshot_.share_nodes[at].parent)
      of_node_[at] += slots;
    for (const std::uint32_t limit : limits_of(workload)) of_limit_[limit] += slots;
  }
  /// Whether an owner of the workload, or a limit of its user or account, would have more than it may, with so many
  /// more.
  bool is_beyond(std::uint32_t workload, std::int64_t more) const {
    const std::vector<ShareNode>& nodes = snapshot_.share_nodes;
    for (std::uint32_t at = snapshot_.workloads[workload].share_node; at != kNone; at = nodes[at].parent)
      if (nodes[at].slots_max != kUnlimited && of_node_[at] + more > nodes[at].slots_max) return true;
    for (const std::uint32_t limit : limits_of(workload))
      if (of_limit_[limit] + more > snapshot_.slot_limits[limit].slots) return true;
    return false;
  }

 private:
  std::span<const std::uint32_t> limits_of(std::uint32_t workload) const {
    return limits_of_.empty() ? std::span<const std::uint32_t>{} : limits_of_[workload];
  }

  const Snapshot& snapshot_;
  std::vector<std::int64_t> of_node_;
  std::vector<std::int64_t> of_limit_;
  std::vector<std::vector<std::uint32_t>> limits_of_;  ///< By workload; empty: there are none.
};

}  // namespace penstock::policy
