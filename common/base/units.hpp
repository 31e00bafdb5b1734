// Amounts of resources: integers with a unit in the type and saturating sums.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace penstock {

/// A signed 64-bit amount of one unit. Sums and differences saturate at the ends of the range instead of wrapping:
/// an absurd request ("1E of memory" twice) must stay absurd and be refused, never collapse to a small number.
template <class Tag>
class Amount {
 public:
  constexpr Amount() = default;
  constexpr explicit Amount(std::int64_t value) : value_(value) {}

  static constexpr Amount max() { return Amount{std::numeric_limits<std::int64_t>::max()}; }
  constexpr std::int64_t value() const { return value_; }
  constexpr bool is_zero() const { return value_ == 0; }

  friend constexpr auto operator<=>(Amount, Amount) = default;

  friend constexpr Amount operator+(Amount a, Amount b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.value_, b.value_, &sum)) return saturated(a.value_ > 0);
    return Amount{sum};
  }
  friend constexpr Amount operator-(Amount a, Amount b) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a.value_, b.value_, &difference)) return saturated(a.value_ > 0);
    return Amount{difference};
  }
  friend constexpr Amount operator*(Amount a, std::int64_t factor) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a.value_, factor, &product)) return saturated((a.value_ > 0) == (factor > 0));
    return Amount{product};
  }
  constexpr Amount& operator+=(Amount other) { return *this = *this + other; }
  constexpr Amount& operator-=(Amount other) { return *this = *this - other; }

 private:
  static constexpr Amount saturated(bool positive) {
    return Amount{positive ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min()};
  }

  std::int64_t value_ = 0;
};

using Bytes = Amount<struct BytesTag>;
using MilliCpu = Amount<struct MilliCpuTag>;
using MilliGpu = Amount<struct MilliGpuTag>;
/// Thousandths of a slot: 500 is half a GPU, 2000 is two slots.
using MilliSlots = Amount<struct MilliSlotsTag>;

inline constexpr MilliSlots kOneSlot{1000};
inline constexpr Bytes kKiB{std::int64_t{1} << 10};
inline constexpr Bytes kMiB{std::int64_t{1} << 20};
inline constexpr Bytes kGiB{std::int64_t{1} << 30};

}  // namespace penstock
