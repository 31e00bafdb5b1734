// The order of a project's jobs, and of a job's members.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "supervisor/policy/trial.hpp"

namespace penstock::policy {

/// The state of a job relative to the minimum of its gangs.
enum class GangState : std::uint8_t { BelowMin, AtMin, AboveMin };

/// Below if any gang is; else above if any is.
GangState gang_state(std::span<const SetCount> gangs);

/// Members by workload, in the order in which they are placed, and the orders within a project. Made once for a pass.
class WorkloadOrder {
 public:
  explicit WorkloadOrder(const Trial& trial);

  /// Positions of a workload's members: higher order priority, older first.
  const std::vector<std::uint32_t>& members(std::uint32_t workload) const { return members_[workload]; }
  /// Constant time for each gang, unlike the one that asks about each member.
  GangState state(std::uint32_t workload) const { return gang_state(trial_.sets_of(workload)); }
  GangState state(std::uint32_t workload, const std::function<bool(std::uint32_t)>& counts) const;
  /// All gangs have their minimum.
  bool all_at_min(std::uint32_t workload) const { return state(workload) != GangState::BelowMin; }

  using Waits = std::function<bool(std::uint32_t)>;
  /// Higher priority, then jobs below their minimum, then age. Spec: policy-runai 5.
  bool before(std::uint32_t a, std::uint32_t b, GangState a_state, GangState b_state) const;
  /// The members to place now: whole gangs that lack their minimum, or one more member.
  std::vector<std::uint32_t> next_members(std::uint32_t workload, const Waits& waits) const;
  /// The members to take next: one above the minimum of its gang, or all that are left.
  std::vector<std::uint32_t> next_victims(std::uint32_t workload, const Waits& is_there) const;

  const Trial& trial() const { return trial_; }
  const OwnerTree& tree() const { return tree_; }

 private:
  std::vector<std::uint32_t> next_of_one_gang(std::uint32_t workload, const Waits& waits) const;
  std::vector<std::uint32_t> sets_in_order(std::uint32_t workload, const std::vector<std::int64_t>& active) const;

  /// The fields that orders look at first; workloads are large, and there are many.
  struct Key {
    std::int64_t priority = 0;
    std::int64_t submitted = 0;
  };

  const Trial& trial_;
  const OwnerTree tree_;
  std::vector<Key> keys_;  ///< By workload.
  std::vector<std::vector<std::uint32_t>> members_;
};

}  // namespace penstock::policy
