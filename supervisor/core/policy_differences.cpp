#include "supervisor/core/policy_differences.hpp"

#include <algorithm>
#include <vector>

#include "supervisor/core/decimal_text.hpp"

namespace penstock::supervisor {
namespace {

using Fields = std::vector<std::pair<const char*, std::string>>;

std::string limit_text(std::int64_t limit) { return limit == kUnbounded ? "none" : std::to_string(limit); }

/// An unset value is that of the preset.
std::string word_text(const std::string& word) { return word.empty() ? "not said" : word; }
std::string flag_text(const std::optional<bool>& flag) {
  return !flag.has_value() ? "not said" : *flag ? "true" : "false";
}

std::string milliseconds_text(Duration duration) {
  return std::to_string(duration / std::chrono::milliseconds{1}) + "ms";
}

std::string least_text(const std::optional<Duration>& least) {
  return least.has_value() ? milliseconds_text(*least) : "not said";
}

void add_factors(Fields& fields, const FactorConfig& factors) {
  fields.insert(fields.end(), {{"factors.wait", std::to_string(factors.wait)},
                               {"factors.fair_share", std::to_string(factors.fair_share)},
                               {"factors.qos", std::to_string(factors.qos)},
                               {"factors.queue", std::to_string(factors.queue)},
                               {"factors.size", std::to_string(factors.size)},
                               {"factors.user", std::to_string(factors.user)},
                               {"factors.wait_max", milliseconds_text(factors.wait_max)},
                               {"factors.size_favor", factors.size_favor},
                               {"factors.fair_share_factor", factors.fair_share_factor}});
}

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text.empty() ? "none" : text;
}

Fields fields_of(const PoolConfig& pool) {
  std::string workers;
  for (const std::string& pattern : pool.workers) workers += (workers.empty() ? "" : ",") + pattern;
  Fields fields{{"preset", pool.preset},
                {"workers", workers.empty() ? "the rest" : workers},
                {"ordering", word_text(pool.ordering)},
                {"sharing", word_text(pool.sharing)},
                {"backfill", word_text(pool.backfill)},
                {"fitting", word_text(pool.fitting)},
                {"reclaim", flag_text(pool.reclaim)},
                {"consolidation", flag_text(pool.consolidation)},
                {"preemption", flag_text(pool.preemption)},
                {"priorities", word_text(pool.priorities)},
                {"default_priority", std::to_string(pool.default_priority)},
                {"light", pool.light ? "true" : "false"},
                {"reserve_depth", std::to_string(pool.reserve_depth)},
                {"time_limit", milliseconds_text(pool.time_limit)},
                {"overrun", milliseconds_text(pool.overrun)}};
  add_factors(fields, pool.factors);
  return fields;
}

Fields fields_of(const ProjectConfig& project) {
  return {{"department", project.department.empty() ? "none" : project.department},
          {"is_department", project.is_department ? "true" : "false"},
          {"pools", project.pools.empty() ? "the default" : names_text(project.pools)},
          {"weight", project.weight == kNoWeight ? "not said" : decimal_text(project.weight)},
          {"priority", std::to_string(project.priority)},
          {"guaranteed_slots", std::to_string(project.guaranteed_slots)},
          {"slots_max", limit_text(project.slots_max)},
          {"guaranteed_gpu_slots", std::to_string(project.guaranteed_gpu_slots)},
          {"gpu_slots_max", limit_text(project.gpu_slots_max)},
          {"guaranteed_memory", std::to_string(project.guaranteed_memory.value())},
          {"memory_max", limit_text(project.memory_max.value())},
          {"preempt_min_runtime", least_text(project.preempt_min_runtime)},
          {"reclaim_min_runtime", least_text(project.reclaim_min_runtime)},
          {"training_labels", project.training_labels.empty() ? "any" : names_text(project.training_labels)},
          {"interactive_labels", project.interactive_labels.empty() ? "any" : names_text(project.interactive_labels)},
          {"users", names_text(project.users)},
          {"accounts", names_text(project.accounts)}};
}

void add_limits(Fields& fields, const JobLimits& limits) {
  for (const LimitField& field : kLimitFields) fields.emplace_back(field.name, limit_text(limits.*field.amount));
  fields.emplace_back("time_max", limits.time_max == Duration{0} ? "none" : milliseconds_text(limits.time_max));
}

Fields fields_of(const AccountConfig& account) {
  Fields fields{{"parent", account.parent.empty() ? "none" : account.parent},
                {"shares", std::to_string(account.shares)},
                {"enabled", account.enabled ? "true" : "false"}};
  add_limits(fields, account.limits);
  return fields;
}

Fields fields_of(const QosConfig& level) {
  Fields fields{{"factor", decimal_text(level.factor)},      {"open", level.open ? "true" : "false"},
                {"users", names_text(level.users)},          {"accounts", names_text(level.accounts)},
                {"exempt", level.exempt ? "true" : "false"}, {"usage_factor", decimal_text(level.usage_factor)}};
  add_limits(fields, level.limits);
  return fields;
}

Fields fields_of(const QueueConfig& queue) {
  Fields fields{{"priority", std::to_string(queue.priority)},
                {"users", names_text(queue.users)},
                {"accounts", names_text(queue.accounts)},
                {"time_limit", queue.time_limit > Duration{0} ? milliseconds_text(queue.time_limit) : "of its pool"}};
  add_limits(fields, queue.limits);
  return fields;
}

Fields fields_of(const UserConfig& user) {
  Fields fields;
  add_limits(fields, user.limits);
  return fields;
}

Fields fields_of(const PolicyConfig& config) {
  return {{"period", milliseconds_text(config.period)},
          {"settle", milliseconds_text(config.settle)},
          {"pass_max", milliseconds_text(config.pass_max)},
          {"grace", milliseconds_text(config.grace)},
          {"gang_wait", milliseconds_text(config.gang_wait)},
          {"starvation_after", milliseconds_text(config.starvation_after)},
          {"gang_barrier", milliseconds_text(config.gang_barrier)},
          {"grace_max", milliseconds_text(config.grace_max)},
          {"usage_half_life", milliseconds_text(config.usage_half_life)},
          {"usage.cpu", decimal_text(config.usage.cpu)},
          {"usage.gpu", decimal_text(config.usage.gpu)},
          {"usage.memory", decimal_text(config.usage.memory)},
          {"usage.billing", config.usage.billing},
          {"members_max", std::to_string(config.members_max)}};
}

void add(std::string& text, const std::string& part) { text += (text.empty() ? "" : "; ") + part; }

void add_fields(std::string& text, const std::string& what, const Fields& before, const Fields& after) {
  std::string changes;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i].second != after[i].second)
      changes += (changes.empty() ? "" : ", ") + std::string{before[i].first} + " " + before[i].second + " -> " +
                 after[i].second;
  if (!changes.empty()) add(text, what + ": " + changes);
}

template <class Entry>
void add_entries(std::string& text, const std::string& kind, const std::vector<Entry>& before,
                 const std::vector<Entry>& after) {
  const auto find = [](const std::vector<Entry>& entries, const std::string& name) {
    return std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.name == name; });
  };
  for (const Entry& entry : after) {
    const std::string what = kind + " '" + entry.name + "'";
    if (const auto known = find(before, entry.name); known != before.end())
      add_fields(text, what, fields_of(*known), fields_of(entry));
    else
      add(text, what + " is new");
  }
  for (const Entry& entry : before)
    if (find(after, entry.name) == after.end()) add(text, kind + " '" + entry.name + "' is gone");
}

}  // namespace

std::string differences(const PolicyConfig& before, const PolicyConfig& after) {
  std::string text;
  add_fields(text, "policy", fields_of(before), fields_of(after));
  add_entries(text, "pool", before.pools, after.pools);
  add_entries(text, "project", before.projects, after.projects);
  add_entries(text, "account", before.accounts, after.accounts);
  add_entries(text, "qos", before.qos, after.qos);
  add_entries(text, "queue", before.queues, after.queues);
  add_entries(text, "user", before.users, after.users);
  return text;
}

}  // namespace penstock::supervisor
