// What is different between two configurations of the policy, in words.
#pragma once

#include <string>

#include "common/protocol/policy_config.hpp"

namespace penstock::supervisor {

/// `project 'a': weight 1 -> 3; pool 'gpu' is new`; empty: nothing is different. Entries go by name, wherever they
/// stand.
std::string differences(const PolicyConfig& before, const PolicyConfig& after);

}  // namespace penstock::supervisor
