// Admission by limits: the jobs of a user or an account that may begin, and the slots that each may hold. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "supervisor/core/job_shares.hpp"

namespace penstock::supervisor {

/// Thousandths of slots, by `BandKind`.
using MilliByKind = std::array<std::uint64_t, kBandKinds>;

/// A job as limits see it.
struct AdmissionRequest {
  std::vector<std::uint32_t> limits;  ///< Positions of those that hold for it.
  bool exempt = false;                ///< From limits of slots.
  bool nested = false;                ///< Part of a job that runs already: no job of its own for limits of jobs.
  bool on_hold = false;               ///< By an operator.
  bool runs = false;                  ///< The job has begun; counts as running while it wants anything.
  MilliByKind held{};
  MilliByKind wanted{};
  MilliByKind step{1000, 1000};  ///< The unit of its slots: an allocation unit, or all of a gang. Above 0.
  bool gang = false;
};

/// The admission of a job.
struct Admission {
  MilliByKind allowed{};
  LimitRule rule = LimitRule::None;        ///< The limit that it would exceed.
  std::uint32_t limit = 0;                 ///< Position of that limit.
  std::int64_t most = 0;                   ///< The value of that limit,
  std::uint64_t taken = 0;                 ///< and the part that others have: jobs, or thousandths of slots.
  std::size_t kept_for = ~std::size_t{0};  ///< Of the requests, the one for which some of it is kept; else none.
  std::uint64_t kept_milli = 0;            ///< The reserved part of `taken`.
};

/// Running jobs keep their slots, as far as limits of slots go; a gang keeps all of them. Then each job, in the order
/// given, gets the rest of all its limits: the first keeps its admission also while it waits for room, so that a large
/// job is not passed for ever by small ones of the same user. For the same reason the rest of a limit of slots is
/// reserved for a job that has none yet and takes more at once, under each limit with too few left, unless one of them
/// would be too small as a whole. A job that has not begun is cut to what limits of waiting slots leave it. Cost:
/// O(jobs and their limits). Spec: policy-flux 8.
std::vector<Admission> admit_by_limits(const std::vector<JobLimits>& limits,
                                       const std::vector<AdmissionRequest>& in_order);

}  // namespace penstock::supervisor
