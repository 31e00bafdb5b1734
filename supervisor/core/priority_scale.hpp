// How users of a pool write the priorities of jobs.
#pragma once

#include <cstdint>

#include "common/base/result.hpp"
#include "common/protocol/policy_config.hpp"

namespace penstock::supervisor {

/// Translates between what users write and what all inside compares: any whole number, larger first. In pools with
/// `priorities = "1-99"` users write these, smaller first. Plain value. Spec: policy-determined 5.1, C8.
class PriorityScale {
 public:
  PriorityScale() = default;  ///< Both are the same.
  explicit PriorityScale(const PoolConfig& pool)
      : ranked_(pool.ranks_priorities()), otherwise_(static_cast<std::int32_t>(pool.default_priority)) {}

  /// Error: InvalidArgument, for what is not of the scale.
  Result<std::int32_t> inside(std::int32_t written) const;
  /// Of a new job, where 0 is said by nobody: the default of the pool stands for it.
  Result<std::int32_t> inside_of_new(std::int32_t written) const;
  std::int32_t written(std::int32_t inside) const { return ranked_ ? -inside : inside; }

 private:
  bool ranked_ = false;
  std::int32_t otherwise_ = 0;
};

}  // namespace penstock::supervisor
