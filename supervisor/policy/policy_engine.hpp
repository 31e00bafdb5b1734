// The entry of the policy: how many slots each job may hold on each band, decided in one pass over a snapshot.
#pragma once

#include <vector>

#include "supervisor/policy/parts.hpp"
#include "supervisor/policy/plan.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// The cluster policy. Always true: the same snapshot gives the same plan, on every machine; a plan never exceeds a
/// band's capacity; a member is told to leave only if another job comes nearer to its entitlement by that. Has no state
/// but its configuration: all that must outlast a pass (carried reservations, positions, usage) is in the snapshot.
/// Cost: see `docs/scaling.md`.
class PolicyEngine {
 public:
  /// One set of parts for each pool, by position.
  explicit PolicyEngine(std::vector<Parts> pools) : pools_(std::move(pools)) {}

  Plan pass(const Snapshot& snapshot) const;

 private:
  std::vector<Parts> pools_;
};

/// Finds contradictions in a snapshot: positions out of range, circles of projects or accounts, numbers that are
/// negative or not finite. A pass over a snapshot that fails this is not defined.
Result<void> check_snapshot(const Snapshot& snapshot);

}  // namespace penstock::policy
