// Exact products and fractions of 64-bit amounts.
#pragma once

#include <cstdint>

namespace penstock::policy {

__extension__ using Wide = __int128;

/// `numerator / denominator`, compared without rounding. REQUIRES: denominators above 0.
struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  friend constexpr bool operator<(const Fraction& a, const Fraction& b) {
    return Wide{a.numerator} * b.denominator < Wide{b.numerator} * a.denominator;
  }
  friend constexpr bool operator==(const Fraction& a, const Fraction& b) {
    return Wide{a.numerator} * b.denominator == Wide{b.numerator} * a.denominator;
  }
};

}  // namespace penstock::policy
