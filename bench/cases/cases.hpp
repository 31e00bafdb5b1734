// The measured operations: once for clocks (bench_micro), once for instruction counts (bench_count).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "bench/rigs/meter.hpp"

namespace penstock::bench {

/// One operation of one part. `run` repeats it about `count` times, with the meter running for the part's own work
/// only, and returns the exact number.
struct Case {
  std::string_view name;  ///< `part/operation`.
  std::uint64_t (*run)(std::uint64_t count, Meter& meter);
};

/// Grouped by part.
std::span<const Case> worker_cases();
std::span<const Case> flow_cases();
std::span<const Case> wire_cases();

/// Keeps the compiler from removing an unused result.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace penstock::bench
