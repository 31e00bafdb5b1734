// Measures the time, or the instructions, of the measured code alone.
#pragma once

#include <valgrind/callgrind.h>

#include <algorithm>

#include "common/base/time.hpp"
#include "common/host/clock.hpp"

namespace penstock::bench {

/// Runs only between `resume` and `pause`. Under callgrind with `--collect-atstart=no` the same two calls switch the
/// counting of instructions, so that timed and counted figures are about the same code. Outside valgrind the switch is
/// a handful of no-ops.
class Meter {
 public:
  /// `Off`: measures time alone, for code beside the counted code.
  enum class Counting : std::uint8_t { Off, On };

  explicit Meter(Counting counting = Counting::On) : counting_(counting) {}

  void resume() {
    started_ = monotonic_now();
    if (counting_ == Counting::On) CALLGRIND_TOGGLE_COLLECT;
  }
  void pause() {
    if (counting_ == Counting::On) CALLGRIND_TOGGLE_COLLECT;
    elapsed_ += monotonic_now() - started_;
    ++stops_;
  }
  void reset() { *this = Meter{counting_}; }

  /// Without the cost of reading the clock itself.
  Duration elapsed() const { return elapsed_ - stops_ * cost_of_stop(); }
  std::int64_t stops() const { return stops_; }

 private:
  static Duration cost_of_stop() {
    // The quickest of many tries: other processes may take the processor meanwhile, and the cost must not be overrated.
    static const Duration cost = [] {
      Duration least = Duration::max();
      for (int round = 0; round < 100; ++round) {
        Meter meter{Counting::Off};
        for (int i = 0; i < 100; ++i) meter.resume(), meter.pause();
        least = std::min(least, meter.elapsed_ / 100);
      }
      return least;
    }();
    return cost;
  }

  Counting counting_;
  Instant started_{};
  Duration elapsed_{0};
  std::int64_t stops_ = 0;
};

}  // namespace penstock::bench
