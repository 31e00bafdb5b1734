#include "supervisor/core/priority_scale.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace penstock::supervisor {

Result<std::int32_t> PriorityScale::inside(std::int32_t written) const {
  if (!ranked()) return written;
  if (written < kPriorityFirst || written > kPriorityLast)
    return Error{ErrorCode::InvalidArgument, "priority " + std::to_string(written),
                 "is out of the range of its pool, where jobs have 1 to 99 and smaller ones go first",
                 "use a whole number from 1 to 99"};
  return -written;
}

Result<std::int32_t> PriorityScale::inside_of_new(std::int32_t written) const {
  return inside(ranked() && written == 0 ? std::int32_t{default_} : written);
}

std::int32_t PriorityScale::written(std::int32_t inside) const {
  if (!ranked()) return inside;
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(-std::int64_t{inside}, std::numeric_limits<std::int32_t>::max()));
}

std::int32_t PriorityScale::taken_over(std::int32_t inside, const PriorityScale& before) const {
  if (ranked() == before.ranked()) return inside;
  const std::int64_t moved = std::int64_t{inside} + before.default_ - default_;
  const std::int64_t least = ranked() ? -kPriorityLast : std::int64_t{std::numeric_limits<std::int32_t>::min()};
  const std::int64_t most = ranked() ? -kPriorityFirst : std::int64_t{std::numeric_limits<std::int32_t>::max()};
  return static_cast<std::int32_t>(std::clamp(moved, least, most));
}

PriorityScale PriorityScale::of_code(std::uint8_t code, std::int32_t inside, const PriorityScale& now) {
  PriorityScale scale;
  if (code == 0 && now.inside(now.written(inside))) scale = now;
  if (code >= kPriorityFirst && code <= kPriorityLast) scale.default_ = code;
  return scale;
}

}  // namespace penstock::supervisor
