// Jobs and bands in the proportions of the public list of 2023, as far as these are published.
#pragma once

#include <cstdint>

#include "tools/policy/replay/trace.hpp"

namespace penstock::policy {

/// `jobs` and `bands` in the Alibaba format, without times. The parts of jobs without devices, with a part of one, with
/// one and with several are those of Weng et al., "Beware of Fragmentation", USENIX ATC 2023, table 1; their
/// processors, memory and parts are the frequent ones of that list, with rounded frequencies; the bands are its 1,213
/// bands with devices, by model.
TraceText published_shapes(std::uint32_t jobs, std::uint32_t bands, std::uint64_t seed);

}  // namespace penstock::policy
