#include "supervisor/policy/sharing/class_targets.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/check.hpp"

namespace penstock::policy {
namespace {

using Amounts = std::vector<std::int64_t>;
using Groups = std::vector<std::uint32_t>;

/// Groups that share so many slots, pinned ones included. The sets of bands of those before them are not large enough
/// for these, who get from there what these leave: nothing.
struct Division {
  Groups groups;
  std::int64_t total = 0;
  Groups before;
};

/// One division by classes, without regard to gangs.
class ClassDivision {
 public:
  ClassDivision(const std::vector<ShareGroup>& groups, const ClassedPool& pool, Slope slope)
      : groups_(groups), pool_(pool), slope_(slope), whole_(groups.size(), 0), rests_(groups.size(), 0) {
    Division all;
    all.groups.resize(groups.size());
    std::iota(all.groups.begin(), all.groups.end(), 0U);
    ShareFlow flow{pool};
    for (const std::uint32_t each : all.groups)
      all.total += groups[each].pinned + static_cast<std::int64_t>(flow.push(each, wish(each)));
    open_.push_back(std::move(all));
    while (!open_.empty()) {
      const Division next = std::move(open_.back());
      open_.pop_back();
      divide(next);
    }
    round();
  }

  const Amounts& targets() const { return whole_; }

 private:
  std::int64_t wish(std::uint32_t group) const { return groups_[group].demand - groups_[group].pinned; }

  /// As if all bands were open to all of them. What then cannot be placed shows who wants too much of some bands.
  void divide(const Division& division) {
    std::vector<ShareGroup> members;
    for (const std::uint32_t each : division.groups) members.push_back(groups_[each]);
    WaterLevel water{members, slope_};
    const std::vector<Wide>& shares = water.divide_exactly(division.total);
    const Wide scale = water.denominator();
    ShareFlow flow{pool_, scale};
    for (const std::uint32_t each : division.before) flow.push(each, wish(each) * scale);
    std::vector<Wide> placed;
    bool all_placed = true;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Wide wanted = shares[i] - members[i].pinned * scale;
      placed.push_back(flow.push(division.groups[i], wanted));
      all_placed = all_placed && placed.back() == wanted;
    }
    if (!all_placed) return split(division, flow, placed, scale);
    for (std::size_t i = 0; i < members.size(); ++i) {
      whole_[division.groups[i]] = static_cast<std::int64_t>(shares[i] / scale);
      // Of different denominators: as binary fractions they compare, and nothing overflows.
      rests_[division.groups[i]] = ((shares[i] % scale) << 48) / scale;
    }
  }

  /// Those that crowd, who share all that their bands have, and the rest.
  void split(const Division& division, const ShareFlow& flow, const std::vector<Wide>& placed, Wide scale) {
    Division crowd{{}, 0, division.before};
    Division rest{{}, division.total, division.before};
    Wide of_crowd = 0;
    for (std::size_t i = 0; i < division.groups.size(); ++i) {
      const std::uint32_t group = division.groups[i];
      if (!flow.stuck(group)) {
        rest.groups.push_back(group);
        continue;
      }
      of_crowd += placed[i];
      crowd.total += groups_[group].pinned;
      crowd.groups.push_back(group);
      rest.before.push_back(group);
    }
    PENSTOCK_CHECK(of_crowd % scale == 0 && !rest.groups.empty());
    crowd.total += static_cast<std::int64_t>(of_crowd / scale);
    rest.total -= crowd.total;
    open_.push_back(std::move(rest));
    open_.push_back(std::move(crowd));
  }

  /// Whole slots: all down, then one more each by largest remainder, where there is room, the older group first.
  void round() {
    ShareFlow flow{pool_};
    Groups order;
    for (std::uint32_t group = 0; group < groups_.size(); ++group) {
      flow.push(group, whole_[group] - groups_[group].pinned);
      if (rests_[group] > 0) order.push_back(group);
    }
    std::stable_sort(order.begin(), order.end(),
                     [this](std::uint32_t a, std::uint32_t b) { return rests_[a] > rests_[b]; });
    for (const std::uint32_t group : order) whole_[group] += static_cast<std::int64_t>(flow.push(group, 1));
  }

  const std::vector<ShareGroup>& groups_;
  const ClassedPool& pool_;
  Slope slope_;
  std::vector<Division> open_;
  Amounts whole_;
  std::vector<Wide> rests_;  ///< What rounding down takes.
};

/// From now on the group keeps what it holds, where it is.
void freeze(ShareGroup& group, ClassedPool& pool, std::size_t which) {
  group.demand = group.pinned = group.held;
  group.smallest_pending = 0;
  for (const ClassHolding& each : pool.holdings[which])
    pool.rooms[each.room] = std::max<std::int64_t>(0, pool.rooms[each.room] - each.slots);
  pool.demands[which].clear();
}

}  // namespace

bool can_be_placed(const std::vector<ShareGroup>& groups, const ClassedPool& pool, const Amounts& amounts) {
  ShareFlow flow{pool};
  for (std::uint32_t group = 0; group < groups.size(); ++group)
    if (const Wide wanted = amounts[group] - groups[group].pinned; flow.push(group, wanted) < wanted) return false;
  return true;
}

Amounts class_targets(std::vector<ShareGroup> groups, ClassedPool pool, Slope slope) {
  for (;;) {
    const Amounts targets = ClassDivision{groups, pool, slope}.targets();
    const std::size_t blocked = blocked_gang(groups, targets);
    if (blocked == kNobodyBlocked) return targets;
    freeze(groups[blocked], pool, blocked);
  }
}

}  // namespace penstock::policy
