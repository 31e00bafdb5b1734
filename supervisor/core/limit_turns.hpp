// Which jobs of a user or an account may begin, and how many slots each may hold, where these are limited. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "supervisor/core/job_shares.hpp"

namespace penstock::supervisor {

/// Thousandths of slots, by `BandKind`.
using MilliByKind = std::array<std::uint64_t, kBandKinds>;

/// A job as limits see it.
struct TurnRequest {
  std::vector<std::uint32_t> limits;  ///< Positions of those that hold for it.
  bool exempt = false;                ///< From limits of slots.
  bool on_hold = false;               ///< By an operator.
  bool runs = false;                  ///< It has begun; it counts as running while it wants anything.
  MilliByKind held{};
  MilliByKind wanted{};
  MilliByKind step{1000, 1000};  ///< It takes slots by so many: a portion, or all of a gang. Above 0.
  bool gang = false;
};

/// What a job gets.
struct Turn {
  MilliByKind allowed{};
  LimitRule rule = LimitRule::None;        ///< That keeps it from all that it wants.
  std::uint32_t limit = 0;                 ///< Whose; position.
  std::int64_t most = 0;                   ///< What that says,
  std::uint64_t taken = 0;                 ///< and what others have of it: jobs, or thousandths of slots.
  std::size_t kept_for = ~std::size_t{0};  ///< Of the requests, the one for which some of it is kept; else none.
  std::uint64_t kept_milli = 0;            ///< How much, of what is taken.
};

/// What runs keeps what it holds, as far as limits of slots go; a gang keeps all of it. Then each, in the order given,
/// gets what is left of all that limits it: the first keeps its turn also while it waits for room, so that a large job
/// is not passed for ever by small ones of the same user. For the same reason what is left of slots is kept for who has
/// none yet and takes more at once, under each limit that has too few left, unless all of one of them would be too few.
/// Cost: O(jobs and their limits). Spec: policy-flux 8.
std::vector<Turn> take_turns(const std::vector<JobLimits>& limits, const std::vector<TurnRequest>& in_order);

}  // namespace penstock::supervisor
