#include "supervisor/policy/sharing/share_tree.hpp"

#include <algorithm>

#include "supervisor/policy/sharing/whole_targets.hpp"

namespace penstock::policy {
namespace {

using Amounts = std::vector<std::int64_t>;

/// The groups and owners of one tree, some of which are settled.
class Tree {
 public:
  Tree(const std::vector<ShareGroup>& groups, const std::vector<ShareNode>& nodes, const DivideSlots& among_jobs)
      : groups_(groups), nodes_(nodes), among_jobs_(among_jobs), below_(nodes.size() + 1), sums_(nodes.size()) {
    std::vector<bool> known(nodes.size(), false);
    for (std::uint32_t group = 0; group < groups.size(); ++group) {
      parts_of(groups[group].node).groups.push_back(group);
      for (std::uint32_t at = groups[group].node; at != kNone && !known[at]; at = nodes_[at].parent) {
        known[at] = true;
        parts_of(nodes_[at].parent).nodes.push_back(at);
      }
    }
  }

  const Amounts& divide(std::int64_t capacity) {
    sum_up();
    given_.assign(groups_.size(), 0);
    of_node_.assign(nodes_.size(), 0);
    give(below_.back(), capacity);
    for (std::size_t node = 0; node < nodes_.size(); ++node)
      if (const Parts& parts = below_[node]; !parts.nodes.empty() || !parts.groups.empty()) give(parts, of_node_[node]);
    return given_;
  }
  /// Slots that nobody may have leave a gang without its share as well.
  bool is_free(std::int64_t) const { return false; }
  const std::vector<ShareGroup>& groups() const { return groups_; }
  void settle(const SettledShare& share) { groups_[share.group].settle(share.amount); }
  /// Whether no owner passes its limit when the group has so much and the others at least `floors`, and none of these
  /// would lack their floor: what its owner has beyond its share is of that group alone.
  bool allows(std::uint32_t group, std::int64_t amount, const Amounts& floors) const {
    Amounts least(nodes_.size(), 0);
    Amounts pinned(nodes_.size(), 0);
    for (std::uint32_t each = 0; each < groups_.size(); ++each)
      for (std::uint32_t at = groups_[each].node; at != kNone; at = nodes_[at].parent) {
        least[at] += each == group ? amount : floors[each];
        pinned[at] += each == group ? amount : groups_[each].pinned;
      }
    for (std::uint32_t at = groups_[group].node; at != kNone; at = nodes_[at].parent) {
      if (nodes_[at].slots_max != kUnlimited && least[at] > nodes_[at].slots_max) return false;
      if (least[at] > std::max(of_node_[at], pinned[at])) return false;
    }
    return true;
  }

 private:
  struct Parts {
    std::vector<std::uint32_t> nodes;   ///< The one with the oldest group first.
    std::vector<std::uint32_t> groups;  ///< The groups that are in none of these.
  };
  struct Sums {
    std::int64_t demand = 0;
    std::int64_t pinned = 0;
  };

  Parts& parts_of(std::uint32_t node) { return node == kNone ? below_.back() : below_[node]; }

  void sum_up() {
    std::fill(sums_.begin(), sums_.end(), Sums{});
    for (const ShareGroup& group : groups_) {
      if (group.node == kNone) continue;
      sums_[group.node].demand += group.demand;
      sums_[group.node].pinned += group.pinned;
    }
    for (std::size_t node = nodes_.size(); node-- > 0;) {
      Sums& sums = sums_[node];
      if (nodes_[node].slots_max != kUnlimited) sums.demand = std::min(sums.demand, nodes_[node].slots_max);
      sums.demand = std::max(sums.demand, sums.pinned);
      if (nodes_[node].parent == kNone) continue;
      sums_[nodes_[node].parent].demand += sums.demand;
      sums_[nodes_[node].parent].pinned += sums.pinned;
    }
  }

  void give(const Parts& parts, std::int64_t slots) {
    std::vector<ShareGroup> among;
    for (const std::uint32_t node : parts.nodes)
      among.push_back({.demand = sums_[node].demand, .pinned = sums_[node].pinned, .weight = nodes_[node].weight});
    for (const std::uint32_t group : parts.groups) {
      among.push_back(groups_[group]);
      among.back().smallest_pending = 0;  // Gangs count in the division as a whole.
      among.back().unit = 1;
      among.back().core = 0;
    }
    const Amounts amounts = parts.nodes.empty() ? among_jobs_(among, slots) : weighted_targets(among, slots);
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      if (i < parts.nodes.size())
        of_node_[parts.nodes[i]] = amounts[i];
      else
        given_[parts.groups[i - parts.nodes.size()]] = amounts[i];
    }
  }

  std::vector<ShareGroup> groups_;
  const std::vector<ShareNode>& nodes_;
  const DivideSlots& among_jobs_;
  std::vector<Parts> below_;  ///< By node; the last: at the top.
  std::vector<Sums> sums_;    ///< By node.
  // Of one division.
  Amounts given_;
  Amounts of_node_;
};

}  // namespace

std::vector<std::int64_t> tree_targets(const std::vector<ShareGroup>& groups, const std::vector<ShareNode>& nodes,
                                       std::int64_t capacity, const DivideSlots& among_jobs) {
  Tree tree{groups, nodes, among_jobs};
  return whole_targets(tree, capacity, [&tree](std::uint32_t group, std::int64_t amount, const Amounts& floors) {
    return tree.allows(group, amount, floors);
  });
}

DivideSlots divide_by_owner(const std::vector<ShareGroup>& groups, const std::vector<ShareNode>& nodes,
                            Sharing sharing) {
  const DivideSlots among_jobs = sharing == Sharing::MaxMin ? max_min_targets : fair_targets;
  if (std::all_of(groups.begin(), groups.end(), [](const ShareGroup& each) { return each.node == kNone; }))
    return among_jobs;
  return [&nodes, among_jobs](const std::vector<ShareGroup>& among, std::int64_t capacity) {
    return tree_targets(among, nodes, capacity, among_jobs);
  };
}

}  // namespace penstock::policy
