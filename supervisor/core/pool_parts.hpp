// The policy parts of each pool of a configuration.
#pragma once

#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/policy_config.hpp"
#include "supervisor/policy/parts.hpp"

namespace penstock::supervisor {

/// Two for each pool, the same: for its CPU bands and for its device bands. Error: that of `policy::choose_parts`; its
/// subject begins with the pool.
Result<std::vector<policy::Parts>> parts_of(const std::vector<PoolConfig>& pools);

/// The same with the settings that all pools have in common. REQUIRES: `parts_of` accepts the pools.
std::vector<policy::Parts> parts_in_force(const PolicyConfig& config);

}  // namespace penstock::supervisor
