// print_config: the configuration as a commented file.
#include <type_traits>

#include "common/base/quantity.hpp"
#include "common/config/config_file.hpp"
#include "common/protocol/accepted_users.hpp"
#include "common/protocol/handshake.hpp"
#include "common/protocol/labels.hpp"
#include "common/protocol/settings.hpp"

namespace penstock {
namespace {

template <class Value>
std::string text_of(const char* unit, const Value& value) {
  if constexpr (std::is_same_v<Value, Duration> || std::is_same_v<Value, Bytes>) {
    return quote_toml(to_text(value));
  } else if constexpr (std::is_enum_v<Value>) {
    return quote_toml(names_of(value)[static_cast<std::size_t>(value)]);
  } else if constexpr (std::is_same_v<Value, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return quote_toml(value);
  } else {
    if (std::string_view{unit}.starts_with("bytes"))
      return quote_toml(to_text(Bytes{static_cast<std::int64_t>(value)}));
    return std::to_string(value);
  }
}

std::string text_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + quote_toml(word);
  return "[" + text + "]";
}

template <class Config>
std::string print_table(const char* name, const char* about, Config config) {
  std::string text = std::string{"\n# "} + about + "\n[" + name + "]\n";
  visit_settings(config, [&](const SettingText& setting, const auto& value, const auto& minimum, const auto& maximum) {
    const std::string_view unit = setting.unit;
    const bool shown = unit != "duration" && unit != "bytes";
    text += std::string{"# "} + setting.meaning + ".";
    // The meaning of an enumeration names its words.
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (!std::is_enum_v<Value> && !std::is_same_v<Value, bool> && !std::is_same_v<Value, std::string>)
      text += " " + (shown ? std::string{unit} + ", " : std::string{}) + "from " + text_of(setting.unit, minimum) +
              " to " + text_of(setting.unit, maximum) + ".";
    text += std::string{"\n"} + setting.name + " = " + text_of(setting.unit, value) + "\n";
  });
  return text;
}

std::string print_host(const TopologyOptions& host, const std::vector<std::string>& labels) {
  std::string text = "\n# Resources that a worker offers, where they differ from those that it finds.\n[host]\n";
  text += "# Slots of all CPU bands together. 0: one for each processor, within the control group's quota.\n";
  text += "slots = " + std::to_string(host.slots) + "\n";
  text += "# Memory of all bands together. 0: all, within the control group's limit, a tenth kept back.\n";
  text += "memory = " + quote_toml(to_text(host.memory)) + "\n";
  text += "# CPU bands of equal shares of the processors. 0: one for each NUMA node.\n";
  text += "cpu_bands = " + std::to_string(host.cpu_bands) + "\n";
  text += "# Whether GPUs are offered: each as a band.\n";
  text += std::string{"gpus = "} + (host.gpus ? "true" : "false") + "\n";
  text += "# Whether all GPUs are one band, `gpus`, so that a subtask may have several.\n";
  text += std::string{"gpus_together = "} + (host.gpus_together ? "true" : "false") + "\n";
  text += "# NVIDIA's management library. Empty: PENSTOCK_NVML_LIBRARY, else the host's.\n";
  text += "nvml_library = " + quote_toml(host.nvml_library) + "\n";
  text += "# Labels of the worker, to which jobs and projects may limit themselves; at most " +
          std::to_string(kLabelsMax) + ". `worker --label` replaces them.\n";
  return text + "labels = " + text_of(labels) + "\n";
}

std::string print_accepted_users(const std::vector<std::string>& users) {
  return "# Users whose jobs the worker runs; \"*\": all. Jobs of its own user it runs in any case. As root it starts "
         "the\n"
         "# programs of each user under that user's account, and the list is of users below users_uid_min; otherwise "
         "all\n"
         "# programs run under its own account. At most " +
         std::to_string(kAcceptedUsersMax) + ".\naccept_users = " + text_of(users) + "\n";
}

std::string print_band(const BandOverride& band) {
  std::string text = "\n[[band]]\nname = " + quote_toml(band.name) + "\n";
  if (band.slots) text += "slots = " + std::to_string(*band.slots) + "\n";
  if (band.memory) text += "memory = " + quote_toml(to_text(*band.memory)) + "\n";
  if (band.memory_hard_limit) text += "memory_hard_limit = " + quote_toml(to_text(*band.memory_hard_limit)) + "\n";
  if (band.numa_node) text += "numa_node = " + std::to_string(*band.numa_node) + "\n";
  if (band.processors) {
    text += "processors = [";
    for (std::size_t i = 0; i < band.processors->size(); ++i)
      text += (i > 0 ? ", " : "") + std::to_string((*band.processors)[i]);
    text += "]\n";
  }
  if (band.disabled) text += "disabled = true\n";
  if (!band.named.empty()) {
    text += "named = {";
    for (std::size_t i = 0; i < band.named.size(); ++i)
      text += (i > 0 ? ", " : "") + quote_toml(band.named[i].name) + " = " + std::to_string(band.named[i].amount);
    text += "}\n";
  }
  return text;
}

constexpr const char* kPolicyAbout =
    "\n# How the cluster is divided (docs/policy.md). Without [[policy.pool]] nothing is limited.\n"
    "# [[policy.pool]]: name, preset, workers = [\"gpu-*\"], preemption, reserve_depth, time_limit, overrun,\n"
    "# priorities (\"any\" or \"1-99\"), default_priority, light;\n"
    "# its parts, where not as the preset has them: ordering, sharing, backfill, fitting, reclaim, consolidation.\n"
    "# [[policy.department]] and [[policy.project]]: name, department, pools (or one pool), weight (or over_quota = "
    "\"low\"),\n"
    "# priority, guaranteed_slots, slots_max, guaranteed_gpu_slots, gpu_slots_max, guaranteed_memory, memory_max,\n"
    "# preempt_min_runtime, reclaim_min_runtime, training_labels, interactive_labels, users, accounts.\n"
    "# [policy.pool.factors]: weights wait, fair_share, qos, queue, size, user; wait_max, size_favor, "
    "fair_share_factor, lambda.\n"
    "# [policy.usage]: cpu, gpu, memory, billing: weights of resources in the use of accounts.\n"
    "# [[policy.account]]: name, parent, shares, enabled, and limits: active_jobs_max, running_jobs_max, "
    "waiting_jobs_max,\n"
    "# slots_max, gpu_slots_max, waiting_slots_max, waiting_gpu_slots_max, and of each job job_slots_min, "
    "job_slots_max, job_gpu_slots_max, "
    "time_max.\n"
    "# [[policy.qos]]: name, factor, open or users, accounts; exempt, usage_factor, preempts (levels),\n"
    "# and limits of each user.\n"
    "# [[policy.queue]]: name, priority, users, accounts, time_limit, and limits of each user. [[policy.user]]: name "
    "and limits.\n";

std::string print_decimals(std::int64_t thousandths) {
  return std::to_string(thousandths / 1000) + "." + std::to_string(1000 + thousandths % 1000).substr(1);
}

std::string print_texts(const char* key, const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? std::string{key} + " = [" : ", ") + quote_toml(value);
  return text.empty() ? text : text + "]\n";
}

