#include "common/protocol/policy_config.hpp"

#include <algorithm>

#include "common/base/nearest_name.hpp"
#include "common/base/pattern.hpp"
#include "common/protocol/labels.hpp"

namespace penstock {
namespace {

Error mistake(const char* kind, const std::string& name, std::string message, std::string remedy = {}) {
  return {ErrorCode::InvalidArgument, std::string{kind} + " '" + name + "'", std::move(message), std::move(remedy)};
}

template <class Entry>
std::int64_t find(const std::vector<Entry>& entries, const std::string& name) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.name == name; });
  return found == entries.end() ? -1 : found - entries.begin();
}

template <class Entry>
std::string nearest_of(const std::vector<Entry>& entries, const std::string& name) {
  NearestName nearest{name};
  for (const Entry& entry : entries) nearest.offer(entry.name);
  return nearest.remedy();
}

template <class Entry>
Result<void> check_names(const char* kind, const std::vector<Entry>& entries) {
  if (entries.size() > kPolicyEntriesMax)
    return Error{ErrorCode::LimitExceeded, kind, "there are more than " + std::to_string(kPolicyEntriesMax), {}};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string& name = entries[i].name;
    if (name.empty() || name.size() > 255)
      return mistake(kind, name.substr(0, 32) + (name.empty() ? "" : "..."), "needs a name of 1 to 255 bytes");
    if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
      return mistake(kind, "number " + std::to_string(i + 1), "has a name with a control character");
    if (find(entries, name) != static_cast<std::int64_t>(i))
      return mistake(kind, name, "is there twice", "give each a name of its own");
  }
  return {};
}

/// Follows parents upwards; a path with more steps than there are entries is a circle.
template <class Entry>
Result<void> check_tree(const char* kind, const std::vector<Entry>& entries, std::string Entry::*parent) {
  for (const Entry& entry : entries) {
    std::size_t steps = 0;
    const Entry* at = &entry;
    while (!(at->*parent).empty()) {
      const std::int64_t above = find(entries, at->*parent);
      if (above < 0)
        return mistake(kind, at->name, "belongs to '" + at->*parent + "', which is not there",
                       nearest_of(entries, at->*parent));
      if (++steps > entries.size())
        return mistake(kind, entry.name, "is its own ancestor, by '" + entry.*parent + "'",
                       "have one of those in the circle stand at the top");
      at = &entries[static_cast<std::size_t>(above)];
    }
  }
  return {};
}

Result<void> check_amount(const char* kind, const std::string& name, const char* what, std::int64_t amount,
                          std::int64_t most = kPolicyAmountMax) {
  if (amount < 0) return mistake(kind, name, std::string{what} + " is negative");
  if (amount > most) return mistake(kind, name, std::string{what} + " is above " + std::to_string(most));
  return {};
}

const char* kind_of(const ProjectConfig& project) { return project.is_department ? "department" : "project"; }

/// One amount with its limit.
Result<void> check_within(const ProjectConfig& project, const char* what, std::int64_t guaranteed, std::int64_t limit,
                          std::int64_t most = kPolicyAmountMax) {
  PENSTOCK_TRY(check_amount(kind_of(project), project.name, what, guaranteed, most));
  if (limit == kUnbounded) return {};
  PENSTOCK_TRY(check_amount(kind_of(project), project.name, "its limit", limit, most));
  if (guaranteed > limit)
    return mistake(
        kind_of(project), project.name,
        std::string{what} + " is " + std::to_string(guaranteed) + ", above its limit of " + std::to_string(limit));
  return {};
}

Result<void> check_project(const PolicyConfig& config, const ProjectConfig& project) {
  const char* kind = kind_of(project);
  if (project.weight != kNoWeight) PENSTOCK_TRY(check_amount(kind, project.name, "its weight", project.weight));
  PENSTOCK_TRY(check_within(project, "guaranteed_slots", project.guaranteed_slots, project.slots_max));
  PENSTOCK_TRY(check_within(project, "guaranteed_gpu_slots", project.guaranteed_gpu_slots, project.gpu_slots_max));
  PENSTOCK_TRY(check_within(project, "guaranteed_memory", project.guaranteed_memory.value(), project.memory_max.value(),
                            kPolicyMemoryMax.value()));
  for (const std::optional<Duration>& least : {project.preempt_min_runtime, project.reclaim_min_runtime})
    if (least.has_value() && (*least < Duration::zero() || *least > kMinRuntimeMax))
      return mistake(kind, project.name, "has a minimum runtime that is not from 0 to 10 years",
                     "say for how long its jobs keep their slots at least");
  const std::string subject = std::string{kind} + " '" + project.name + "'";
  PENSTOCK_TRY(check_pool_names(subject, project.pools));
  for (const std::string& pool : project.pools)
    if (find_pool(config, pool) < 0)
      return mistake(kind, project.name, "belongs to pool '" + pool + "', which is not there",
                     nearest_of(config.pools, pool));
  PENSTOCK_TRY(check_one_scale(config, subject, project.pools));
  PENSTOCK_TRY(check_labels(subject, project.training_labels));
  return check_labels(subject, project.interactive_labels);
}

