#include "supervisor/policy/sharing/share_tree.hpp"

#include <algorithm>

namespace penstock::policy {
namespace {

using Amounts = std::vector<std::int64_t>;
constexpr std::size_t kNobody = ~std::size_t{0};

/// The groups and owners of one tree. Made once; each division looks at the groups as they are then.
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

  Amounts divide(std::int64_t capacity) {
    sum_up();
    Amounts given(groups_.size(), 0);
    Amounts of_node(nodes_.size(), 0);
    give(below_.back(), capacity, given, of_node);
    for (std::size_t node = 0; node < nodes_.size(); ++node)
      if (const Parts& parts = below_[node]; !parts.nodes.empty() || !parts.groups.empty())
        give(parts, of_node[node], given, of_node);
    return given;
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

  void give(const Parts& parts, std::int64_t slots, Amounts& given, Amounts& of_node) const {
    std::vector<ShareGroup> among;
    for (const std::uint32_t node : parts.nodes)
      among.push_back({.demand = sums_[node].demand, .pinned = sums_[node].pinned, .weight = nodes_[node].weight});
    for (const std::uint32_t group : parts.groups) {
      among.push_back(groups_[group]);
      among.back().smallest_pending = 0;
    }
    const Amounts amounts = parts.nodes.empty() ? among_jobs_(among, slots) : weighted_targets(among, slots);
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      if (i < parts.nodes.size())
        of_node[parts.nodes[i]] = amounts[i];
      else
        given[parts.groups[i - parts.nodes.size()]] = amounts[i];
    }
  }

  const std::vector<ShareGroup>& groups_;
  const std::vector<ShareNode>& nodes_;
  const DivideSlots& among_jobs_;
  std::vector<Parts> below_;  ///< By node; the last: at the top.
  std::vector<Sums> sums_;    ///< By node.
};

std::size_t youngest_blocked(const std::vector<ShareGroup>& groups, const Amounts& targets) {
  for (std::size_t i = groups.size(); i-- > 0;)
    if (is_blocked(groups[i], targets[i])) return i;
  return kNobody;
}

}  // namespace

std::vector<std::int64_t> tree_targets(const std::vector<ShareGroup>& groups, const std::vector<ShareNode>& nodes,
                                       std::int64_t capacity, const DivideSlots& among_jobs) {
  std::vector<ShareGroup> open = groups;
  Tree tree{open, nodes, among_jobs};
  for (;;) {
    Amounts targets = tree.divide(capacity);
    const std::size_t blocked = youngest_blocked(open, targets);
    if (blocked == kNobody) return targets;
    open[blocked].demand = open[blocked].pinned = open[blocked].held;
    open[blocked].smallest_pending = 0;
  }
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
