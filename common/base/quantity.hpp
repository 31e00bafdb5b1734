// Durations and amounts of bytes as people write them in files and on the command line. Exact: no floating point.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/base/units.hpp"

namespace penstock {

/// `10s`, `1.5 h`, `250us`, `0`. Units: ns, us, ms, s, min (or m), h, d. Error: InvalidArgument for anything else, a
/// negative duration, or more than a century.
Result<Duration> parse_duration(std::string_view text);
/// `512MiB`, `1.5 GB`, `100` (bytes). Units: B; kB, MB, GB, TB, PB, EB; KiB, MiB, GiB, TiB, PiB, EiB. Error:
/// InvalidArgument for anything else, a negative amount, or more than 64 bits can count.
Result<Bytes> parse_bytes(std::string_view text);

/// Formats in the largest unit that is exact: `90s`, `20ms`, `2GiB`, `1000B`. The text reads back to the same value.
std::string to_text(Duration duration);
std::string to_text(Bytes bytes);

}  // namespace penstock