std::string print_amount(const char* key, std::int64_t value, std::int64_t otherwise) {
  return value == otherwise ? "" : std::string{key} + " = " + std::to_string(value) + "\n";
}

std::string print_limits(const JobLimits& limits) {
  std::string text;
  for (const LimitField& field : kLimitFields) text += print_amount(field.name, limits.*field.amount, kUnbounded);
  return limits.time_max == Duration{0} ? text : text + "time_max = " + quote_toml(to_text(limits.time_max)) + "\n";
}

/// Printed after its pool, because it is a part of the pool's table.
std::string print_factors(const FactorConfig& factors) {
  const FactorConfig own;
  if (factors == own) return {};
  return "[policy.pool.factors]\n" + print_amount("wait", factors.wait, own.wait) +
         print_amount("fair_share", factors.fair_share, own.fair_share) + print_amount("qos", factors.qos, own.qos) +
         print_amount("queue", factors.queue, own.queue) + print_amount("size", factors.size, own.size) +
         print_amount("user", factors.user, own.user) + "wait_max = " + quote_toml(to_text(factors.wait_max)) +
         "\nsize_favor = " + quote_toml(factors.size_favor) +
         "\nfair_share_factor = " + quote_toml(factors.fair_share_factor) +
         "\nlambda = " + print_decimals(factors.lambda) + "\n";
}

