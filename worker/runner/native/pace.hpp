// The duration of a lane's runs, without times in which other processes have its processor.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace penstock::worker {

/// A very short run that loses its processor for some milliseconds would pass for a long one; and for long runs the
/// core starts a lane for each slot, which makes lanes preempt each other.
class Pace {
 public:
  /// The duration to report for a run of `ns`: less, if `was_preempted()`, which is called only where it may matter.
  template <class Ask>
  std::int64_t told(std::int64_t ns, Ask was_preempted) {
    const std::int64_t usual = std::max(usual_ns_, kLeastNs);
    if (ns > usual * kUnusual && was_preempted()) ns = std::min(ns, usual * kGrowth);
    return usual_ns_ = ns;
  }

 private:
  static constexpr std::int64_t kLeastNs = 250;
  static constexpr std::int64_t kUnusual = 8;  ///< Times the last one: asking takes as long as a very short run.
  /// A run may be so much longer than the last, so that long runs are learned.
  static constexpr std::int64_t kGrowth = 4;

  std::int64_t usual_ns_ = 0;
};

/// Whether the calling thread has lost its processor to others since it asked last. Of that thread.
class Preemptions {
 public:
  bool any_since() {
    rusage usage{};
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return false;
    return std::exchange(known_, usage.ru_nivcsw) != usage.ru_nivcsw;
  }

 private:
  long known_ = 0;
};

}  // namespace penstock::worker
