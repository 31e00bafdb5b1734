// The pool of a site's own configuration for the replay of a trace.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/policy_config.hpp"
#include "tools/policy/replay/trace.hpp"

namespace penstock::tools {

/// The part of a configuration that a replay uses.
struct SitePool {
  std::string name;
  PolicyConfig policy;  ///< With this pool alone: see `policy_of_pool`.
};

/// `pool`: its name; empty if there is only one. `projects`: those of the trace, which the configuration must have,
/// unless it has none at all: then no job has a project. Errors: InvalidArgument, NotFound, which list the existing
/// names. REQUIRES: `load_config` accepts the configuration.
Result<SitePool> site_pool(const PolicyConfig& config, const std::string& pool,
                           const std::vector<std::string>& projects);

/// Converts the priorities of the trace to the scale of the policy: if jobs of `pool`, as for `site_pool`, have 1 to
/// 99, so do those of the trace. Priorities that were made from service classes stay. Errors: as `site_pool`;
/// InvalidArgument, which names a job with an invalid priority.
Result<policy::ReplayTrace> with_priorities_of(const PolicyConfig& config, const std::string& pool,
                                               policy::ReplayTrace trace);

}  // namespace penstock::tools
