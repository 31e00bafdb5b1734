// What is written in a configuration and looked at by nobody.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/policy_config.hpp"

namespace penstock::supervisor {

/// Settings that differ from their defaults and that no part of the pools ever looks at: for each cause one text, which
/// names the settings, whose they are, and what would look at them. REQUIRES: `check_policy` and `parts_of` accept the
/// configuration.
std::vector<std::string> unused_settings(const PolicyConfig& config);

}  // namespace penstock::supervisor
