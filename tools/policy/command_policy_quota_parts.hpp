// The policy that a case of quotas is run with: as the head of its file has it, changed by the case's own settings.
#pragma once

#include "supervisor/policy/parts.hpp"
#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {

/// What is not understood of `runner` or of `settings` fails the case.
policy::Parts read_quota_parts(const cli::DocumentValue& runner, const cli::DocumentValue& settings,
                               CaseChecker& checker);

}  // namespace penstock::tools
