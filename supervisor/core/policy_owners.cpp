#include "supervisor/core/policy_owners.hpp"

#include <map>
#include <string>

namespace penstock::supervisor {
namespace {

/// Of its jobs that name none: its own, or, of a department without one, that of its first part.
std::uint32_t home_of(const PolicyConfig& config, std::size_t project) {
  const ProjectConfig* at = &config.projects[project];
  // Trees are no deeper than there are entries.
  for (std::size_t steps = 0; at->pool.empty() && at->is_department && steps < config.projects.size(); ++steps) {
    const ProjectConfig* part = nullptr;
    for (const ProjectConfig& each : config.projects)
      if (part == nullptr && each.department == at->name) part = &each;
    if (part == nullptr) break;
    at = part;
  }
  std::int64_t pool = at->pool.empty() ? -1 : find_pool(config, at->pool);
  for (std::size_t i = 0; pool < 0 && i < config.pools.size(); ++i)
    if (config.pools[i].workers.empty()) pool = static_cast<std::int64_t>(i);
  return static_cast<std::uint32_t>(pool);
}

/// What its parts are guaranteed there, together.
std::int64_t of_parts(const PolicyConfig& config, const std::string& department, std::uint32_t pool,
                      Guarantee guarantee) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < config.projects.size(); ++i) {
    const ProjectConfig& part = config.projects[i];
    if (part.department != department) continue;
    if (home_of(config, i) == pool)
      sum += guaranteed(part, guarantee);
    else if (part.is_department)
      sum += of_parts(config, part.name, pool, guarantee);
  }
  return sum;
}

}  // namespace

std::vector<std::int64_t> guarantees_in(const PolicyConfig& config, std::uint32_t pool, Guarantee guarantee) {
  std::vector<std::int64_t> amounts;
  for (std::size_t i = 0; i < config.projects.size(); ++i) {
    const ProjectConfig& project = config.projects[i];
    if (home_of(config, i) == pool)
      amounts.push_back(guaranteed(project, guarantee));
    else
      amounts.push_back(project.is_department ? of_parts(config, project.name, pool, guarantee) : 0);
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
