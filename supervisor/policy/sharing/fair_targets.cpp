#include "supervisor/policy/sharing/fair_targets.hpp"

#include <algorithm>
#include <numeric>

#include "supervisor/policy/wide.hpp"

namespace penstock::policy {
namespace {

using Amounts = std::vector<std::int64_t>;
constexpr std::size_t kNobody = ~std::size_t{0};

std::int64_t sum_of(const Amounts& amounts) { return std::accumulate(amounts.begin(), amounts.end(), std::int64_t{0}); }

/// A level of water at which one group's part begins or ends to grow.
struct Breakpoint {
  std::int64_t numerator = 0;
  Wide denominator = 1;
  std::size_t group = 0;
  bool begins = false;
};

bool before(const Breakpoint& a, const Breakpoint& b) {
  const Wide left = Wide{a.numerator} * b.denominator;
  const Wide right = Wide{b.numerator} * a.denominator;
  if (left != right) return left < right;
  if (a.group != b.group) return a.group < b.group;
  return a.begins && !b.begins;
}

/// Fills all groups from `low` to `demand` so that each grows by its `slope`, until `total` is given out.
class WaterLevel {
 public:
  WaterLevel(const std::vector<ShareGroup>& groups, const Amounts& low) : groups_(groups), low_(low) {}

  Amounts fill(std::int64_t total) {
    Amounts given = low_;
    std::int64_t all = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) all += groups_[i].demand;
    if (all <= total) {
      for (std::size_t i = 0; i < groups_.size(); ++i) given[i] = groups_[i].demand;
      return given;
    }
    rise(total);
    round_down(given, total);
    return given;
  }

 private:
  Wide slope(std::size_t i) const { return Wide{groups_[i].weight} * groups_[i].demand; }

  /// Finds which groups grow at the final level: those rest between their low mark and their demand.
  void rise(std::int64_t total) {
    std::vector<Breakpoint> points;
    growing_.assign(groups_.size(), false);
    full_.assign(groups_.size(), false);
    fixed_ = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      fixed_ += low_[i];
      if (groups_[i].demand <= low_[i]) continue;
      points.push_back({low_[i], slope(i), i, true});
      points.push_back({groups_[i].demand, slope(i), i, false});
    }
    std::sort(points.begin(), points.end(), before);
    for (const Breakpoint& point : points) {
      // What is given out when the water stands at this point: fixed + slopes * point.
      const Wide excess = Wide{total} - fixed_;
      if (slopes_ > 0 && slopes_ * point.numerator >= excess * point.denominator) return;
      growing_[point.group] = point.begins;
      if (point.begins) {
        fixed_ -= low_[point.group];
        slopes_ += slope(point.group);
      } else {
        full_[point.group] = true;
        fixed_ += groups_[point.group].demand;
        slopes_ -= slope(point.group);
      }
    }
  }

  /// Whole slots: all down, then what is left by largest remainder, the older group first.
  void round_down(Amounts& given, std::int64_t total) const {
    std::vector<std::pair<Wide, std::size_t>> remainders;
    const Wide level = Wide{total} - fixed_;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (full_[i]) given[i] = groups_[i].demand;
      if (!growing_[i]) continue;
      const Wide share = level * slope(i);
      given[i] = static_cast<std::int64_t>(share / slopes_);
      remainders.emplace_back(share % slopes_, i);
    }
    std::stable_sort(remainders.begin(), remainders.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::int64_t left = total - sum_of(given);
    while (left > 0) {
      const std::int64_t before_round = left;
      for (const auto& [remainder, i] : remainders) {
        if (left == 0 || given[i] >= groups_[i].demand) continue;
        ++given[i];
        --left;
      }
      if (left == before_round) return;
    }
  }

  const std::vector<ShareGroup>& groups_;
  const Amounts& low_;
  std::vector<bool> growing_;
  std::vector<bool> full_;
  Wide fixed_ = 0;
  Wide slopes_ = 0;
};

