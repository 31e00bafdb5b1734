// Workers that were lost, in case that one reports its crash when it is up again.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// The attempts that a worker held when it was lost, and its drain order.
struct LostIncarnation {
  Incarnation incarnation;
  std::optional<bool> drain_order;
  std::vector<AssignedRef> held;
};

/// The latest incarnations that were lost, at most `supervisor.lost_lives_max`. Cost: linear in their number.
class LostIncarnations {
 public:
  explicit LostIncarnations(std::size_t count_max) : count_max_(count_max) {}

  /// Beyond the limit the one that was lost first is forgotten.
  void remember(LostIncarnation lost) {
    if (count_max_ == 0) return;
    if (latest_.size() >= count_max_) latest_.pop_front();
    latest_.push_back(std::move(lost));
  }
  std::optional<LostIncarnation> take(Incarnation incarnation) {
    const auto found = std::find_if(latest_.begin(), latest_.end(),
                                    [&](const LostIncarnation& known) { return known.incarnation == incarnation; });
    if (found == latest_.end()) return {};
    std::optional lost{std::move(*found)};
    latest_.erase(found);
    return lost;
  }

 private:
  std::size_t count_max_;
  std::deque<LostIncarnation> latest_;  ///< The first that was lost first.
};

}  // namespace penstock::supervisor
