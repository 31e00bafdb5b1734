// The amounts that have to leave before a job is within the limits of its project and departments.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/trial.hpp"

namespace penstock::policy {

/// The amounts by which a waiting job would pass limits, less those that victims give up: a limit is tested for the
/// cluster that a search leaves behind, at each level of the tree. A value, which a search copies for each scenario.
/// Cost: O(depth of the project tree) for each question.
class LimitRelief {
 public:
  LimitRelief() = default;
  /// `amount`: that of the job's waiting members, rather too large than too small. The trial is as it is now.
  LimitRelief(const Trial& trial, std::uint32_t project, const Resources& amount);

  /// Whether no limit is passed any more.
  bool lifted() const { return levels_.empty(); }
  /// Whether an owner at a limit would hold less of what is too much.
  bool is_helped_by(std::uint32_t project, const Resources& amount) const;
  /// Counts an amount of a project as gone.
  void take(std::uint32_t project, const Resources& amount);

 private:
  struct Level {
    std::uint32_t owner = kNone;
    Resources excess;  ///< Not positive: within the limit.
  };

  bool is_below(std::uint32_t project, std::uint32_t owner) const;

  const std::vector<Owner>* owners_ = nullptr;
  std::vector<Level> levels_;  ///< Levels at which something is too much.
};

/// The largest amount that the waiting member may count for on any band.
Resources amount_at_most(const Trial& trial, std::uint32_t member);

}  // namespace penstock::policy
