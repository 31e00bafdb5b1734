#include "supervisor/core/share_nodes.hpp"

#include <algorithm>

namespace penstock::supervisor {
namespace {

constexpr std::int64_t kWeightUnsaid = 1000;

}  // namespace

std::int64_t share_weight(const PolicyConfig& config, std::uint32_t project) {
  if (project >= config.projects.size() || config.projects[project].weight == kNoWeight) return kWeightUnsaid;
  return std::max<std::int64_t>(config.projects[project].weight, 1);
}

std::uint32_t ShareNodes::user(const PolicyConfig& config, const ProjectTree& tree, const Domain& domain,
                               std::uint32_t project, const std::string& name, policy::Snapshot& snapshot) {
  if (config.projects.empty()) return policy::kNone;
  const std::uint32_t parent = this->project(config, tree, domain, project, snapshot);
  const auto position = static_cast<std::uint32_t>(snapshot.share_nodes.size());
  const auto [known, added] = of_user_.try_emplace({parent, name}, position);
  if (!added) return known->second;
  snapshot.share_nodes.push_back({name, parent, kWeightUnsaid, policy::kUnlimited});
  projects_.push_back(policy::kNone);
  return position;
}

std::uint32_t ShareNodes::project(const PolicyConfig& config, const ProjectTree& tree, const Domain& domain,
                                  std::uint32_t at, policy::Snapshot& snapshot) {
  // From the project upwards to the first owner that is known, then down again.
  std::vector<std::uint32_t> missing;
  while (at != policy::kNone && !of_project_.contains({domain.number, at})) {
    missing.push_back(at);
    at = at < config.projects.size() ? tree.parents[at] : policy::kNone;
  }
  std::uint32_t node = at == policy::kNone ? policy::kNone : of_project_.at({domain.number, at});
  for (auto each = missing.rbegin(); each != missing.rend(); ++each) {
    policy::ShareNode added{"none", node, share_weight(config, *each), policy::kUnlimited};
    if (*each < config.projects.size()) {
      const ProjectConfig& source = config.projects[*each];
      added.name = source.name;
      const std::int64_t most = domain.kind == BandKind::Cpu ? source.slots_max : source.gpu_slots_max;
      if (most != kUnbounded) added.slots_max = most * 1000 / static_cast<std::int64_t>(domain.granularity);
    }
    node = static_cast<std::uint32_t>(snapshot.share_nodes.size());
    of_project_.emplace(std::pair{domain.number, *each}, node);
    snapshot.share_nodes.push_back(std::move(added));
    projects_.push_back(*each);
  }
  return node;
}

}  // namespace penstock::supervisor
