// How far a job is.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

/// The state of a job. DO NOT RENUMBER (wire, journal).
enum class JobState : std::uint8_t {
  Running = 0,
  Succeeded = 1,
  Failed = 2,
  Cancelled = 3,
};
std::string_view to_string(JobState state);

}  // namespace penstock
