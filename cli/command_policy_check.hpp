// Reference cases of the cluster policy, run through the production policy.
#pragma once

#include <string>
#include <vector>

#include "cli/command_policy_case.hpp"
#include "common/base/result.hpp"

namespace penstock::cli {

/// The verdicts of all cases in a file, or in all `.json` files of a directory and below, in the order of their names.
/// Error: NotFound, ParseError, Unsupported for a file of no known format.
Result<std::vector<CaseVerdict>> check_policy_cases(const std::string& path);

}  // namespace penstock::cli
