// Where shells get the time that they hand to cores.
#pragma once

#include <time.h>

#include "common/base/time.hpp"

namespace penstock {

/// The monotonic time of this host. It never jumps with the wall clock. About 20 ns.
inline Instant monotonic_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return instant_at(std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec});
}

}  // namespace penstock
