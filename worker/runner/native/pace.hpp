// How long the runs of one lane take while nobody else has its processor.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock::worker {

/// A run of no time during which the system gives the processor to others for some milliseconds would pass for a long
/// one; and a core that takes runs for long starts a lane for each slot, which is what makes them preempt each other.
class Pace {
 public:
  /// What to say of a run that has taken so long: less, if `was_preempted()`, which is asked only where it may matter.
  template <class Ask>
  std::int64_t told(std::int64_t ns, Ask was_preempted) {
    const std::int64_t usual = std::max(usual_ns_, kLeastNs);
    if (ns > usual * kUnusual && was_preempted()) ns = std::min(ns, usual * kGrowth);
    return usual_ns_ = ns;
  }

 private:
  static constexpr std::int64_t kLeastNs = 250;
  static constexpr std::int64_t kUnusual = 8;  ///< Times the last one: to ask takes as long as a very short run.
  static constexpr std::int64_t kGrowth = 4;   ///< So much longer it may be, else long runs would never be learned.

  std::int64_t usual_ns_ = 0;
};

}  // namespace penstock::worker
