#include "supervisor/core/pool_parts.hpp"

#include "supervisor/core/job_shares.hpp"
#include "supervisor/policy/choose_parts.hpp"

namespace penstock::supervisor {

Result<std::vector<policy::Parts>> parts_of(const std::vector<PoolConfig>& pools) {
  std::vector<policy::Parts> parts;
  for (const PoolConfig& pool : pools) {
    const Result<policy::Parts> chosen =
        policy::choose_parts({pool.preset, pool.ordering, pool.sharing, pool.backfill, pool.fitting, pool.reclaim,
                              pool.consolidation, pool.preemption, pool.reserve_depth});
    if (!chosen) {
      Error error = chosen.error();
      error.subject = "pool '" + pool.name + "', " + error.subject;
      return error;
    }
    parts.insert(parts.end(), kBandKinds, *chosen);
  }
  return parts;
}

}  // namespace penstock::supervisor
