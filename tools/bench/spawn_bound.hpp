// Measures how many programs this machine can start, without Penstock in between.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.hpp"

namespace penstock::tools {

/// Programs a second, started with `posix_spawn` and waited for by as many threads as there are slots: the upper bound
/// of every command runner here. Error: ProgramNotFound.
Result<double> spawn_bound_per_s(const std::string& program, std::uint32_t slots, std::uint32_t count);

}  // namespace penstock::tools
