// Reference cases of the cluster policy, run through the production policy.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {

/// The verdicts of all cases in a file, or in all `.json` files of a directory and below, in the order of their names.
/// A file that cannot be read, has no known format or no case gets a failed verdict, too. Error: NotFound, if there is
/// no file at all.
Result<std::vector<CaseVerdict>> check_policy_cases(const std::string& path);

}  // namespace penstock::tools
