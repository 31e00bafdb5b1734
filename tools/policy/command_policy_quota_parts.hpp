// The policy of a case of quotas: that of its file's head, changed by the case's own settings.
#pragma once

#include "supervisor/policy/parts.hpp"
#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {

/// Unknown entries of `runner` or of `settings` fail the case.
policy::Parts read_quota_parts(const cli::DocumentValue& runner, const cli::DocumentValue& settings,
                               CaseChecker& checker);

}  // namespace penstock::tools
