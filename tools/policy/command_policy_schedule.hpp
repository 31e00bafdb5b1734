// Reference cases of passes over a pool that run on a cluster, as users' work does.
// tidy: foreign-file task, agents
#pragma once

#include <string>

#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {

/// Whether a cluster shows what the case does: by priority, no task is larger than all agents together beside others.
/// Such a task holds others back in the system of the cases, and nothing in Penstock (`Parts::waits_for_absent_bands`).
bool runs_as_jobs(const cli::DocumentValue& file);

/// REQUIRES: `runs_as_jobs(file)`.
CaseVerdict check_schedule_case(const cli::DocumentValue& file, const std::string& id);

}  // namespace penstock::tools
