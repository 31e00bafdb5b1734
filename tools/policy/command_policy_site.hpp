// The pool of a site's own configuration, under which a trace is replayed.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/policy_config.hpp"
#include "supervisor/policy/replay/replay.hpp"

namespace penstock::tools {

/// What a replay takes of a configuration.
struct SitePool {
  std::string name;
  policy::Parts parts;
  policy::ReplayOwners owners;
  std::int64_t half_life_s = 0;
};

/// `pool`: its name; empty where there is one only. `projects`: those of the trace, which the configuration must have,
/// unless it has none at all: then nobody's jobs have one. The use of a project's jobs is charged to the account of the
/// same name, if there is one. Errors: InvalidArgument, NotFound, which name what is there. REQUIRES: `load_config`
/// accepts the configuration.
Result<SitePool> site_pool(const PolicyConfig& config, const std::string& pool,
                           const std::vector<std::string>& projects);

/// The trace with its priorities as all inside compares them: where jobs of `pool`, as for `site_pool`, have 1 to 99,
/// so do those of the trace. Priorities that were made of service classes stay. Errors: as `site_pool`;
/// InvalidArgument, which names a job whose priority is none of these.
Result<policy::ReplayTrace> with_priorities_of(const PolicyConfig& config, const std::string& pool,
                                               policy::ReplayTrace trace);

}  // namespace penstock::tools
