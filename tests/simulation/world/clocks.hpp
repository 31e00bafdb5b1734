// The clocks of simulated processes: none has anything to do with another one, or with the world's.
#pragma once

#include "common/base/ids.hpp"
#include "common/base/rng.hpp"
#include "common/base/time.hpp"

namespace penstock::simulation {

/// How far the monotonic clock of a process is before that of the world: up to eleven days.
inline Duration clock_of(Incarnation process) {
  return std::chrono::milliseconds{static_cast<std::int64_t>(mix_bits(process.value()) % 1'000'000'000)};
}

}  // namespace penstock::simulation
