// The differences between two configurations of the policy, in words.
#pragma once

#include <string>

#include "common/protocol/policy_config.hpp"

namespace penstock::supervisor {

/// `project 'a': weight 1 -> 3; pool 'gpu' is new`; empty: nothing is different. Entries are matched by name, wherever
/// they are in the file.
std::string differences(const PolicyConfig& before, const PolicyConfig& after);

}  // namespace penstock::supervisor
