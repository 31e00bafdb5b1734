// Moving a waiting job ahead of or behind another.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/result.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

enum class Side : std::uint8_t { AheadOf, BehindOf };

/// The two workloads between which a moved one is put.
struct Anchors {
  enum class Second : std::uint8_t { Head, Tail, Neighbour };
  Second second = Second::Head;
  std::uint32_t neighbour = kNone;
  std::int64_t priority = 0;  ///< Of the anchor; the moved one takes it.
  bool priority_changes = false;
};

/// `order` is the pool's order of workloads. Error: NotFound. Spec: policy-determined 5.5.
Result<Anchors> find_anchors(const Snapshot& snapshot, const std::vector<std::uint32_t>& order, std::uint32_t moved,
                             std::pair<std::uint32_t, Side> to);

/// The changes of a move; nothing where `changed` is false.
struct Move {
  bool changed = false;
  std::int64_t priority = 0;
  std::int64_t position = 0;
};

/// Positions count in units of which a microsecond of submission time has `kPositionScale`: room to halve.
inline constexpr std::int64_t kPositionScale = 1000;

/// Places `moved` right beside the anchor. Error: NotFound; LimitExceeded if there is no room left between the two.
Result<Move> plan_move(const Snapshot& snapshot, const std::vector<std::uint32_t>& order, std::uint32_t moved,
                       std::pair<std::uint32_t, Side> to);

}  // namespace penstock::policy
