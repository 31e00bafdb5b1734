// Points in time for the cores. There is no `now()` here: time is an argument.
#pragma once

#include <chrono>
#include <cstdint>

namespace penstock {

using Duration = std::chrono::nanoseconds;

/// The monotonic time line of one process. A core cannot ask for the time, because there deliberately is no `now()`;
/// shells read the time from `common/host/clock.hpp`, and the simulator makes it up.
struct MonotonicClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = Duration;
  using time_point = std::chrono::time_point<MonotonicClock, Duration>;
  static constexpr bool is_steady = true;
};

/// A point on that line; only differences mean anything.
using Instant = MonotonicClock::time_point;

inline constexpr Instant kNever = Instant::max();

constexpr Instant instant_at(Duration since_start) { return Instant{since_start}; }

/// `at` delayed by `delay`, which may be negative; saturating at both ends of the line.
constexpr Instant later(Instant at, Duration delay) {
  Duration::rep sum = 0;
  if (__builtin_add_overflow(at.time_since_epoch().count(), delay.count(), &sum))
    return delay < Duration{0} ? Instant::min() : kNever;
  return Instant{Duration{sum}};
}

}  // namespace penstock
