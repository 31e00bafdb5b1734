#include "supervisor/core/policy_owners.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace penstock::supervisor {
namespace {

std::int64_t bounded(std::int64_t slots) { return slots == kUnbounded ? policy::kUnlimited : slots * 1000; }

/// The guarantee of a project for a resource, and its weight in the idle rest.
struct ResourceDue {
  std::int64_t guaranteed = policy::kUnlimited;
  std::int64_t weight = 1000;
};

/// Slots in thousandths, memory in bytes.
struct ProjectDue {
  ResourceDue slots;
  ResourceDue memory;
};

/// So that, as weights, guarantees of memory are no larger than those of slots.
std::vector<std::int64_t> in_mib(std::vector<std::int64_t> bytes) {
  for (std::int64_t& each : bytes) each = (each + kMiB.value() - 1) / kMiB.value();
  return bytes;
}

policy::Project project_for(const ProjectConfig& source, BandKind kind, std::uint32_t parent, const ProjectDue& due) {
  policy::Project project;
  project.name = source.name;
  project.parent = parent;
  project.priority = source.priority;
  project.preempt_min_runtime = source.preempt_min_runtime;
  project.reclaim_min_runtime = source.reclaim_min_runtime;
  for (policy::ResourceShare& share : project.shares) share = {policy::kUnlimited, policy::kUnlimited, 1000, 0};
  project.shares[static_cast<std::size_t>(policy::Resource::Gpu)] = {
      due.slots.guaranteed, bounded(kind == BandKind::Cpu ? source.slots_max : source.gpu_slots_max), due.slots.weight,
      0};
  if (kind != BandKind::Cpu) return project;
  project.shares[static_cast<std::size_t>(policy::Resource::Memory)] = {
      due.memory.guaranteed, source.memory_max == kUnboundedBytes ? policy::kUnlimited : source.memory_max.value(),
      due.memory.weight, 0};
  return project;
}

}  // namespace

std::string owner_text(const ProjectConfig& owner) {
  return (owner.is_department ? "department '" : "project '") + owner.name + "'";
}

ProjectTree project_tree(const PolicyConfig& config) {
  const auto count = static_cast<std::uint32_t>(config.projects.size());
  std::map<std::string_view, std::uint32_t> places;
  std::map<std::string_view, std::uint32_t> pools;
  for (std::uint32_t i = 0; i < count; ++i) places.emplace(config.projects[i].name, i);
  for (std::uint32_t i = 0; i < config.pools.size(); ++i) pools.emplace(config.pools[i].name, i);
  ProjectTree tree{std::vector<std::uint32_t>(count, policy::kNone), {}, {}};
  std::vector<std::uint32_t> first_parts(count, policy::kNone);
  std::vector<std::uint32_t> depths(count, 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto above = places.find(config.projects[i].department);
    if (above == places.end()) continue;
    tree.parents[i] = above->second;
    if (first_parts[above->second] == policy::kNone) first_parts[above->second] = i;
  }
  for (std::uint32_t i = 0; i < count; ++i)
    for (std::uint32_t at = tree.parents[i]; at != policy::kNone; at = tree.parents[at]) ++depths[i];
  std::uint32_t rest = 0;
  while (rest + 1 < config.pools.size() && !config.pools[rest].workers.empty()) ++rest;
  for (std::uint32_t i = 0; i < count; ++i) {
    // Of its jobs that name none: the first of its own, or, of a department without any, that of its first part.
    std::uint32_t at = i;
    while (config.projects[at].pools.empty() && config.projects[at].is_department && first_parts[at] != policy::kNone)
      at = first_parts[at];
    const auto pool = config.projects[at].pools.empty() ? pools.end() : pools.find(config.projects[at].pools.front());
    tree.guarantee_pools.push_back(pool == pools.end() ? rest : pool->second);
    tree.parts_first.push_back(i);
  }
  std::stable_sort(tree.parts_first.begin(), tree.parts_first.end(),
                   [&](std::uint32_t left, std::uint32_t right) { return depths[left] > depths[right]; });
  return tree;
}

std::vector<std::int64_t> guarantees_in(const PolicyConfig& config, const ProjectTree& tree, std::uint32_t pool,
                                        Guarantee guarantee) {
  std::vector<std::int64_t> amounts(config.projects.size(), 0);
  for (const std::uint32_t at : tree.parts_first) {
    if (tree.guarantee_pools[at] == pool) amounts[at] = guaranteed(config.projects[at], guarantee);
    const std::uint32_t above = tree.parents[at];
    if (above != policy::kNone && tree.guarantee_pools[above] != pool) amounts[above] += amounts[at];
  }
  return amounts;
}

