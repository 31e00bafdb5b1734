// A picture of a job in the terminal: the use of each slot over time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/client.hpp"

namespace penstock::cli {

struct TimelineOptions {
  std::uint32_t columns = 80;   ///< Of the whole line; at least 40 are used.
  std::uint32_t rows_max = 24;  ///< Beyond it, slots are merged by band, then by worker; then the rest into one.
  bool unicode = true;          ///< False: with ASCII characters only.
  std::vector<std::pair<BandId, std::string>> band_names;  ///< Bands without a name are shown by their numbers.
};

/// A row for each slot, a time axis below, and how busy each row was. Each worker has a clock of its own; its rows
/// begin when its first attempt arrived. Every line ends with a line end. Empty if there are no traces.
std::string draw_timeline(const std::vector<SubtaskTrace>& traces, const TimelineOptions& options);

}  // namespace penstock::cli
