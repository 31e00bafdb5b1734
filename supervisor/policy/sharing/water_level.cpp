#include "supervisor/policy/sharing/water_level.hpp"

#include <algorithm>
#include <iterator>

namespace penstock::policy {

bool WaterLevel::before(const Breakpoint& a, const Breakpoint& b) {
  const Wide left = Wide{a.numerator} * b.denominator;
  const Wide right = Wide{b.numerator} * a.denominator;
  if (left != right) return left < right;
  if (a.group != b.group) return a.group < b.group;
  return a.begins && !b.begins;
}

WaterLevel::WaterLevel(const std::vector<ShareGroup>& groups, Slope slope_by) : groups_(groups), slope_(slope_by) {
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

const std::vector<std::int64_t>& WaterLevel::divide(std::int64_t total) {
  if (!divide_plainly(total)) {
    rise(total);
    round_down(total);
  }
  return given_;
}

const std::vector<Wide>& WaterLevel::divide_exactly(std::int64_t total) {
  denominator_ = 1;
  if (divide_plainly(total)) {
    exact_.assign(given_.begin(), given_.end());
    return exact_;
  }
  rise(total);
  if (slopes_ > 0) denominator_ = slopes_;
  exact_.resize(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i)
    exact_[i] =
        growing_[i] ? (Wide{total} - fixed_) * slope(i) : (full_[i] ? groups_[i].demand : low_mark(i)) * denominator_;
  return exact_;
}

/// Where nothing rises, in whole slots; whether that is so.
bool WaterLevel::divide_plainly(std::int64_t total) {
  given_.resize(groups_.size());
  if (pinned_ >= total || lows_ > total) {
    for (std::size_t i = 0; i < groups_.size(); ++i) given_[i] = groups_[i].pinned;
    if (pinned_ < total) give_to_oldest(total - pinned_);
    return true;
  }
  if (demands_ > total) return false;
  for (std::size_t i = 0; i < groups_.size(); ++i) given_[i] = groups_[i].demand;
  return true;
}

void WaterLevel::freeze(std::size_t group) {
  ShareGroup& frozen = groups_[group];
  pinned_ -= frozen.pinned;
  lows_ -= low_mark(group);
  demands_ -= frozen.demand;
  frozen.demand = frozen.pinned = frozen.held;
  frozen.smallest_pending = 0;
  pinned_ += frozen.held;
  lows_ += frozen.held;
  demands_ += frozen.held;
  // The points of frozen groups are passed over, and swept together when they are many.
  if (++frozen_since_sweep_ * 8 < points_.size()) return;
  std::erase_if(points_, [this](const Breakpoint& point) { return !grows(point.group); });
  frozen_since_sweep_ = 0;
}

std::int64_t WaterLevel::low_mark(std::size_t i) const {
  return std::max(groups_[i].pinned, std::min<std::int64_t>(1, groups_[i].demand));
}

/// Too many groups for one slot each: what is left goes to the oldest.
void WaterLevel::give_to_oldest(std::int64_t left) {
  for (std::size_t i = 0; i < groups_.size() && left > 0; ++i)
    if (low_mark(i) > groups_[i].pinned) {
      ++given_[i];
      --left;
    }
}

/// Finds which groups grow at the final level: those rest between their low mark and their demand.
void WaterLevel::rise(std::int64_t total) {
  growing_.assign(groups_.size(), false);
  full_.assign(groups_.size(), false);
  fixed_ = lows_;
  slopes_ = 0;
  for (const Breakpoint& point : points_) {
    if (!grows(point.group)) continue;
    // What is given out when the water stands at this point: fixed + slopes * point.
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

void WaterLevel::round_down(std::int64_t total) {
  remainders_.clear();
  const Wide level = Wide{total} - fixed_;
  std::int64_t left = total;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    given_[i] = full_[i] ? groups_[i].demand : low_mark(i);
    if (growing_[i]) {
      const Wide share = level * slope(i);
      given_[i] = static_cast<std::int64_t>(share / slopes_);
      // Who gets a whole number has what he is due; the remainders of the others add up to what is left.
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

}  // namespace penstock::policy
