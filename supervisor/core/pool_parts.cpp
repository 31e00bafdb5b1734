#include "supervisor/core/pool_parts.hpp"

#include <algorithm>
#include <array>

#include "supervisor/core/job_shares.hpp"
#include "supervisor/policy/choose_parts.hpp"

namespace penstock::supervisor {
namespace {

/// REQUIRES: one of the words.
template <class Enum, std::size_t count>
Enum position_of(const std::string& word, const std::array<const char*, count>& words) {
  const auto found = std::find(words.begin(), words.end(), word);
  return static_cast<Enum>(found == words.end() ? 0 : found - words.begin());
}

/// How the multi-factor sum is made. REQUIRES: `check_policy` accepts the factors.
policy::MultifactorOptions multifactor_of(const FactorConfig& factors) {
  static_assert(static_cast<int>(policy::FairShareFactor::FluxRank) + 1 == kFairShareFactorWords.size());
  policy::MultifactorOptions options;
  options.weights = {static_cast<double>(factors.wait), static_cast<double>(factors.fair_share),
                     static_cast<double>(factors.qos),  static_cast<double>(factors.queue),
                     static_cast<double>(factors.size), static_cast<double>(factors.user)};
  options.wait_max = factors.wait_max;
  options.favor = position_of<policy::SizeFavor>(factors.size_favor, kSizeFavorWords);
  options.factor = position_of<policy::FairShareFactor>(factors.fair_share_factor, kFairShareFactorWords);
  options.lambda = static_cast<double>(factors.lambda) / 1000;
  return options;
}

}  // namespace

Result<std::vector<policy::Parts>> parts_of(const std::vector<PoolConfig>& pools) {
  std::vector<policy::Parts> parts;
  for (const PoolConfig& pool : pools) {
    Result<policy::Parts> chosen =
        policy::choose_parts({pool.preset, pool.ordering, pool.sharing, pool.backfill, pool.fitting, pool.reclaim,
                              pool.consolidation, pool.preemption, pool.reserve_depth});
    if (!chosen) {
      Error error = chosen.error();
      error.subject = "pool '" + pool.name + "', " + error.subject;
      return error;
    }
    chosen->overrun = pool.overrun;
    chosen->multifactor = multifactor_of(pool.factors);
    parts.insert(parts.end(), kBandKinds, *chosen);
  }
  return parts;
}

std::vector<policy::Parts> parts_in_force(const PolicyConfig& config) {
  std::vector<policy::Parts> parts = parts_of(config.pools).value();
  for (policy::Parts& each : parts)
    each.stale_grace = config.gang_wait, each.starvation_after = config.starvation_after;
  return parts;
}

}  // namespace penstock::supervisor
