// Reference cases of single rules that run on a cluster: moves in the queue, pools, gangs, returning workers, and the
// way of a run through a preemption.
#pragma once

#include <string>

#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {

/// False: the kind is none of these.
bool check_on_cluster(const cli::DocumentValue& file, const std::string& kind, CaseChecker& checker);

}  // namespace penstock::tools
