#include "supervisor/policy/ordering/queue_moves.hpp"

#include <algorithm>
#include <utility>

namespace penstock::policy {

Result<Anchors> find_anchors(const Snapshot& snapshot, const std::vector<std::uint32_t>& order, std::uint32_t moved,
                             std::pair<std::uint32_t, Side> to) {
  const auto [anchor, side] = to;
  const auto at = std::find(order.begin(), order.end(), anchor);
  if (at == order.end() || moved >= snapshot.workloads.size())
    return Error{ErrorCode::NotFound, {}, "there is no such waiting job in this pool", "see `penstock queue`"};
  Anchors anchors;
  anchors.priority = snapshot.workloads[anchor].priority;
  anchors.priority_changes = snapshot.workloads[moved].priority != anchors.priority;
  if (side == Side::AheadOf && at != order.begin()) {
    anchors.second = Anchors::Second::Neighbour;
    anchors.neighbour = *(at - 1);
  } else if (side == Side::BehindOf) {
    anchors.second = at + 1 == order.end() ? Anchors::Second::Tail : Anchors::Second::Neighbour;
    anchors.neighbour = at + 1 == order.end() ? kNone : *(at + 1);
  }
  return anchors;
}

Result<Move> plan_move(const Snapshot& snapshot, const std::vector<std::uint32_t>& order, std::uint32_t moved,
                       std::pair<std::uint32_t, Side> to) {
  const auto [anchor, side] = to;
  const Result<Anchors> anchors = find_anchors(snapshot, order, moved, to);
  if (!anchors) return anchors.error();
  Move move;
  move.priority = anchors->priority;
  if (moved == anchor || anchors->neighbour == moved) return move;
  const auto position = [&](std::uint32_t workload) {
    return snapshot.workloads[workload].position.value_or(snapshot.workloads[workload].submitted * kPositionScale);
  };
  const std::int64_t beside = position(anchor);
  const bool ahead = side == Side::AheadOf;
  // A neighbour of another priority is no bound: one unit beside the anchor is free.
  std::int64_t other = ahead ? beside - 2 * kPositionScale : beside + 2 * kPositionScale;
  if (anchors->neighbour != kNone && snapshot.workloads[anchors->neighbour].priority == anchors->priority)
    other = position(anchors->neighbour);
  move.position = beside + (other - beside) / 2;
  if (move.position == beside || move.position == other)
    return Error{ErrorCode::LimitExceeded,
                 {},
                 "there is no room left between the two jobs",
                 "move the job beside another one, or set its priority again to reset its position"};
  move.changed = true;
  return move;
}

}  // namespace penstock::policy
