// From a run that fails to a small one that fails, too.
#pragma once

#include <cstdint>
#include <string>

#include "tests/simulation/world/options.hpp"

namespace penstock::simulation {

/// A failing run and how much was tried to make it smaller.
struct SmallestFailure {
  WorldOptions options;
  WorldResult result;  ///< With its trace.
  std::uint32_t runs = 0;
};

/// Leaves out faults, workers, jobs and subtasks for as long as some seed near the first one still fails; greedy, so
/// the result is small but perhaps not the smallest. Any failure counts as the same: it usually is. REQUIRES: `failing`
/// fails.
SmallestFailure shrink(const WorldOptions& failing);

/// The last `count` lines of a trace in which something happened: a tick alone is nothing.
std::string last_lines(const std::string& trace, std::size_t count);

}  // namespace penstock::simulation
