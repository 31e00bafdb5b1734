// The limit of an owner that holds a job, where slots are shared fairly.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "supervisor/policy/plan.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// An owner of which the jobs would hold `need` of the `have` slots that they may hold together.
struct OwnerLimit {
  std::uint32_t node = kNone;  ///< In `Snapshot::share_nodes`.
  std::int64_t need = 0;
  std::int64_t have = 0;
  friend bool operator==(const OwnerLimit&, const OwnerLimit&) = default;
};

/// The shares of a plan beside the limits of owners. The snapshot outlives it. Cost: O((targets + questions) times
/// depth).
class OwnerLimits {
 public:
  /// `plan` is that of `snapshot`.
  OwnerLimits(const Snapshot& snapshot, const Plan& plan);

  /// The first owner above a job at its fair share that the next member of the job would bring beyond its limit, beside
  /// the shares of the owner's other jobs. None: another rule holds the job, or its share alone.
  std::optional<OwnerLimit> of(const Explanation& why) const;
  /// Whether the next member of a job at its fair share would bring a user or an account beyond a limit, beside the
  /// shares of the other jobs under it.
  bool is_at_slot_limit(const Explanation& why) const;

 private:
  const Snapshot& snapshot_;
  std::vector<std::int64_t> shares_;   ///< By workload,
  std::vector<std::int64_t> of_node_;  ///< and of all below a node.
};

}  // namespace penstock::policy
