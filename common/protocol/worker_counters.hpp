// The counters of a worker's core.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

/// Plain counts of events in a worker's incarnation, for operators (`penstock counters WORKER`).
struct WorkerCounters {
  static constexpr std::size_t kForwardResults = 6;

  std::uint64_t assigned = 0;
  std::uint64_t started = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t returned = 0;
  std::uint64_t stale = 0;  ///< Assignments and ends of attempts that are not live.
  std::uint64_t forward_hits = 0;
  std::uint64_t forward_misses[kForwardResults] = {};  ///< By `ForwardResult`.
  std::uint64_t fetches = 0;
  /// Ready attempts sent back to the prepare queue, so that another one gets what they held.
  std::uint64_t demoted = 0;
  std::uint64_t exclusive = 0;  ///< Grants of more memory than the band has, given alone.
  std::uint64_t relief_steps = 0;
  std::uint64_t grown = 0;       ///< Grants of memory that had to grow while their run went on.
  std::uint64_t spills = 0;      ///< Data ordered to disk.
  std::uint64_t room_waits = 0;  ///< Outputs that waited for room in the store.
  friend bool operator==(const WorkerCounters&, const WorkerCounters&) = default;
};

}  // namespace penstock
