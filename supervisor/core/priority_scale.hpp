// How users of a pool write the priorities of jobs.
#pragma once

#include <cstdint>

#include "common/base/result.hpp"
#include "common/protocol/policy_config.hpp"

namespace penstock::supervisor {

/// Translates between the priorities that users write and those that the core compares: any whole number, larger first.
/// In pools with `priorities = "1-99"` users write these, smaller first. Plain value. Spec: policy-determined 5.1, C8.
class PriorityScale {
 public:
  PriorityScale() = default;  ///< Both are the same.
  explicit PriorityScale(const PoolConfig& pool)
      : default_(ranks_priorities(pool) ? static_cast<std::uint8_t>(pool.default_priority) : 0) {}

  /// Error: InvalidArgument, for a number outside the scale.
  Result<std::int32_t> inside(std::int32_t written) const;
  /// Of a new job, where 0 means unset: the default of the pool stands for it.
  Result<std::int32_t> inside_of_new(std::int32_t written) const;
  std::int32_t written(std::int32_t inside) const;
  /// A priority of the scale before, on this scale: as far above or below the default, as far as this scale goes.
  /// Nothing changes between two scales of one kind.
  std::int32_t taken_over(std::int32_t inside, const PriorityScale& before) const;

  /// As it is written down; never 0.
  std::uint8_t code() const { return ranked() ? default_ : kAnyNumber; }
  /// Of code 0, which an older version has written, that which a job with such a priority must have had.
  static PriorityScale of_code(std::uint8_t code, std::int32_t inside, const PriorityScale& now);
  friend bool operator==(const PriorityScale&, const PriorityScale&) = default;

 private:
  static constexpr std::uint8_t kAnyNumber = 255;
  bool ranked() const { return default_ > 0; }

  std::uint8_t default_ = 0;  ///< Of 1 to 99, the default; 0: any whole number.
};

}  // namespace penstock::supervisor
