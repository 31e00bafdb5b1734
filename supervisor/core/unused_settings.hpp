// Settings of a configuration that have no effect.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/policy_config.hpp"

namespace penstock::supervisor {

/// Settings that differ from their defaults and that no part of the pools ever reads: for each cause one text, which
/// names the settings, their owner, and the parts that would read them. REQUIRES: `check_policy` and `parts_of` accept
/// the configuration.
std::vector<std::string> unused_settings(const PolicyConfig& config);

}  // namespace penstock::supervisor
