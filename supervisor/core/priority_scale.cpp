#include "supervisor/core/priority_scale.hpp"

#include <string>

namespace penstock::supervisor {

Result<std::int32_t> PriorityScale::inside(std::int32_t written) const {
  if (!ranked_) return written;
  if (written < kPriorityFirst || written > kPriorityLast)
    return Error{ErrorCode::InvalidArgument, "priority " + std::to_string(written),
                 "is out of the range of its pool, where jobs have 1 to 99 and smaller ones go first",
                 "use a whole number from 1 to 99"};
  return -written;
}

Result<std::int32_t> PriorityScale::inside_of_new(std::int32_t written) const {
  return inside(ranked_ && written == 0 ? otherwise_ : written);
}

}  // namespace penstock::supervisor
