// Jobs and bands in proportions that are estimated from the public list of 2023.
#pragma once

#include <cstdint>

#include "tools/policy/replay/trace.hpp"

namespace penstock::policy {

/// `jobs` and `bands` in the Alibaba format, without times. The parts of jobs without devices, with a part of one, with
/// one and with several are those of Weng et al., "Beware of Fragmentation", USENIX ATC 2023, table 1; their
/// processors, memory and parts, with their frequencies, are estimated by hand from a part of that list; the bands are
/// its 1,213 bands with devices, by model.
TraceText estimated_shapes(std::uint32_t jobs, std::uint32_t bands, std::uint64_t seed);

}  // namespace penstock::policy
