#include "supervisor/core/unused_settings.hpp"

#include <algorithm>
#include <utility>

#include "supervisor/core/job_shares.hpp"
#include "supervisor/core/policy_owners.hpp"
#include "supervisor/core/pool_parts.hpp"
#include "supervisor/policy/parts.hpp"

namespace penstock::supervisor {
namespace {

/// A site with a thousand projects hears of the first ones.
constexpr std::size_t kNamedMax = 3;

/// Names of settings, for one text.
class Names {
 public:
  void add(bool is_set, const std::string& name) {
    if (!is_set) return;
    if (++count_ <= kNamedMax) text_ += (text_.empty() ? "" : ", ") + name;
  }
  void tell(std::vector<std::string>& warnings, const std::string& of, const std::string& cause) const {
    if (count_ == 0) return;
    const std::string more = count_ > kNamedMax ? " and " + std::to_string(count_ - kNamedMax) + " more" : "";
    warnings.push_back(of + text_ + more + (count_ == 1 ? " has no effect: " : " have no effect: ") + cause);
  }

 private:
  std::string text_;
  std::size_t count_ = 0;
};

/// By pool, without telling kinds of bands apart.
std::vector<policy::Parts> parts_by_pool(const PolicyConfig& config) {
  std::vector<policy::Parts> all = parts_in_force(config);
  std::vector<policy::Parts> parts;
  for (std::size_t i = 0; i < all.size(); i += kBandKinds) parts.push_back(all[i]);
  return parts;
}

template <class Is>
bool any_pool(const std::vector<policy::Parts>& parts, Is is) {
  return std::any_of(parts.begin(), parts.end(), is);
}

bool backfills(const policy::Parts& parts) { return policy::has_action(parts, policy::Action::Backfill); }
bool counts_quotas(const policy::Parts& parts) { return parts.sharing == policy::Sharing::QuotaTree; }
bool divides(const policy::Parts& parts) { return parts.sharing != policy::Sharing::None; }
bool sums_factors(const policy::Parts& parts) { return parts.ordering == policy::Ordering::Multifactor; }

void look_at_factors(const PoolConfig& pool, bool summed, std::vector<std::string>& warnings) {
  const std::string of = "pool '" + pool.name + "': ";
  const FactorConfig usual;
  const FactorConfig& said = pool.factors;
  if (!summed) {
    Names all;
    all.add(said != usual, "factors");
    return all.tell(warnings, of, "its jobs do not go by a sum of factors, which ordering = \"multifactor\" is");
  }
  Names off;
  off.add(said.wait == 0 && said.wait_max != usual.wait_max, "factors.wait_max");
  off.add(said.size == 0 && said.size_favor != usual.size_favor, "factors.size_favor");
  off.add(said.fair_share == 0 && said.fair_share_factor != usual.fair_share_factor, "factors.fair_share_factor");
  off.tell(warnings, of, "the weight of that term is 0");
  Names lambda;
  lambda.add(said.lambda != usual.lambda && said.fair_share_factor != usual.fair_share_factor, "factors.lambda");
  lambda.tell(warnings, of, "only the fair_share_factor \"balanced\" has one");
}

void look_at_pools(const PolicyConfig& config, const std::vector<policy::Parts>& parts,
                   std::vector<std::string>& warnings) {
  const PoolConfig usual;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PoolConfig& pool = config.pools[i];
    Names of_backfill;
    const bool none = !backfills(parts[i]);
    of_backfill.add(none && pool.reserve_depth != usual.reserve_depth, "reserve_depth");
    of_backfill.add(none && pool.time_limit != usual.time_limit, "time_limit");
    of_backfill.add(none && pool.overrun != usual.overrun, "overrun");
    of_backfill.tell(warnings, "pool '" + pool.name + "': ", "nothing is filled in before a reserved start there");
    Names of_scale;
    const bool any = pool.priorities.empty() || pool.priorities == "any";
    of_scale.add(any && pool.default_priority != usual.default_priority, "default_priority");
    of_scale.tell(warnings, "pool '" + pool.name + "': ", "jobs without a priority have 0 where priorities = \"any\"");
    look_at_factors(pool, sums_factors(parts[i]), warnings);
  }
}

/// Guarantees hold in the first of the project's pools alone; other settings hold wherever its jobs are.
void look_at_projects(const PolicyConfig& config, const std::vector<policy::Parts>& parts,
                      std::vector<std::string>& warnings) {
  const ProjectTree tree = project_tree(config);
  const ProjectConfig usual;
  const bool quotas = any_pool(parts, counts_quotas);
  Names guarantees;
  Names of_quotas;
  Names limits;
  Names weights;
  for (std::size_t i = 0; i < config.projects.size(); ++i) {
    const ProjectConfig& project = config.projects[i];
    const auto of = [&](const char* setting) { return std::string{setting} + " of '" + project.name + "'"; };
    const bool here = counts_quotas(parts[tree.guarantee_pools[i]]);
    guarantees.add(!here && project.guaranteed_slots != 0, of("guaranteed_slots"));
    guarantees.add(!here && project.guaranteed_gpu_slots != 0, of("guaranteed_gpu_slots"));
    guarantees.add(!here && project.guaranteed_memory != Bytes{}, of("guaranteed_memory"));
    limits.add(!any_pool(parts, divides) && project.slots_max != kUnbounded, of("slots_max"));
    limits.add(!any_pool(parts, divides) && project.gpu_slots_max != kUnbounded, of("gpu_slots_max"));
    of_quotas.add(!quotas && project.memory_max != kUnboundedBytes, of("memory_max"));
    of_quotas.add(!quotas && project.priority != usual.priority, of("priority"));
    limits.add(!any_pool(parts, divides) && project.preempt_min_runtime.has_value(), of("preempt_min_runtime"));
    of_quotas.add(!quotas && project.reclaim_min_runtime.has_value(), of("reclaim_min_runtime"));
    weights.add(!any_pool(parts, divides) && project.weight != kNoWeight, of("weight"));
  }
  guarantees.tell(warnings, "", "quotas do not count in the first pool of that project (sharing = \"quota_tree\")");
  of_quotas.tell(warnings, "", "quotas count in no pool (sharing = \"quota_tree\")");
  limits.tell(warnings, "", "no pool divides its slots among projects (sharing)");
  weights.tell(warnings, "", "no pool divides its slots by weights (sharing)");
}

void look_at_factors_of_jobs(const PolicyConfig& config, const std::vector<policy::Parts>& parts,
                             std::vector<std::string>& warnings) {
  Names of_factors;
  // Their time limits are of use everywhere: estimates of starts rest on them.
  for (const QueueConfig& queue : config.queues)
    of_factors.add(queue.priority != 0, "priority of queue '" + queue.name + "'");
  for (const QosConfig& level : config.qos) {
    const QosConfig* own = find_qos(PolicyConfig{}, level.name);
    of_factors.add(level.factor != (own == nullptr ? QosConfig{}.factor : own->factor),
                   "factor of qos '" + level.name + "'");
  }
  for (const AccountConfig& account : config.accounts)
    of_factors.add(account.shares != AccountConfig{}.shares, "shares of account '" + account.name + "'");
  of_factors.add(config.usage_half_life != PolicyConfig{}.usage_half_life, "usage_half_life");
  if (!any_pool(parts, sums_factors))
    of_factors.tell(
        warnings, "",
        "no pool goes by a sum of factors (ordering = \"multifactor\"), and others are told by `shares` only");
}

}  // namespace

std::vector<std::string> unused_settings(const PolicyConfig& config) {
  std::vector<std::string> warnings;
  if (!is_in_force(config)) return warnings;  // Nothing has an effect; `policy_warnings` says so.
  const std::vector<policy::Parts> parts = parts_by_pool(config);
  look_at_pools(config, parts, warnings);
  look_at_projects(config, parts, warnings);
  look_at_factors_of_jobs(config, parts, warnings);
  return warnings;
}

}  // namespace penstock::supervisor
