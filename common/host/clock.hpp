// The source of the time that shells hand to cores.
#pragma once

#include <time.h>

#include <chrono>

#include "common/base/time.hpp"

namespace penstock {

/// The monotonic time of this host, which never jumps with the wall clock. Cost: about 20 ns.
inline Instant monotonic_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return instant_at(std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec});
}

/// The wall clock, for what is valid until a date. The clock jumps: never measure with it.
inline std::chrono::system_clock::time_point calendar_now() {
  return std::chrono::system_clock::now();  // tidy: allow call: the one place
}

/// The wall clock, in milliseconds since 1970. The clock jumps: use it only to show times to people, never to decide.
inline std::int64_t unix_now_ms() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace penstock