/// One division without regard to gangs.
Amounts proportional(const std::vector<ShareGroup>& groups, std::int64_t capacity) {
  Amounts low;
  Amounts pinned;
  for (const ShareGroup& group : groups) {
    pinned.push_back(group.pinned);
    low.push_back(std::max(group.pinned, std::min<std::int64_t>(1, group.demand)));
  }
  if (sum_of(pinned) >= capacity) return pinned;
  if (sum_of(low) <= capacity) return WaterLevel{groups, low}.fill(capacity);
  // Too many groups for one slot each: what is left goes to the oldest.
  std::int64_t left = capacity - sum_of(pinned);
  for (std::size_t i = 0; i < groups.size() && left > 0; ++i)
    if (low[i] > pinned[i]) {
      ++pinned[i];
      --left;
    }
  return pinned;
}

/// The youngest group whose smallest waiting gang does not fit the spare part of its target.
std::size_t blocked_gang(const std::vector<ShareGroup>& groups, const Amounts& targets) {
  for (std::size_t i = groups.size(); i-- > 0;) {
    const std::int64_t spare = targets[i] - groups[i].held;
    if (spare > 0 && groups[i].smallest_pending > spare) return i;
  }
  return kNobody;
}

/// One round of max-min filling over the groups below their demand; what was given out.
std::int64_t fill_round(const std::vector<ShareGroup>& groups, const std::vector<std::size_t>& order, Amounts& offered,
                        Amounts& credit, std::int64_t capacity) {
  std::int64_t weights = 0;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (offered[i] < groups[i].demand) weights += groups[i].weight;
  std::int64_t left = capacity;
  for (const std::size_t i : order) {
    const std::int64_t need = groups[i].demand - offered[i];
    if (need <= 0) continue;
    const auto slice = static_cast<std::int64_t>(Wide{capacity} * groups[i].weight / weights);
    const std::int64_t share = std::max<std::int64_t>(1, slice);
    const std::int64_t paid = std::min(credit[i], share);
    credit[i] -= paid;
    const std::int64_t given = std::min({share - paid, left, need});
    offered[i] += given;
    left -= given;
    if (offered[i] == groups[i].demand) weights -= groups[i].weight;
  }
  return capacity - left;
}

}  // namespace

std::vector<std::int64_t> fair_targets(const std::vector<ShareGroup>& groups, std::int64_t capacity) {
  std::vector<ShareGroup> open = groups;
  // A frozen group keeps what it holds: pinned, with no wish for more.
  for (std::size_t round = 0;; ++round) {
    const Amounts targets = proportional(open, capacity);
    if (round == groups.size() || sum_of(targets) < capacity) return targets;
    const std::size_t blocked = blocked_gang(open, targets);
    if (blocked == kNobody) return targets;
    open[blocked].demand = open[blocked].pinned = open[blocked].held;
    open[blocked].smallest_pending = 0;
  }
}

std::vector<std::int64_t> max_min_targets(const std::vector<ShareGroup>& groups, std::int64_t capacity) {
  std::vector<ShareGroup> open = groups;
  for (std::size_t frozen = 0;; ++frozen) {
    Amounts offered;
    for (const ShareGroup& group : open) offered.push_back(group.pinned);
    Amounts credit = offered;
    std::int64_t left = std::max<std::int64_t>(0, capacity - sum_of(offered));
    std::vector<std::size_t> order(open.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return open[a].demand < open[b].demand; });
    for (;;) {
      const Amounts credit_before = credit;
      const std::int64_t given = fill_round(open, order, offered, credit, left);
      left -= given;
      if (left == 0 || (given == 0 && credit == credit_before)) break;
    }
    if (left > 0 || frozen == groups.size()) return offered;
    const std::size_t blocked = blocked_gang(open, offered);
    if (blocked == kNobody) return offered;
    open[blocked].demand = open[blocked].pinned = open[blocked].held;
    open[blocked].smallest_pending = 0;
  }
}

}  // namespace penstock::policy
