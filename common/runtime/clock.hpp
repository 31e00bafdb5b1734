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

/// Time that the calling thread has spent on a core. It stands still while others have the core; a call into the kernel,
/// about 0.2 us.
inline Duration thread_cpu_time() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

}  // namespace penstock
