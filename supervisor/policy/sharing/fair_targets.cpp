#include "supervisor/policy/sharing/fair_targets.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "supervisor/policy/sharing/whole_targets.hpp"
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

/// The pace at which the part of a group grows: its weight, with its demand or without.
enum class Growth : std::uint8_t { ByDemand, ByWeightAlone };

/// Fills all groups from their low marks to their demands so that each grows by its slope, until all is given out.
/// Groups can be frozen one after the other: sorted lists stay sorted. Cost: O(n log n) once, O(n) for each division.
class WaterLevel {
 public:
  explicit WaterLevel(const std::vector<ShareGroup>& groups, Growth growth = Growth::ByDemand)
      : groups_(groups), growth_(growth) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const std::int64_t low = low_mark(i);
      pinned_ += groups_[i].pinned;
      lows_ += low;
      demands_ += groups_[i].demand;
      if (groups_[i].demand <= low) continue;
      points_.push_back({low, slope(i), i, true});
      points_.push_back({groups_[i].demand, slope(i), i, false});
    }
    std::sort(points_.begin(), points_.end(), before);
  }

  /// One division without regard to gangs.
  const Amounts& divide(std::int64_t total) {
    given_.resize(groups_.size());
    const bool too_few = pinned_ >= total || lows_ > total;
    if (too_few) {
      give_to_oldest(std::max<std::int64_t>(0, total - pinned_));
    } else if (demands_ <= total) {
      for (std::size_t i = 0; i < groups_.size(); ++i) given_[i] = groups_[i].demand;
    } else {
      rise(total);
      round_down(total);
    }
    if (!too_few) passed_ = kNobody;
    return given_;
  }

  /// From now on the group has that amount, with no wish for more.
  void settle(const SettledShare& share) {
    const std::size_t group = share.group;
    ShareGroup& frozen = groups_[group];
    if (passed_ != kNobody) {
      if (group < passed_ && low_mark(group) > frozen.pinned) --ones_;
      given_[group] = share.amount;
    }
    pinned_ -= frozen.pinned;
    lows_ -= low_mark(group);
    demands_ -= frozen.demand;
    frozen.settle(share.amount);
    pinned_ += share.amount;
    lows_ += share.amount;
    demands_ += share.amount;
    // The points of frozen groups are passed over, and swept together when they are many.
    if (++frozen_since_sweep_ * 8 < points_.size()) return;
    std::erase_if(points_, [this](const Breakpoint& point) { return !grows(point.group); });
    frozen_since_sweep_ = 0;
  }

  /// Whether a division gives out less than that, because no group wants more.
  bool is_free(std::int64_t total) const { return pinned_ < total && lows_ <= total && demands_ < total; }
  const std::vector<ShareGroup>& groups() const { return groups_; }

 private:
  Wide slope(std::size_t i) const {
    return Wide{groups_[i].weight} * (growth_ == Growth::ByDemand ? groups_[i].whole_demand() : 1);
  }
  std::int64_t low_mark(std::size_t i) const {
    return std::max(groups_[i].pinned, std::min<std::int64_t>(1, groups_[i].demand));
  }
  bool grows(std::size_t i) const { return groups_[i].demand > low_mark(i); }

  /// Too many groups for one slot each: the rest goes to the oldest. After the first time only changes are examined.
  /// Groups up to `passed_` have one where their low mark has it, `ones_` in all.
  void give_to_oldest(std::int64_t left) {
    const auto takes_one = [this](std::size_t i) { return low_mark(i) > groups_[i].pinned; };
    if (passed_ == kNobody) {
      for (std::size_t i = 0; i < groups_.size(); ++i) given_[i] = groups_[i].pinned;
      passed_ = 0;
      ones_ = 0;
    }
    for (; ones_ < left && passed_ < groups_.size(); ++passed_)
      if (takes_one(passed_)) ++given_[passed_], ++ones_;
    for (; ones_ > left; --passed_)
      if (takes_one(passed_ - 1)) --given_[passed_ - 1], --ones_;
  }

  /// Finds which groups grow at the final level: those rest between their low mark and their demand.
  void rise(std::int64_t total) {
    growing_.assign(groups_.size(), false);
    full_.assign(groups_.size(), false);
    fixed_ = lows_;
    slopes_ = 0;
    for (const Breakpoint& point : points_) {
      if (!grows(point.group)) continue;
      // The amount given out with the water level at this point is fixed + slopes * point.
      const Wide excess = Wide{total} - fixed_;
      if (slopes_ > 0 && slopes_ * point.numerator >= excess * point.denominator) return;
      growing_[point.group] = point.begins;
      if (point.begins) {
        fixed_ -= point.numerator;
        slopes_ += point.denominator;
      } else {
        full_[point.group] = true;
        fixed_ += groups_[point.group].demand;
        slopes_ -= point.denominator;
      }
    }
  }

  /// Whole slots: all down, then the rest by largest remainder, the older group first.
  void round_down(std::int64_t total) {
    remainders_.clear();
    const Wide level = Wide{total} - fixed_;
    std::int64_t left = total;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      given_[i] = full_[i] ? groups_[i].demand : low_mark(i);
      if (growing_[i]) {
        const Wide share = level * slope(i);
        given_[i] = static_cast<std::int64_t>(share / slopes_);
        // A group with a whole number has its full share; the remainders of the others add up to `left`.
        if (const Wide remainder = share - slopes_ * given_[i]; remainder > 0) remainders_.emplace_back(remainder, i);
      }
      left -= given_[i];
    }
    const auto count = std::min<std::ptrdiff_t>(left, std::ssize(remainders_));
    if (count <= 0) return;
    std::nth_element(
        remainders_.begin(), remainders_.begin() + (count - 1), remainders_.end(),
        [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
    for (std::ptrdiff_t i = 0; i < count; ++i) ++given_[remainders_[static_cast<std::size_t>(i)].second];
  }

  std::vector<ShareGroup> groups_;
  Growth growth_;
  std::vector<Breakpoint> points_;
  std::int64_t pinned_ = 0;
  std::int64_t lows_ = 0;
  std::int64_t demands_ = 0;
  std::size_t frozen_since_sweep_ = 0;
  std::size_t passed_ = kNobody;  ///< See `give_to_oldest`; `kNobody`: the last division was not of that kind.
  std::int64_t ones_ = 0;
  // Of one division.
  Amounts given_;
  std::vector<bool> growing_;
  std::vector<bool> full_;
  std::vector<std::pair<Wide, std::size_t>> remainders_;
  Wide fixed_ = 0;
  Wide slopes_ = 0;
};

