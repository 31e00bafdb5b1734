// Reference cases of quotas that run on a cluster, as users' work does.
// tidy: foreign-file nodes, pod
#pragma once

#include <string>

#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {

/// Whether each job of the case can be a job of a cluster: a slot stands for a device, a subtask for a pod, a project
/// for a queue. Left out are requests without devices, groups within a job, and settings that no configuration has.
bool runs_as_quota_jobs(const cli::DocumentValue& file, const cli::DocumentValue& subject);

/// REQUIRES: `runs_as_quota_jobs(file, subject)`.
CaseVerdict check_quota_jobs(const cli::DocumentValue& file, const cli::DocumentValue& subject, const std::string& id);

}  // namespace penstock::tools
