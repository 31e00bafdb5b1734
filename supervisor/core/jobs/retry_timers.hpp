// When subtasks that wait before a retry are tried again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/rng.hpp"
#include "common/base/time.hpp"

namespace penstock::supervisor {

/// The time at which a subtask leaves `Backoff`.
struct RetryTimer {
  Instant at;
  JobId job;
  std::uint32_t subtask;
  std::uint64_t attempt;  ///< The one that has failed; a timer for another one is void.
};

/// Timers by time; equal ones in order of job and subtask. Also draws the random part of a wait, so that subtasks which
/// failed together are not tried together. Cost: O(log n), but for `find`.
class RetryTimers {
 public:
  explicit RetryTimers(Rng rng) : rng_(rng) {}

  void add(const RetryTimer& timer);
  /// Removes and returns the first timer if it is due; call until none is.
  std::optional<RetryTimer> take_due(Instant now);
  /// `kNever` if there is none.
  Instant first() const { return timers_.empty() ? kNever : timers_.front().at; }
  /// For people: looks at all timers. Null if there is none.
  const RetryTimer* find(JobId job, std::uint32_t subtask, std::uint64_t attempt) const;
  Rng& rng() { return rng_; }

 private:
  Rng rng_;
  std::vector<RetryTimer> timers_;  ///< A heap, earliest first.
};

}  // namespace penstock::supervisor
