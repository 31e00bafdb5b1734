#include "tools/policy/command_policy_site.hpp"

#include <algorithm>

#include "common/base/nearest_name.hpp"
#include "supervisor/core/priority_scale.hpp"
#include "tools/policy/replay/replay_site.hpp"

namespace penstock::tools {
namespace {

constexpr std::size_t kNamedMax = 8;

std::string in_words(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kNamedMax; ++i) text += (i == 0 ? "'" : ", '") + names[i] + "'";
  return names.size() > kNamedMax ? text + " and " + std::to_string(names.size() - kNamedMax) + " more" : text;
}

Result<std::uint32_t> find_wanted(const PolicyConfig& config, const std::string& pool) {
  std::vector<std::string> names;
  NearestName nearest{pool};
  for (const PoolConfig& each : config.pools) {
    names.push_back(each.name);
    nearest.offer(each.name);
  }
  if (names.empty())
    return Error{ErrorCode::InvalidArgument, "the configuration", "has no pool", "write a [[policy.pool]]"};
  if (pool.empty() && names.size() > 1)
    return Error{ErrorCode::InvalidArgument, "the configuration", "has several pools: " + in_words(names),
                 "name one with --pool"};
  const std::int64_t at = pool.empty() ? 0 : find_pool(config, pool);
  if (at < 0)
    return Error{ErrorCode::NotFound, "pool '" + pool + "'", "is not in the configuration",
                 nearest.best().empty() ? "it has " + in_words(names) : nearest.remedy()};
  return static_cast<std::uint32_t>(at);
}

/// Refuses unknown names: a misspelt name must not become a project without a guarantee.
Result<void> check_projects(const PolicyConfig& config, const std::vector<std::string>& projects) {
  std::vector<std::string> missing;
  for (const std::string& name : projects) {
    const std::int64_t at = find_project(config, name);
    if (at < 0) missing.push_back(name);
    if (at >= 0 && config.projects[static_cast<std::size_t>(at)].is_department)
      return Error{ErrorCode::InvalidArgument, "project '" + name + "' of the trace", "is a department",
                   "name one of its projects"};
  }
  if (missing.empty() || config.projects.empty()) return {};
  return Error{ErrorCode::NotFound,
               (missing.size() == 1 ? "project " : "projects ") + in_words(missing) + " of the trace",
               missing.size() == 1 ? "is not in the configuration" : "are not in the configuration",
               "write a [[policy.project]] for each, or none at all"};
}

}  // namespace

Result<SitePool> site_pool(const PolicyConfig& config, const std::string& pool,
                           const std::vector<std::string>& projects) {
  const Result<std::uint32_t> at = find_wanted(config, pool);
  if (!at) return at.error();
  PENSTOCK_TRY(check_projects(config, projects));
  return SitePool{config.pools[*at].name, policy::policy_of_pool(config, *at)};
}

Result<policy::ReplayTrace> with_priorities_of(const PolicyConfig& config, const std::string& pool,
                                               policy::ReplayTrace trace) {
  const Result<std::uint32_t> at = find_wanted(config, pool);
  if (!at) return at.error();
  if (!ranks_priorities(config.pools[*at]) || !trace.priorities_written) return trace;
  const supervisor::PriorityScale scale{config.pools[*at]};
  for (policy::ReplayJob& job : trace.jobs) {
    // Traces have wider numbers than jobs; a priority outside the scale stays outside.
    const std::int64_t written = std::clamp<std::int64_t>(job.priority, kPriorityFirst - 1, kPriorityLast + 1);
    const Result<std::int32_t> inside = scale.inside(static_cast<std::int32_t>(written));
    if (!inside)
      return Error{inside.error().code, "job '" + job.name + "' of the trace",
                   "has priority " + std::to_string(job.priority) + "; in pool '" + config.pools[*at].name +
                       "' jobs have 1 to 99, and smaller ones go first",
                   "change the trace, or replay with `priorities` of the pool left out"};
    job.priority = *inside;
  }
  return trace;
}

}  // namespace penstock::tools
