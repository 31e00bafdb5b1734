// The start of a job that waits for room, estimated from its holders' ends. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/time.hpp"
#include "supervisor/core/driver/explain/room_view.hpp"

namespace penstock::supervisor {

/// A job that waits for room.
struct WaitingForRoom {
  std::uint64_t need = 0;              ///< Thousandths of slots, at once; above 0.
  bool whole_bands = false;            ///< As in `RoomView`.
  std::uint64_t piece = 0;             ///< The same.
  std::optional<Duration> runs_for{};  ///< From its start; none: unknown.
};

struct StartEstimate {
  std::optional<Duration> within;   ///< From now; none: unknown.
  std::vector<std::size_t> after;   ///< Holders, by position, that end before it starts: the basis.
  std::vector<std::size_t> unsure;  ///< Holders with an unknown end.
};

/// The estimate for the last of `waiting`, if they start in their order, each as soon as there is room for it, and none
/// passes another. `ends_in`: by holder of `room`, from now. A holder with an unknown end never ends: so an estimate
/// never rests on a guess. Cost: O(ends x places).
/// REQUIRES: `waiting` is not empty.
StartEstimate estimate_start(RoomView room, const std::vector<std::optional<Duration>>& ends_in,
                             const std::vector<WaitingForRoom>& waiting);

/// The rest of a job's time, from its ended subtasks: their number and their time together, the number of open
/// subtasks, and the number that run at once. None without a sound basis: few ended, or a small part of all, or nothing
/// runs.
struct Progress {
  std::uint64_t ended = 0;
  std::uint64_t run_us = 0;  ///< Of those that have ended, together.
  std::uint64_t left = 0;
  std::uint64_t at_once = 0;
};
std::optional<Duration> rest_of(const Progress& progress);

/// With fewer ended subtasks, or a smaller part of all, there is no estimate.
inline constexpr std::uint64_t kEndedLeast = 8;
inline constexpr std::uint64_t kEndedPart = 10;

}  // namespace penstock::supervisor
