// The range of a job's own time limit.
#pragma once

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace penstock {

/// A shorter one would be over before news of the first run could come.
inline constexpr Duration kJobTimeLimitMin = std::chrono::milliseconds{1};
inline constexpr Duration kJobTimeLimitMax = std::chrono::hours{24 * 3650};

/// Whether a job may have that time limit, which somebody has given. `subject`: of the mistake. Error: InvalidArgument.
Result<void> check_time_limit(const std::string& subject, Duration limit);

}  // namespace penstock
