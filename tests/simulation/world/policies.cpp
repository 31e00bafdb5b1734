#include "tests/simulation/world/policies.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "supervisor/core/job_shares.hpp"

namespace penstock::simulation {
namespace {

using std::chrono::milliseconds;

constexpr const char* kPresets[] = {"fair_share", "fair_share_max_min", "priority", "quota", "multifactor"};

ProjectConfig random_project(Rng& rng, std::string name) {
  ProjectConfig project;
  project.name = std::move(name);
  project.weight = rng.chance(1, 3) ? kNoWeight : rng.between(0, 4) * 1000;
  project.priority = rng.between(98, 102);
  if (rng.chance(1, 3)) project.guaranteed_slots = rng.between(0, 4);
  if (rng.chance(1, 4)) project.slots_max = project.guaranteed_slots + rng.between(1, 6);
  return project;
}

/// Parts beyond those of the preset, as far as they go together.
void choose_parts(Rng& rng, PoolConfig& pool) {
  const bool quotas = pool.preset == "quota";
  pool.fitting = rng.chance(1, 2) ? (quotas ? "spread" : "worst") : (quotas ? "binpack" : "best");
  if (quotas) {
    pool.reclaim = rng.chance(1, 2);
    pool.consolidation = rng.chance(1, 2);
  } else if (pool.preset == "priority" || pool.preset == "multifactor") {
    pool.ordering = rng.chance(1, 2) ? "priority" : "fcfs";
    pool.backfill = rng.chance(1, 2) ? "easy" : "conservative";
    pool.preemption = rng.chance(1, 2) ? std::optional<bool>{} : false;
    if (pool.ordering == "priority") pool.preemption = false;
  }
}

/// The first takes workers that no other names; each of the others has one worker.
PoolConfig random_pool(Rng& rng, std::uint64_t number) {
  PoolConfig pool;
  pool.name = "pool-" + std::to_string(number);
  pool.preset = kPresets[rng.below(std::size(kPresets))];
  pool.preemption = rng.chance(3, 4);
  if (pool.preset == "multifactor" && *pool.preemption) pool.preemption.reset();
  pool.reserve_depth = rng.between(0, 2);
  pool.time_limit = milliseconds{rng.chance(1, 2) ? rng.between(1, 2'000) : 3'600'000};
  if (rng.chance(1, 3)) choose_parts(rng, pool);
  if (number > 1) pool.workers = {"worker-" + std::to_string(number)};
  return pool;
}

/// Projects join the department and leave it, and what it guarantees changes, also to less than its parts have.
void change_departments(Rng& rng, PolicyConfig& config) {
  const std::int64_t at = find_project(config, "group");
  if (at < 0) return;
  ProjectConfig& group = config.projects[static_cast<std::size_t>(at)];
  for (ProjectConfig& project : config.projects) {
    if (project.is_department) continue;
    if (rng.chance(1, 3)) project.department = project.department.empty() ? "group" : "";
    if (!project.department.empty()) group.guaranteed_memory += project.guaranteed_memory;
  }
  group.guaranteed_slots = rng.between(0, 20);
}

/// A part of the pools, in any order.
std::vector<std::string> random_pools(Rng& rng, const PolicyConfig& config, std::uint64_t count) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string& name = config.pools[rng.below(config.pools.size())].name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

/// One with a worker in it, and perhaps others behind or before it; those of the project, if it has, as often as not by
/// its list.
std::vector<std::string> random_pools_of(Rng& rng, const PolicyConfig& config, const JobPolicy& wishes,
                                         std::uint64_t hosts) {
  const std::uint64_t usable = std::min<std::uint64_t>(config.pools.size(), hosts);
  const auto has_worker = [&](const std::string& pool) {
    return find_pool(config, pool) < static_cast<std::int64_t>(usable);
  };
  const std::int64_t project = wishes.project.empty() ? -1 : find_project(config, wishes.project);
  if (project >= 0) {
    const std::vector<std::string>& inherited = config.projects[static_cast<std::size_t>(project)].pools;
    if (std::any_of(inherited.begin(), inherited.end(), has_worker) && rng.chance(1, 2)) return {};
  }
  std::vector<std::string> names = random_pools(rng, config, rng.chance(1, 2) ? 1 + rng.below(3) : 0);
  if (std::none_of(names.begin(), names.end(), has_worker)) names.push_back(config.pools[rng.below(usable)].name);
  return names;
}

bool may_be_in_quotas(const PolicyConfig& config, const JobPolicy& wishes) {
  if (config.pools.size() == 1) return config.pools[0].preset == "quota";
  std::vector<std::string> names = wishes.pools;
  if (names.empty()) names = config.projects[static_cast<std::size_t>(find_project(config, wishes.project))].pools;
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return config.pools[static_cast<std::size_t>(find_pool(config, name))].preset == "quota";
  });
}

}  // namespace

PolicyConfig random_policy(Rng& rng) {
  PolicyConfig config;
  config.period = milliseconds{rng.between(1, 300)};
  config.settle = milliseconds{rng.between(0, 20)};
  config.pass_max = milliseconds{rng.chance(1, 4) ? rng.between(1, 50) : 10'000};
  config.grace = milliseconds{rng.between(0, 200)};
  config.members_max = static_cast<std::uint32_t>(rng.chance(1, 4) ? rng.between(4, 20) : 20'000);
  if (config.members_max < 100) config.queue_depth = config.members_max % 4 + 1;
  const std::uint64_t pools = rng.chance(1, 2) ? 1 : 1 + rng.below(3);
  for (std::uint64_t i = 1; i <= pools; ++i) config.pools.push_back(random_pool(rng, i));
  const bool grouped = rng.chance(1, 3);
  if (grouped) {
    config.projects.push_back({.name = "group", .is_department = true});
    config.projects.back().guaranteed_slots = rng.between(4, 20);
  }
  for (std::uint64_t i = rng.below(4); i > 0; --i) {
    config.projects.push_back(random_project(rng, "project-" + std::to_string(i)));
    if (grouped && rng.chance(1, 2)) {
      config.projects.back().department = "group";
      config.projects.back().guaranteed_slots = rng.chance(1, 2) ? 1 : 0;
    }
    if (pools > 1 && rng.chance(1, 2)) config.projects.back().pools = random_pools(rng, config, 1 + rng.below(2));
  }
  for (std::uint64_t i = rng.below(3); i > 0; --i)
    config.accounts.push_back({.name = "account-" + std::to_string(i), .parent = {}, .shares = rng.between(1, 3)});
  return config;
}

void guarantee_memory(Rng& rng, PolicyConfig& config) {
  for (ProjectConfig& project : config.projects) project.guaranteed_memory = kMiB * rng.between(0, 200);
  for (ProjectConfig& department : config.projects) {
    if (!department.is_department) continue;
    for (const ProjectConfig& part : config.projects)
      if (part.department == department.name) department.guaranteed_memory += part.guaranteed_memory;
  }
}

/// Of all that have any; what they had before is gone, so that a reload lowers and raises them.
void draw_limits(Rng& rng, PolicyConfig& config) {
  constexpr std::int64_t kLargestGang = 8;
  const auto draw = [&](JobLimits& limits) {
    limits = {};
    if (rng.chance(1, 2)) limits.running_jobs_max = rng.between(1, 3);
    if (rng.chance(1, 2)) limits.slots_max = kLargestGang + rng.between(0, 4);
  };
  draw(config.users.back().limits);
  for (AccountConfig& account : config.accounts)
    if (rng.chance(1, 2)) draw(account.limits);
  for (QosConfig& level : config.qos)
    if (rng.chance(1, 4)) draw(level.limits);
  for (QueueConfig& queue : config.queues)
    if (rng.chance(1, 4)) draw(queue.limits);
}

void add_rules(Rng& rng, PolicyConfig& config) {
  if (rng.chance(1, 2)) config.qos.push_back({.name = "fast", .factor = 900, .usage_factor = rng.between(0, 2000)});
  if (rng.chance(1, 3)) config.qos.push_back({.name = "standby", .factor = 0, .exempt = true});
  if (rng.chance(1, 2)) config.queues = {{.name = "short", .priority = 3}, {.name = "long", .priority = 1}};
  config.users.push_back({.name = "ann"});
  draw_limits(rng, config);
}

void draw_rules(Rng& rng, const PolicyConfig& config, JobSpec& spec) {
  if (rng.chance(1, 2)) spec.owner = "ann";
  if (!config.qos.empty() && rng.chance(1, 2)) spec.policy.qos = config.qos[rng.below(config.qos.size())].name;
  if (!config.queues.empty() && rng.chance(1, 2))
    spec.policy.queue = config.queues[rng.below(config.queues.size())].name;
  if (rng.chance(1, 4)) spec.policy.user_factor = static_cast<std::uint32_t>(rng.between(0, kUserFactorMax));
}

PolicyConfig changed_policy(Rng& rng, PolicyConfig config) {
  // A job that is never preempted starts, under quotas, only within a guarantee.
  for (PoolConfig& pool : config.pools) {
    if (pool.preset == "quota") {
      pool.preemption = rng.chance(3, 4);
      continue;
    }
    pool.preset = rng.chance(1, 2) ? "fair_share_max_min" : "priority";
    pool.ordering.clear(), pool.backfill.clear();
    pool.preemption = rng.chance(3, 4);
  }
  for (ProjectConfig& project : config.projects)
    project.weight = rng.chance(1, 3) ? kNoWeight : rng.between(0, 4) * 1000;
  change_departments(rng, config);
  if (!config.users.empty() && rng.chance(1, 2)) draw_limits(rng, config);
  return config;
}

JobPolicy random_wishes(Rng& rng, const PolicyConfig& config, std::uint32_t gang_max, std::uint64_t hosts) {
  JobPolicy wishes;
  if (!config.projects.empty() && rng.chance(3, 4)) {
    const ProjectConfig& project = config.projects[rng.below(config.projects.size())];
    if (!project.is_department) wishes.project = project.name;
  }
  if (config.pools.size() > 1) wishes.pools = random_pools_of(rng, config, wishes, hosts);
  if (!config.accounts.empty() && rng.chance(1, 2))
    wishes.account = config.accounts[rng.below(config.accounts.size())].name;
  if (rng.chance(1, 3)) wishes.weight = static_cast<std::uint32_t>(rng.between(1, 5000));
  if (rng.chance(1, 5)) wishes.slots_max = static_cast<std::uint32_t>(rng.between(1, 4));
  // A job that may not be preempted must fit what its project is guaranteed, and a gang its limit: else it waits for
  // ever, as it should.
  if (wishes.project.empty()) {
    if (rng.chance(1, 5)) wishes.gang = static_cast<std::uint32_t>(rng.between(1, gang_max));
    if (wishes.gang > 0 && rng.chance(1, 3)) wishes.gang_max = wishes.gang + static_cast<std::uint32_t>(rng.below(4));
    if (wishes.gang > 0 && rng.chance(1, 4)) wishes.together = rng.chance(1, 2) ? "host" : "an?";
    if (!wishes.together.empty() && !wishes.is_elastic() && wishes.gang % 2 == 0 && rng.chance(1, 2))
      wishes.gang_groups = 2;
    if (std::max(wishes.gang, wishes.gang_max) > wishes.slots_max) wishes.slots_max = 0;
    if (!may_be_in_quotas(config, wishes)) wishes.kind = static_cast<JobKind>(rng.below(3));
    if (rng.chance(1, 4)) wishes.preemptible = Preemptible::Yes;
  }
  return wishes;
}

bool may_hold_largest(const PolicyConfig& config, const JobPolicy& wishes, const Graph& graph) {
  std::int64_t largest = 0;
  for (const Template& each : graph.templates) largest = std::max(largest, (each.request.slots.value() + 999) / 1000);
  const std::int64_t at = find_project(config, wishes.project);
  if (at < 0) return true;
  const std::int64_t most = config.projects[static_cast<std::size_t>(at)].slots_max;
  return most == kUnbounded || largest <= most;
}

/// The share of a job by policy, and what it has, on each band.
std::string describe_shares(const supervisor::Job& job, const supervisor::WorkerTable& workers) {
  std::string text = "; in pool '" + job.shares->pool.name + "', number " +
                     std::to_string(job.shares->pool.fallback.index()) + " of " +
                     std::to_string(job.shares->pool.fallback.pools().size()) + ", " +
                     std::to_string(job.place.unschedulable.size()) + " unschedulable";
  for (const supervisor::TriedPool& tried : job.shares->pool.tried) text += ", tried: " + tried.blocked_by;
  for (std::size_t at = 0; at < supervisor::kBandKinds; ++at)
    if (const supervisor::KindShare& kind = job.shares->kinds[at]; kind.unit_milli > 0)
      text += "; wants " + std::to_string(kind.demand) + "m" + (kind.bound ? " where its work is" : "") +
              (kind.why.hold.empty() ? "" : ", held by " + kind.why.hold);
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i) {
    const supervisor::BandShare share = job.shares->of(supervisor::BandSlot{i});
    text += "; " + to_string(workers[supervisor::BandSlot{i}].id) + ": planned " + std::to_string(share.planned) + "m" +
            (share.limited() ? ", entitled " + std::to_string(share.entitled.value()) + "m" : ", unlimited") +
            ", runnable " + std::to_string(share.runnable) + ", started " + std::to_string(share.started);
  }
  return text;
}

}  // namespace penstock::simulation
