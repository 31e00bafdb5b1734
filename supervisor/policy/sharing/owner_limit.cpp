#include "supervisor/policy/sharing/owner_limit.hpp"

#include <algorithm>

namespace penstock::policy {

OwnerLimits::OwnerLimits(const Snapshot& snapshot, const Plan& plan)
    : snapshot_(snapshot), shares_(snapshot.workloads.size(), 0), of_node_(snapshot.share_nodes.size(), 0) {
  for (const Target& each : plan.workload_targets) {
    const std::int64_t slots = each.amount.gpu / 1000;
    shares_[each.owner] += slots;
    for (std::uint32_t at = snapshot.workloads[each.owner].share_node; at != kNone;
         at = snapshot.share_nodes[at].parent)
      of_node_[at] += slots;
  }
}

std::optional<OwnerLimit> OwnerLimits::of(const Explanation& why) const {
  if (why.hold != Hold::AtFairShare) return std::nullopt;
  const std::int64_t more = why.have + snapshot_.members[why.member].slots - shares_[why.workload];
  const std::vector<ShareNode>& nodes = snapshot_.share_nodes;
  for (std::uint32_t at = snapshot_.workloads[why.workload].share_node; at != kNone; at = nodes[at].parent)
    if (nodes[at].slots_max != kUnlimited && of_node_[at] + more > nodes[at].slots_max)
      return OwnerLimit{at, of_node_[at] + more, nodes[at].slots_max};
  return std::nullopt;
}

bool OwnerLimits::is_at_slot_limit(const Explanation& why) const {
  if (why.hold != Hold::AtFairShare) return false;
  const std::int64_t more = why.have + snapshot_.members[why.member].slots - shares_[why.workload];
  return std::any_of(snapshot_.slot_limits.begin(), snapshot_.slot_limits.end(), [&](const SlotLimit& limit) {
    if (!std::binary_search(limit.workloads.begin(), limit.workloads.end(), why.workload)) return false;
    std::int64_t all = more;
    for (const std::uint32_t workload : limit.workloads) all += shares_[workload];
    return all > limit.slots;
  });
}

}  // namespace penstock::policy
