// Waits for a condition while the actors of a loop have their turns.
#pragma once

#include <chrono>

#include "common/host/clock.hpp"
#include "common/loop/loop.hpp"

namespace penstock {

/// Turns the loop until the condition is true; false after a minute, which no sound test needs.
template <class Condition>
bool turn_until(Loop& loop, Condition done) {
  for (const Instant limit = monotonic_now() + std::chrono::minutes{1}; monotonic_now() < limit;) {
    loop.turn();
    if (done()) return true;
  }
  return false;
}

}  // namespace penstock
