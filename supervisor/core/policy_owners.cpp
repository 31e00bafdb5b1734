#include "supervisor/core/policy_owners.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace penstock::supervisor {
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
    tree.homes.push_back(pool == pools.end() ? rest : pool->second);
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
    if (tree.homes[at] == pool) amounts[at] = guaranteed(config.projects[at], guarantee);
    const std::uint32_t above = tree.parents[at];
    if (above != policy::kNone && tree.homes[above] != pool) amounts[above] += amounts[at];
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

AccountTree account_tree(const PolicyConfig& config, const std::vector<double>& usage, const std::vector<bool>& used) {
  const auto count = static_cast<std::uint32_t>(config.accounts.size());
  const std::uint32_t root = count;
  AccountTree tree;
  std::vector<bool> has_parts(count, false);
  std::vector<std::uint32_t> parents(count, root);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (config.accounts[i].parent.empty()) continue;
    parents[i] = static_cast<std::uint32_t>(find_account(config, config.accounts[i].parent));
    has_parts[parents[i]] = true;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const AccountConfig& account = config.accounts[i];
    tree.accounts.push_back({account.name, parents[i], !has_parts[i], account.shares, has_parts[i] ? 0 : usage[i]});
    tree.charged.push_back(i);
  }
  if (count > 0) tree.accounts.push_back({"", policy::kNone, false, 1, 0});
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!has_parts[i] || (usage[i] <= 0 && !used[i])) continue;
    tree.charged[i] = static_cast<std::uint32_t>(tree.accounts.size());
    tree.accounts.push_back({config.accounts[i].name, i, true, 1, usage[i]});
  }
  return tree;
}

}  // namespace penstock::supervisor
