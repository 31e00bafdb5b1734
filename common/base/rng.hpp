// Reproducible randomness, passed in as an argument.
#pragma once

#include <cstdint>

#include "common/base/check.hpp"

namespace penstock {

/// SplitMix64 (Steele, Lea, Flood 2014; public domain): 64 bits of state, equal on every machine and compiler, which
/// the distributions of the standard library are not. Not for secrets.
class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }

  /// Uniform in [0, bound). REQUIRES: bound > 0. The bias of the multiply-shift is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64U);
  }

  /// Uniform in [low, high], both included. REQUIRES: low <= high.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }

  /// True in `numerator` of `denominator` cases.
  constexpr bool chance(std::uint64_t numerator, std::uint64_t denominator) { return below(denominator) < numerator; }

  /// An independent stream, so that drawing more in one place does not shift another.
  constexpr Rng fork() { return Rng{next()}; }

 private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t state_;
};

}  // namespace penstock
