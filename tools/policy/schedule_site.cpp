// tidy: foreign-file task, tasks, agent, agents, scheduler
#include "tools/policy/schedule_site.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace penstock::tools {
namespace {

/// Spec: policy-determined 8.3.
constexpr std::int64_t kLightPlacesDefault = 100;
constexpr MilliGpu kWholeDevice{1000};

std::string preset_of(const cli::DocumentValue& file) {
  const cli::DocumentValue& setting = field_of(file, "scheduler");
  if (!shares_slots(file)) return "priority";
  // A case without a named variant has a tag if it is not the page's.
  const bool max_min = has_field(setting, "variant")
                           ? text_of(setting, "variant") == "max_min"
                           : !flag_of(field_of(file, "tags"), "same_under_proportional", true);
  return max_min ? "fair_share_max_min" : "fair_share";
}

}  // namespace

std::vector<const cli::DocumentValue*> sources_of(const cli::DocumentValue& file) {
  std::vector<const cli::DocumentValue*> sources{&file};
  for (const cli::DocumentValue& step : field_of(file, "steps").items) sources.push_back(&step);
  return sources;
}

std::int64_t amount_in(const cli::DocumentValue& table, const char* field, std::int64_t fallback) {
  constexpr std::int64_t kMost = 10'000;
  return std::clamp<std::int64_t>(integer_of(table, field, fallback), 0, kMost);
}

std::int64_t default_priority(const cli::DocumentValue& file) {
  const std::int64_t priority = integer_of(field_of(file, "scheduler"), "default_priority", kPriorityDefault);
  return std::clamp<std::int64_t>(priority, 1, kPriorityLeast);
}

bool shares_slots(const cli::DocumentValue& file) {
  return text_of(field_of(file, "scheduler"), "type", "fair_share") == "fair_share";
}

std::int64_t places_of(const cli::DocumentValue& agent) {
  return amount_in(agent, "max_zero_slot", kLightPlacesDefault);
}

std::int64_t slots_of_agents(const cli::DocumentValue& file) {
  std::int64_t slots = 0;
  for (const cli::DocumentValue& agent : field_of(file, "agents").items) slots += amount_in(agent, "slots");
  return slots;
}

Register schedule_worker(const std::string& name, std::int64_t slots, std::int64_t places) {
  Register description;
  description.name = description.host = name;
  description.labels = {name};
  const auto add_band = [&](const char* band_name, BandKind kind, std::int64_t count) {
    if (count <= 0) return;
    BandDescription& band = description.bands.emplace_back();
    band.name = band_name;
    band.kind = kind;
    band.capacity.slots = kOneSlot * count;
    if (kind == BandKind::Gpu) band.capacity.gpu = kWholeDevice;
  };
  add_band("numa-0", BandKind::Cpu, slots);
  add_band("gpu-0", BandKind::Gpu, places);
  return description;
}

SupervisorConfig schedule_site(const cli::DocumentValue& file, CaseChecker& checker) {
  const cli::DocumentValue& setting = field_of(file, "scheduler");
  checker.one_of(setting, "type", {"fair_share", "priority"});
  checker.one_of(setting, "variant", {"proportional", "max_min"});
  checker.one_of(setting, "fitting", {"best", "worst"});
  check_priority_range(setting, "default_priority", checker);
  if (flag_of(setting, "heterogeneous")) checker.fail("no pool spreads a gang over workers of several sizes");
  SupervisorConfig config;
  PoolConfig& pool = config.policy.pools.emplace_back();
  pool = {.name = "all", .preset = preset_of(file), .priorities = "1-99"};
  pool.fitting = text_of(setting, "fitting") == "worst" ? "worst" : "best";
  pool.default_priority = default_priority(file);
  if (!shares_slots(file)) pool.preemption = flag_of(setting, "preemption");
  config.policy.grace = config.policy.grace_max = std::chrono::hours{1};
  std::set<std::string> known;
  for (const cli::DocumentValue* from : sources_of(file))
    for (const cli::DocumentValue& group : field_of(*from, "groups").items) {
      const std::string name = text_of(group, "id");
      if (name.empty() || !known.insert(name).second) continue;
      AccountConfig& account = config.policy.accounts.emplace_back();
      account.name = name;
      // A limit that all agents together do not reach is none.
      const std::int64_t most = integer_of(group, "max_slots", kUnbounded);
      if (most < slots_of_agents(file)) account.limits.slots_max = most;
    }
  return config;
}

}  // namespace penstock::tools