std::string print_usage(const UsageConfig& usage) {
  if (usage == UsageConfig{}) return {};
  return "\n[policy.usage]\ncpu = " + print_decimals(usage.cpu) + "\ngpu = " + print_decimals(usage.gpu) +
         "\nmemory = " + print_decimals(usage.memory) + "\nbilling = " + quote_toml(usage.billing) + "\n";
}

std::string print_rules(const PolicyConfig& policy) {
  std::string text;
  for (const QosConfig& level : policy.qos)
    text += "\n[[policy.qos]]\nname = " + quote_toml(level.name) + "\nfactor = " + print_decimals(level.factor) +
            "\nopen = " + (level.open ? "true" : "false") + "\n" + print_texts("users", level.users) +
            print_texts("accounts", level.accounts) + "exempt = " + (level.exempt ? "true" : "false") +
            "\nusage_factor = " + print_decimals(level.usage_factor) + "\n" + print_texts("preempts", level.preempts) +
            print_limits(level.limits);
  for (const QueueConfig& queue : policy.queues)
    text += "\n[[policy.queue]]\nname = " + quote_toml(queue.name) + "\n" +
            print_amount("priority", queue.priority, 0) + print_texts("users", queue.users) +
            print_texts("accounts", queue.accounts) +
            (queue.time_limit > Duration{0} ? "time_limit = " + quote_toml(to_text(queue.time_limit)) + "\n" : "") +
            print_limits(queue.limits);
  for (const UserConfig& user : policy.users)
    text += "\n[[policy.user]]\nname = " + quote_toml(user.name) + "\n" + print_limits(user.limits);
  return text;
}

