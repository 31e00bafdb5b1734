// A lane of process runners: its run, and the children that it keeps.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "common/protocol/graph.hpp"
#include "worker/runner/process/child.hpp"

namespace penstock::worker {

inline constexpr std::uint64_t kNobody = ~std::uint64_t{0};

/// Whether one child may serve both.
bool same_kind(const Template& a, const Template& b);
/// The members of a template that `same_kind` compares: the rest may be large, and no runner needs it to start.
Template kind_of(const Template& program);

/// A child that a lane keeps between runs.
struct Kept {
  Template kind;  ///< As of `kind_of`.
  std::unique_ptr<Child> child;
  std::size_t guard_line = 0;
  std::string devices;     ///< As in `ProcessRun`.
  std::string mark;        ///< In its environment only, and unique.
  std::uint64_t used = 0;  ///< Number of the lane's last run that used it.
};

/// Invariant: `ticket`, `stopped`, `current` and the list `kept` change under the mutex; the children themselves belong
/// to the lane's thread, except for signals to `current`, which are sent under the mutex. While `starting`, a child is
/// being started outside the mutex, by the lane's thread or to warm it, and no other thread starts one. The mutex of
/// all lanes guards `to_warm`.
struct RunnerLane {
  std::mutex mutex;
  std::condition_variable started;
  bool starting = false;
  std::uint64_t ticket = kNobody;
  Attempt attempt;  ///< Of the run that has the ticket.
  bool stopped = false;
  Child* current = nullptr;
  std::vector<Kept> kept;
  std::uint64_t runs = 0;
  std::uint64_t emptied = 0;  ///< How often its idle children were ended.
  Instant idle_since{};  ///< The end of its last run, or the start of its last child.
  std::deque<std::shared_ptr<const Template>> to_warm;

  /// The children without a run. REQUIRES, as the other: the mutex is held.
  std::vector<Kept> take_idle();
  bool is_idle() const { return ticket == kNobody && !kept.empty() && !starting; }
};

/// The lanes, by their numbers, of those idle ones beyond `kept_max` that are idle since `before` or longer; the others
/// have been idle for a shorter time. `idle`: since when each is, none where it is not.
std::vector<std::size_t> spare_lanes(const std::vector<std::optional<Instant>>& idle, std::size_t kept_max,
                                     Instant before);

}  // namespace penstock::worker
