// Durations counted by upper bounds: the data of a histogram.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/base/time.hpp"

namespace penstock {

/// Counts durations from 0.1 ms to 10 h. All have the same bounds, so that histograms of several processes can be
/// added. Cost: one increment, after at most ten comparisons.
class DurationCounts {
 public:
  /// In microseconds, inclusive; longer ones are counted behind the last bound.
  static constexpr std::array<std::uint64_t, 11> kBoundsUs{100,           1'000,         10'000,        100'000,
                                                           1'000'000,     10'000'000,    60'000'000,    300'000'000,
                                                           1'800'000'000, 7'200'000'000, 36'000'000'000};

  void add_us(std::uint64_t us) {
    std::size_t at = 0;
    while (at < kBoundsUs.size() && us > kBoundsUs[at]) ++at;
    ++counts_[at];
    sum_us_ += us;
  }
  /// A negative one counts as 0: clocks of two processes may differ.
  void add(Duration duration) {
    add_us(duration <= Duration{0} ? 0 : static_cast<std::uint64_t>(duration / std::chrono::microseconds{1}));
  }
  void add(const DurationCounts& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    sum_us_ += other.sum_us_;
  }

  /// Of the durations up to that bound and above the one before it; the last: of all above the last bound.
  std::uint64_t count_at(std::size_t bound) const { return counts_[bound]; }
  std::uint64_t sum_us() const { return sum_us_; }
  std::uint64_t count() const {
    std::uint64_t all = 0;
    for (const std::uint64_t each : counts_) all += each;
    return all;
  }
  friend bool operator==(const DurationCounts&, const DurationCounts&) = default;

 private:
  std::array<std::uint64_t, kBoundsUs.size() + 1> counts_{};
  std::uint64_t sum_us_ = 0;
};

}  // namespace penstock
