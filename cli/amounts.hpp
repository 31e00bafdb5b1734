// Durations, bytes and counts as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/base/units.hpp"

namespace penstock::cli {

/// `10s`, `1.5 h`, `250us`. Units: ns, us, ms, s, min (or m), h, d. Error: InvalidArgument; no negative durations, none
/// over a century.
Result<Duration> parse_duration_text(std::string_view text);
/// `512MiB`, `1.5 GB`, `100` (bytes). Units: B; kB, MB, GB, TB, PB, EB; KiB to EiB. Error: InvalidArgument.
Result<Bytes> parse_bytes_text(std::string_view text);
/// Seconds as a duration. Error: InvalidArgument: negative, not finite, or over a century.
Result<Duration> duration_of_seconds(double seconds);

/// `0.42 us`, `12.3 ms`, `4.56 s`, `2 min 05 s`, `3 h 20 min`: three digits or so.
std::string show_duration(Duration duration);
/// `17 B`, `1.5 MiB`.
std::string show_bytes(std::int64_t bytes);
/// `1,234,567`.
std::string show_count(std::uint64_t count);
/// With `digits` digits after the point, whatever the locale.
std::string show_fixed(double value, int digits);

}  // namespace penstock::cli
