// Max-min fair shares by bisection, where what can be placed together is known by looking at every set of rooms: slow,
// and nothing in common with how policy does it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "supervisor/policy/sharing/class_targets.hpp"

namespace penstock::policy {

/// Who shares what.
struct SharedPool {
  std::vector<ShareGroup> groups;
  ClassedPool pool;
};

/// Whether such amounts, without what is pinned, have room: no set of rooms is asked for more than it has by those who
/// have no other.
inline bool has_room(const ClassedPool& pool, const std::vector<double>& amounts) {
  for (std::uint32_t set = 0; set < (1U << pool.rooms.size()); ++set) {
    double room = 1e-7;
    for (std::size_t i = 0; i < pool.rooms.size(); ++i)
      if ((set >> i & 1U) != 0) room += static_cast<double>(pool.rooms[i]);
    double asked = 0;
    for (std::size_t group = 0; group < amounts.size(); ++group) {
      double elsewhere = 0;
      for (const ClassDemand& each : pool.demands[group]) {
        const auto& of_class = pool.classes[each.kind];
        if (std::any_of(of_class.begin(), of_class.end(), [set](std::uint32_t at) { return (set >> at & 1U) == 0; }))
          elsewhere += static_cast<double>(each.slots);
      }
      asked += std::max(0.0, amounts[group] - elsewhere);
    }
    if (asked > room) return false;
  }
  return true;
}

/// All rise together; who cannot any more stays where he is.
class SlowShares {
 public:
  SlowShares(const SharedPool& of, Slope slope) : of_(of), slope_(slope), fixed_(of.groups.size(), -1) {
    if (!has_room(of.pool, at(0))) return;
    possible_ = true;
    while (std::any_of(fixed_.begin(), fixed_.end(), [](double each) { return each < 0; })) {
      double low = 0;
      double high = 100;
      for (int step = 0; step < 100; ++step) {
        const double level = (low + high) / 2;
        (has_room(of.pool, at(level)) ? low : high) = level;
      }
      fix_at(low);
    }
  }
  /// Whether all can have what is pinned and a slot.
  bool possible() const { return possible_; }
  double of(std::size_t group) const { return fixed_[group] + static_cast<double>(of_.groups[group].pinned); }

 private:
  std::vector<double> at(double level) const {
    std::vector<double> amounts;
    for (std::size_t i = 0; i < of_.groups.size(); ++i) {
      const ShareGroup& group = of_.groups[i];
      const auto pinned = static_cast<double>(group.pinned);
      const auto demand = static_cast<double>(group.demand);
      const double grown = level * static_cast<double>(group.weight) / 1000 * (slope_ == Slope::Demand ? demand : 1.0);
      const double low = std::max(pinned, std::min(1.0, demand));
      amounts.push_back(fixed_[i] >= 0 ? fixed_[i] : std::clamp(grown, low, std::max(low, demand)) - pinned);
    }
    return amounts;
  }
  void fix_at(double level) {
    const std::vector<double> amounts = at(level);
    std::vector<double> more = amounts;
    bool any = false;
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      if (fixed_[i] >= 0) continue;
      const auto wish = static_cast<double>(of_.groups[i].demand - of_.groups[i].pinned);
      more[i] = amounts[i] + 1e-4;
      if (more[i] > wish || !has_room(of_.pool, more)) any = true, fixed_[i] = amounts[i];
      more[i] = amounts[i];
    }
    if (!any)
      for (std::size_t i = 0; i < amounts.size(); ++i) fixed_[i] = amounts[i];
  }

  const SharedPool& of_;
  Slope slope_;
  std::vector<double> fixed_;
  bool possible_ = false;
};

}  // namespace penstock::policy
