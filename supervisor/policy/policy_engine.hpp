// The door: who may hold how many slots where, decided in one pass over a snapshot.
#pragma once

#include <vector>

#include "supervisor/policy/parts.hpp"
#include "supervisor/policy/plan.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// The cluster policy. What is always true: the same snapshot gives the same plan, on every machine; a plan puts
/// nothing over a band's capacity; nobody is told to leave unless somebody else comes nearer to what he is entitled to.
/// Has no state but its configuration: what must outlast a pass (claims, positions, usage) stands in the snapshot.
/// Cost: see `docs/scaling.md`.
class PolicyEngine {
 public:
  /// One set of parts for each pool, by position.
  explicit PolicyEngine(std::vector<Parts> pools) : pools_(std::move(pools)) {}

  Plan pass(const Snapshot& snapshot) const;

 private:
  std::vector<Parts> pools_;
};

/// What a snapshot says that cannot be: positions out of range, circles of projects or accounts, numbers that are
/// negative or not finite. A pass over a snapshot that fails this is not defined.
Result<void> check_snapshot(const Snapshot& snapshot);

}  // namespace penstock::policy