Result<void> check_departments(const PolicyConfig& config) {
  for (const ProjectConfig& part : config.projects)
    if (!part.department.empty() &&
        !config.projects[static_cast<std::size_t>(find_project(config, part.department))].is_department)
      return mistake("project", part.name, "belongs to '" + part.department + "', which is no department",
                     "write [[policy.department]] for it");
  return {};
}

/// The guarantee of a department bounds that of its parts together, so each part may get less than its own.
void warn_of_parts(const PolicyConfig& config, Guarantee of, const char* unit, std::vector<std::string>& warnings) {
  for (const ProjectConfig& department : config.projects) {
    if (!department.is_department) continue;
    std::int64_t sum = 0;
    for (const ProjectConfig& part : config.projects)
      if (part.department == department.name) sum += guaranteed(part, of);
    const std::int64_t all = guaranteed(department, of);
    if (sum > all)
      warnings.push_back("department '" + department.name + "' is guaranteed " + std::to_string(all) + unit +
                         ", its parts " + std::to_string(sum) + ": first come, first served among them");
  }
}

/// A part gets no more than the limit of its department, whatever its guarantee.
void warn_of_caps(const PolicyConfig& config, std::vector<std::string>& warnings) {
  for (const ProjectConfig& part : config.projects) {
    const std::int64_t above = part.department.empty() ? -1 : find_project(config, part.department);
    if (above < 0) continue;
    const ProjectConfig& department = config.projects[static_cast<std::size_t>(above)];
    const auto warn = [&](const char* what, std::int64_t guarantee, std::int64_t limit) {
      if (limit != kUnbounded && guarantee > limit)
        warnings.push_back("project '" + part.name + "' is guaranteed " + std::to_string(guarantee) + what +
                           ", and department '" + department.name + "' may have " + std::to_string(limit));
    };
    warn(" slots", part.guaranteed_slots, department.slots_max);
    warn(" GPU slots", part.guaranteed_gpu_slots, department.gpu_slots_max);
    warn(" bytes of memory", part.guaranteed_memory.value(), department.memory_max.value());
  }
}

/// A setting without effect is perhaps meant to be elsewhere.
void warn_of_no_effect(const PolicyConfig& config, std::vector<std::string>& warnings) {
  const bool any = !config.projects.empty() || !config.accounts.empty() || !config.qos.empty() ||
                   !config.queues.empty() || !config.users.empty();
  if (!is_in_force(config) && any)
    warnings.emplace_back("without a [[policy.pool]] nothing is limited, and nothing else of [policy] has an effect");
  if (config.grace > config.grace_max)
    warnings.push_back("grace is longer than grace_max, which bounds only what jobs ask for themselves");
  for (std::size_t i = 0; i < config.pools.size(); ++i)
    for (const std::string& worker : config.pools[i].workers)
      for (std::size_t before = 0; before < i; ++before)
        if (std::find(config.pools[before].workers.begin(), config.pools[before].workers.end(), worker) !=
            config.pools[before].workers.end())
          warnings.push_back("pool '" + config.pools[i].name + "' names worker '" + worker + "', which pool '" +
                             config.pools[before].name + "' takes");
}

Result<void> check_priorities(const PoolConfig& pool) {
  if (!pool.priorities.empty() && pool.priorities != "any" && !ranks_priorities(pool))
    return mistake("pool", pool.name, "its priorities are '" + pool.priorities + "'",
                   "use \"any\", larger first, or \"1-99\", smaller first");
  if (pool.default_priority < kPriorityFirst || pool.default_priority > kPriorityLast)
    return mistake("pool", pool.name, "its default_priority is " + std::to_string(pool.default_priority),
                   "it must be from 1 to 99");
  return {};
}

Result<void> check_pools(const PolicyConfig& config) {
  std::string rest;
  for (const PoolConfig& pool : config.pools) {
    if (pool.reserve_depth < 0 || pool.reserve_depth > kPolicyAmountMax)
      return mistake("pool", pool.name, "reserve_depth is " + std::to_string(pool.reserve_depth),
                     "it must not be negative");
    if (pool.time_limit <= Duration::zero())
      return mistake("pool", pool.name, "its time_limit is not above 0", "say how long its jobs run at most");
    PENSTOCK_TRY(check_priorities(pool));
    if (pool.overrun <= Duration::zero())
      return mistake("pool", pool.name, "its overrun is not above 0", "say how long jobs past their time go on");
    if (!pool.workers.empty()) continue;
    if (!rest.empty())
      return mistake("pool", pool.name, "takes all workers that no pool names, and so does '" + rest + "'",
                     "name the workers of one of them");
    rest = pool.name;
  }
  const auto light = [](const PoolConfig& pool) { return pool.light; };
  if (std::count_if(config.pools.begin(), config.pools.end(), light) > 1)
    return Error{ErrorCode::InvalidArgument, "the pools", "more than one is `light`", "leave it in one of them"};
  if (rest.empty() && is_in_force(config))
    return Error{ErrorCode::InvalidArgument, "the pools", "name workers but leave no pool for the others",
                 "leave `workers` out of one [[policy.pool]]"};
  return {};
}

}  // namespace