std::string print_policy_lists(const PolicyConfig& policy) {
  std::string text = kPolicyAbout + print_usage(policy.usage);
  const auto entry = [&](const char* kind, const std::string& name) {
    text += std::string{"\n[[policy."} + kind + "]]\nname = " + quote_toml(name) + "\n";
  };
  const auto word = [&](const char* key, const std::string& value) {
    if (!value.empty()) text += std::string{key} + " = " + quote_toml(value) + "\n";
  };
  const auto amount = [&](const char* key, std::int64_t value, std::int64_t otherwise) {
    text += print_amount(key, value, otherwise);
  };
  const auto flag = [&](const char* key, const std::optional<bool>& value) {
    if (value.has_value()) text += std::string{key} + " = " + (*value ? "true" : "false") + "\n";
  };
  const auto words = [&](const char* key, const std::vector<std::string>& list) { text += print_texts(key, list); };
  for (const PoolConfig& pool : policy.pools) {
    entry("pool", pool.name);
    word("preset", pool.preset);
    words("workers", pool.workers);
    word("ordering", pool.ordering);
    word("sharing", pool.sharing);
    word("backfill", pool.backfill);
    word("fitting", pool.fitting);
    flag("reclaim", pool.reclaim);
    flag("consolidation", pool.consolidation);
    flag("preemption", pool.preemption);
    word("priorities", pool.priorities);
    amount("default_priority", pool.default_priority, kPriorityDefault);
    if (pool.light) text += "light = true\n";
    amount("reserve_depth", pool.reserve_depth, PoolConfig{}.reserve_depth);
    if (pool.time_limit != PoolConfig{}.time_limit) word("time_limit", to_text(pool.time_limit));
    if (pool.overrun != PoolConfig{}.overrun) word("overrun", to_text(pool.overrun));
    text += print_factors(pool.factors);
  }
  for (const ProjectConfig& project : policy.projects) {
    entry(project.is_department ? "department" : "project", project.name);
    word("department", project.department);
    words("pools", project.pools);
    const std::string decimals = std::to_string(1000 + project.weight % 1000).substr(1);
    if (project.weight != kNoWeight)
      text += "weight = " + std::to_string(project.weight / 1000) + "." + decimals + "\n";
    amount("priority", project.priority, ProjectConfig{}.priority);
    amount("guaranteed_slots", project.guaranteed_slots, 0);
    amount("slots_max", project.slots_max, kUnbounded);
    amount("guaranteed_gpu_slots", project.guaranteed_gpu_slots, 0);
    amount("gpu_slots_max", project.gpu_slots_max, kUnbounded);
    amount("guaranteed_memory", project.guaranteed_memory.value(), 0);
    amount("memory_max", project.memory_max.value(), kUnbounded);
    const auto time = [&](const char* key, const std::optional<Duration>& value) {
      if (value.has_value()) word(key, to_text(*value));
    };
    time("preempt_min_runtime", project.preempt_min_runtime);
    time("reclaim_min_runtime", project.reclaim_min_runtime);
    words("training_labels", project.training_labels);
    words("interactive_labels", project.interactive_labels);
    words("users", project.users);
    words("accounts", project.accounts);
  }
  for (const AccountConfig& account : policy.accounts) {
    entry("account", account.name);
    word("parent", account.parent);
    amount("shares", account.shares, AccountConfig{}.shares);
    if (!account.enabled) text += "enabled = false\n";
    text += print_limits(account.limits);
  }
  return text + print_rules(policy);
}

constexpr const char* kBandsAbout =
    "\n# Single bands. One with the name of a band that was found (numa-0, gpu-0) changes it; one with another name "
    "is\n"
    "# a band more, which needs slots and memory. Settings: slots, memory, memory_hard_limit (a request between the "
    "two\n"
    "# runs alone), processors = [0, 1], numa_node, named = {licence = 2}, disabled = true.\n";

}  // namespace

std::string quote_toml(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += "\\u00";
      quoted += kHex[byte >> 4U];
      quoted += kHex[byte & 15U];
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string print_config(const FileConfig& config) {
  std::string text = "# Configuration of Penstock. A setting that is left out has its default.\n";
  text += "# Durations are \"10s\" or \"20ms\", bytes are \"512MiB\" or whole numbers.\n";
  text += print_table("link", "The reliable link between two processes.", config.link);
  text += print_table("wire", "Bytes from the network.", config.wire);
  text += print_table("security", "Certificates and handshakes of the supervisor.", config.security);
  text += print_table("audit", "The record of orders, submits, logins and refusals in the state.", config.audit);
  text += print_table("metrics", "Metrics for Prometheus (docs/metrics.md).", config.metrics);
  text += print_table("users", "Limits of each user.", config.supervisor.users);
  text += print_table("graph", "Limits of a graph.", config.supervisor.graph);
  text += print_table("supervisor", "Decisions of the supervisor.", config.supervisor);
  text += print_table("policy", "The division of slots between jobs.", config.supervisor.policy);
  text += print_policy_lists(config.supervisor.policy);
  text += print_table("worker", "Decisions of a worker.", config.worker);
  text += print_accepted_users(config.accept_users);
  text += print_host(config.topology, config.labels);
  text += kBandsAbout;
  for (const BandOverride& band : config.topology.bands) text += print_band(band);
  return text;
}

}  // namespace penstock
