// Durations, bytes and counts for people. The formats that read back are in common/base/quantity.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace penstock::cli {

/// Seconds as a duration. Error: InvalidArgument: negative, not finite, or over a century.
Result<Duration> duration_of_seconds(double seconds);

/// `0.42 us`, `12.3 ms`, `4.56 s`, `2 min 05 s`, `3 h 20 min`: three digits or so.
std::string show_duration(Duration duration);
/// `17 B`, `1.5 MiB`.
std::string show_bytes(std::int64_t bytes);
/// `1,234,567`.
std::string show_count(std::uint64_t count);
/// With `digits` digits after the point, independent of the locale.
std::string show_fixed(double value, int digits);
/// With at most `digits` significant digits where there is a point, no zeros at the end, never an exponent: `12.3457`,
/// `1234568`, `0.000002`.
std::string show_rounded(double value, int digits);

}  // namespace penstock::cli