std::int64_t find_project(const PolicyConfig& config, const std::string& name) { return find(config.projects, name); }
std::int64_t find_account(const PolicyConfig& config, const std::string& name) { return find(config.accounts, name); }
std::int64_t find_pool(const PolicyConfig& config, const std::string& name) { return find(config.pools, name); }

std::int64_t pool_of_worker(const PolicyConfig& config, const std::string& worker) {
  std::int64_t rest = -1;
  for (std::size_t i = 0; i < config.pools.size(); ++i) {
    const std::vector<std::string>& patterns = config.pools[i].workers;
    if (patterns.empty() && rest < 0) rest = static_cast<std::int64_t>(i);
    const bool named = std::any_of(patterns.begin(), patterns.end(),
                                   [&](const std::string& pattern) { return matches(pattern, worker); });
    if (named) return static_cast<std::int64_t>(i);
  }
  return rest;
}

Result<void> check_one_scale(const PolicyConfig& config, const std::string& subject,
                             const std::vector<std::string>& pools) {
  const PoolConfig* first = nullptr;
  for (const std::string& name : pools) {
    const std::int64_t at = find_pool(config, name);
    if (at < 0) continue;
    const PoolConfig& pool = config.pools[static_cast<std::size_t>(at)];
    if (first == nullptr) first = &pool;
    if (ranks_priorities(pool) != ranks_priorities(*first))
      return Error{
          ErrorCode::InvalidArgument, subject,
          "lists pools '" + first->name + "' and '" + pool.name + "', where priorities are written differently",
          "list pools with the same `priorities`"};
  }
  return {};
}

Result<void> check_pool_names(const std::string& subject, const std::vector<std::string>& pools) {
  if (pools.size() > kPoolsListedMax)
    return Error{
        ErrorCode::LimitExceeded, subject, "lists more than " + std::to_string(kPoolsListedMax) + " pools", {}};
  for (auto pool = pools.begin(); pool != pools.end(); ++pool)
    if (std::find(pools.begin(), pool, *pool) != pool)
      return Error{ErrorCode::InvalidArgument, subject, "lists pool '" + *pool + "' twice", "name each pool once"};
  return {};
}

Result<void> check_policy(const PolicyConfig& config) {
  PENSTOCK_TRY(check_names("pool", config.pools));
  PENSTOCK_TRY(check_names("project", config.projects));
  PENSTOCK_TRY(check_names("account", config.accounts));
  PENSTOCK_TRY(check_pools(config));
  PENSTOCK_TRY(check_tree("project", config.projects, &ProjectConfig::department));
  PENSTOCK_TRY(check_tree("account", config.accounts, &AccountConfig::parent));
  for (const ProjectConfig& project : config.projects) PENSTOCK_TRY(check_project(config, project));
  for (const AccountConfig& account : config.accounts)
    PENSTOCK_TRY(check_amount("account", account.name, "its number of shares", account.shares));
  PENSTOCK_TRY(check_departments(config));
  return check_rules(config);
}

std::int64_t guaranteed(const ProjectConfig& project, Guarantee of) {
  switch (of) {
    case Guarantee::Slots: return project.guaranteed_slots;
    case Guarantee::GpuSlots: return project.guaranteed_gpu_slots;
    case Guarantee::Memory: return project.guaranteed_memory.value();
  }
  return 0;
}

void set(ProjectConfig& project, ProjectSetting what, std::int64_t amount) {
  switch (what) {
    case ProjectSetting::Slots: project.guaranteed_slots = amount; break;
    case ProjectSetting::GpuSlots: project.guaranteed_gpu_slots = amount; break;
    case ProjectSetting::Memory: project.guaranteed_memory = Bytes{amount}; break;
    case ProjectSetting::Weight: project.weight = amount; break;
  }
}

std::int64_t setting_of(const ProjectConfig& project, ProjectSetting what) {
  switch (what) {
    case ProjectSetting::Slots: return project.guaranteed_slots;
    case ProjectSetting::GpuSlots: return project.guaranteed_gpu_slots;
    case ProjectSetting::Memory: return project.guaranteed_memory.value();
    case ProjectSetting::Weight: return project.weight;
  }
  return 0;
}

std::vector<std::string> policy_warnings(const PolicyConfig& config) {
  std::vector<std::string> warnings;
  warn_of_parts(config, Guarantee::Slots, " slots", warnings);
  warn_of_parts(config, Guarantee::GpuSlots, " GPU slots", warnings);
  warn_of_parts(config, Guarantee::Memory, " bytes of memory", warnings);
  warn_of_caps(config, warnings);
  warn_of_no_effect(config, warnings);
  return warnings;
}

}  // namespace penstock
