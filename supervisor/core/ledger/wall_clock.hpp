// The wall clock of a supervisor's core.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/time.hpp"

namespace penstock::supervisor {

/// Converts the core's monotonic time to the wall clock and back, from one pair of both. Decisions never depend on the
/// wall clock: it shows operators, and the next term of the state, the ages of things.
class WallClock {
 public:
  WallClock() = default;
  WallClock(Instant start, std::int64_t unix_ms_at_start) : start_(start), unix_ms_at_start_(unix_ms_at_start) {}

  /// Milliseconds since 1970.
  std::int64_t unix_ms(Instant at) const { return unix_ms_at_start_ + (at - start_) / kMillisecond; }
  /// The inverse, at most a century back; 0, which older versions wrote, and every time in the future are the start.
  Instant instant_of(std::int64_t unix_ms) const {
    if (unix_ms == 0) return start_;
    constexpr std::int64_t kCentury = std::int64_t{36'500} * 24 * 3'600'000;
    return start_ - std::clamp<std::int64_t>(unix_ms_at_start_ - unix_ms, 0, kCentury) * kMillisecond;
  }

 private:
  static constexpr Duration kMillisecond = std::chrono::milliseconds{1};

  Instant start_{};
  std::int64_t unix_ms_at_start_ = 0;
};

}  // namespace penstock::supervisor
