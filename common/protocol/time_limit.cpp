#include "common/protocol/time_limit.hpp"

#include "common/base/quantity.hpp"

namespace penstock {

Result<void> check_time_limit(const std::string& subject, Duration limit) {
  if (limit >= kJobTimeLimitMin && limit <= kJobTimeLimitMax) return {};
  return Error{
      ErrorCode::InvalidArgument, subject,
      "is " + to_text(limit) + ", and may be from " + to_text(kJobTimeLimitMin) + " to " + to_text(kJobTimeLimitMax),
      "leave it out for a job without one"};
}

}  // namespace penstock