/// One round of max-min filling over the groups below their demand; returns the amount given out.
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

/// The amounts that max-min filling has given out so far.
struct Offers {
  Amounts given;
  Amounts credit;
  std::int64_t left = 0;
};

Offers first_offers(const std::vector<ShareGroup>& groups, std::int64_t capacity) {
  Offers offers;
  for (const ShareGroup& group : groups) offers.given.push_back(group.pinned);
  offers.credit = offers.given;
  offers.left = std::max<std::int64_t>(0, capacity - sum_of(offers.given));
  return offers;
}

/// Fills in rounds until nothing is left, or no group wants it.
void fill(const std::vector<ShareGroup>& groups, Offers& offers) {
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return groups[a].whole_demand() < groups[b].whole_demand(); });
  for (;;) {
    const Amounts credit_before = offers.credit;
    const std::int64_t given = fill_round(groups, order, offers.given, offers.credit, offers.left);
    offers.left -= given;
    if (offers.left == 0 || (given == 0 && offers.credit == credit_before)) return;
  }
}

/// Max-min filling of groups, some of which are settled.
class MaxMinFilling {
 public:
  explicit MaxMinFilling(const std::vector<ShareGroup>& groups) : groups_(groups) {}

  const Amounts& divide(std::int64_t total) {
    offers_ = first_offers(groups_, total);
    fill(groups_, offers_);
    return offers_.given;
  }
  bool is_free(std::int64_t) const { return offers_.left > 0; }
  const std::vector<ShareGroup>& groups() const { return groups_; }
  void settle(const SettledShare& share) { groups_[share.group].settle(share.amount); }

 private:
  std::vector<ShareGroup> groups_;
  Offers offers_;
};

}  // namespace

std::vector<std::int64_t> fair_targets(const std::vector<ShareGroup>& groups, std::int64_t capacity) {
  WaterLevel water{groups};
  return whole_targets(water, capacity, {});
}

std::vector<std::int64_t> max_min_targets(const std::vector<ShareGroup>& groups, std::int64_t capacity) {
  MaxMinFilling filling{groups};
  return whole_targets(filling, capacity, {});
}

std::vector<std::int64_t> weighted_targets(const std::vector<ShareGroup>& groups, std::int64_t capacity) {
  return WaterLevel{groups, Growth::ByWeightAlone}.divide(capacity);
}

}  // namespace penstock::policy