std::vector<std::int64_t> weights_beyond(const PolicyConfig& config, const std::vector<std::int64_t>& guaranteed) {
  struct Siblings {
    bool say_weights = false;
    bool have_guarantees = false;
  };
  std::map<std::string, Siblings> below;  // By department; no name: the top.
  for (std::size_t i = 0; i < config.projects.size(); ++i) {
    Siblings& siblings = below[config.projects[i].department];
    siblings.say_weights = siblings.say_weights || config.projects[i].weight != kNoWeight;
    siblings.have_guarantees = siblings.have_guarantees || guaranteed[i] > 0;
  }
  const auto unsaid = [&](const std::string& department, std::int64_t guarantee) {
    const Siblings siblings = below[department];
    return siblings.say_weights || !siblings.have_guarantees ? 1000 : guarantee * 1000;
  };
  std::vector<std::int64_t> weights;
  for (std::size_t i = 0; i < config.projects.size(); ++i) {
    const ProjectConfig& project = config.projects[i];
    weights.push_back(project.weight != kNoWeight ? project.weight : unsaid(project.department, guaranteed[i]));
  }
  weights.push_back(unsaid({}, 0));
  return weights;
}

std::vector<policy::Project> projects_in(const PolicyConfig& config, const ProjectTree& tree, std::uint32_t pool,
                                         BandKind kind, std::uint32_t first) {
  const std::vector<std::int64_t> slots =
      guarantees_in(config, tree, pool, kind == BandKind::Cpu ? Guarantee::Slots : Guarantee::GpuSlots);
  const std::vector<std::int64_t> slot_weights = weights_beyond(config, slots);
  const std::vector<std::int64_t> memory = guarantees_in(config, tree, pool, Guarantee::Memory);
  const std::vector<std::int64_t> memory_weights = weights_beyond(config, in_mib(memory));
  const bool divides_memory = std::any_of(memory.begin(), memory.end(), [](std::int64_t each) { return each > 0; });
  const auto due_of = [&](std::size_t i) {
    ProjectDue due{{i < slots.size() ? slots[i] * 1000 : 0, slot_weights[i]}, {}};
    if (divides_memory) due.memory = {i < memory.size() ? memory[i] : 0, memory_weights[i]};
    return due;
  };
  std::vector<policy::Project> projects;
  for (std::size_t i = 0; i < config.projects.size(); ++i) {
    const std::uint32_t above = tree.parents[i];
    const std::uint32_t parent = above == policy::kNone ? policy::kNone : first + above;
    projects.push_back(project_for(config.projects[i], kind, parent, due_of(i)));
    projects.back().created = static_cast<std::int64_t>(first + projects.size());
  }
  projects.push_back(project_for(ProjectConfig{.name = "none"}, kind, policy::kNone, due_of(config.projects.size())));
  return projects;
}

AccountTree account_tree(const PolicyConfig& config, const UsageTable& usage, const std::set<UsageTable::Key>& active) {
  const auto count = static_cast<std::uint32_t>(config.accounts.size());
  const std::uint32_t root = count;
  AccountTree tree;
  std::vector<bool> has_parts(count, false);
  std::map<std::string_view, std::uint32_t> places;
  for (std::uint32_t i = 0; i < count; ++i) places.emplace(config.accounts[i].name, i);
  for (const AccountConfig& account : config.accounts) {
    const auto parent = places.find(account.parent);
    if (parent != places.end()) has_parts[parent->second] = true;
    tree.accounts.push_back({account.name, parent == places.end() ? root : parent->second, false, account.shares, 0});
  }
  if (count > 0) tree.accounts.push_back({"", policy::kNone, false, 1, 0});
  std::map<UsageTable::Key, double> used;
  for (const auto& [whom, seconds] : usage.tallies()) used[whom] = billed(seconds, config.usage);
  // Where users are counted together, a user without a tally is one of these.
  const auto counted_as = [&](const UsageTable::Key& whom) {
    const UsageTable::Key together{whom.first, kUsersTogether};
    return usage.tallies().contains(whom) || !usage.tallies().contains(together) ? whom : together;
  };
  for (const UsageTable::Key& whom : active) used.try_emplace(counted_as(whom), 0);
  const auto is_of = [](const auto& each, const std::string& account) { return each.first.first == account; };
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string& account = config.accounts[i].name;
    const auto first = used.lower_bound({account, ""});
    std::size_t users = 0;
    for (auto each = first; each != used.end() && is_of(*each, account); ++each) ++users;
    // An account without use and without jobs ranks nowhere. Spec: policy-flux 5.4.
    tree.accounts[i].user = !has_parts[i] && users == 1;
    for (auto each = first; each != used.end() && is_of(*each, account); ++each) {
      const bool stands_alone = tree.accounts[i].user;
      tree.charged[each->first] = stands_alone ? i : static_cast<std::uint32_t>(tree.accounts.size());
      if (stands_alone)
        tree.accounts[i].usage = each->second;
      else
        tree.accounts.push_back({each->first.second, i, true, 1, each->second});
    }
  }
  for (const UsageTable::Key& whom : active)
    if (const auto leaf = tree.charged.find(counted_as(whom)); leaf != tree.charged.end())
      tree.charged.try_emplace(whom, leaf->second);
  return tree;
}

}  // namespace penstock::supervisor
