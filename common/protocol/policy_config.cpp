#include "common/protocol/policy_config.hpp"

#include <algorithm>

#include "common/base/nearest_name.hpp"
#include "common/base/pattern.hpp"

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
    if (name.empty() || name.size() > 255) return mistake(kind, name, "needs a name of 1 to 255 bytes");
    if (find(entries, name) != static_cast<std::int64_t>(i)) return mistake(kind, name, "is there twice");
  }
  return {};
}

/// Follows parents upwards; a way longer than there are entries goes round in a circle.
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
      if (++steps > entries.size()) return mistake(kind, entry.name, "is its own ancestor");
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
  PENSTOCK_TRY(check_amount(kind, project.name, "its weight", project.weight));
  if (project.weight == 0) return mistake(kind, project.name, "its weight is 0", "give it a weight above 0");
  PENSTOCK_TRY(check_within(project, "guaranteed_slots", project.guaranteed_slots, project.slots_max));
  PENSTOCK_TRY(check_within(project, "guaranteed_gpu_slots", project.guaranteed_gpu_slots, project.gpu_slots_max));
  PENSTOCK_TRY(check_within(project, "guaranteed_memory", project.guaranteed_memory.value(), project.memory_max.value(),
                            kPolicyMemoryMax.value()));
  if (!project.pool.empty() && find_pool(config, project.pool) < 0)
    return mistake(kind, project.name, "belongs to pool '" + project.pool + "', which is not there",
                   nearest_of(config.pools, project.pool));
  return {};
}

/// What a department promises its parts together must not be more than what it has itself.
Result<void> check_departments(const PolicyConfig& config) {
  for (const ProjectConfig& department : config.projects) {
    std::int64_t slots = 0;
    std::int64_t gpu_slots = 0;
    Bytes memory;
    bool has_parts = false;
    for (const ProjectConfig& part : config.projects) {
      if (part.department != department.name) continue;
      if (!department.is_department)
        return mistake("project", part.name, "belongs to '" + department.name + "', which is no department",
                       "write [[policy.department]] for it");
      has_parts = true;
      slots += part.guaranteed_slots;
      gpu_slots += part.guaranteed_gpu_slots;
      memory += part.guaranteed_memory;
    }
    if (!has_parts) continue;
    if (slots > department.guaranteed_slots)
      return mistake(
          "department", department.name,
          "guarantees " + std::to_string(department.guaranteed_slots) + " slots, its parts " + std::to_string(slots));
    if (gpu_slots > department.guaranteed_gpu_slots)
      return mistake("department", department.name,
                     "guarantees " + std::to_string(department.guaranteed_gpu_slots) + " GPU slots, its parts " +
                         std::to_string(gpu_slots));
    if (memory > department.guaranteed_memory)
      return mistake("department", department.name,
                     "guarantees " + std::to_string(department.guaranteed_memory.value()) +
                         " bytes of memory, its parts " + std::to_string(memory.value()));
  }
  return {};
}

Result<void> check_pools(const PolicyConfig& config) {
  std::string rest;
  for (const PoolConfig& pool : config.pools) {
    if (pool.reserve_depth < 0 || pool.reserve_depth > kPolicyAmountMax)
      return mistake("pool", pool.name, "reserve_depth is " + std::to_string(pool.reserve_depth),
                     "it must not be negative");
    if (!pool.workers.empty()) continue;
    if (!rest.empty())
      return mistake("pool", pool.name, "takes all workers that no pool names, and so does '" + rest + "'",
                     "name the workers of one of them");
    rest = pool.name;
  }
  if (rest.empty() && config.in_force())
    return Error{ErrorCode::InvalidArgument, "policy", "no pool takes the workers that none names",
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
  return check_departments(config);
}

}  // namespace penstock
