// The policy that a case of quotas is run with: as the head of its file has it, changed by the case's own settings.
#pragma once

#include "cli/command_policy_case.hpp"
#include "supervisor/policy/parts.hpp"

namespace penstock::cli {

/// What is not understood of `runner` or of `settings` fails the case.
policy::Parts read_quota_parts(const DocumentValue& runner, const DocumentValue& settings, CaseChecker& checker);

}  // namespace penstock::cli
