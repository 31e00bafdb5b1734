// Bags of independent subtasks, which hold slots in several of their pools at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/plan.hpp"

namespace penstock::supervisor {

/// Whether its subtasks run without one another, each wherever a slot is. REQUIRES: the job has its graph.
bool is_bag(const Job& job);

/// The pool of a bag where a worker has attempts and the job no slots, unless it is tried there; `kAnyPool`: none. Work
/// that must run there, or that a worker has claimed after a restart, would wait for ever.
std::uint32_t pool_of_stranded_work(const Job& job, const WorkerTable& workers,
                                    const std::vector<std::uint32_t>& pool_of_band);

/// Slots that the job wants on bands of that kind: a bag, in all its pools together; else in its pool at most.
inline std::uint64_t wanted_of(const JobShares& shares, std::size_t kind) {
  return shares.kinds[kind].demand + (shares.pool.spreads ? shares.kinds[kind].beyond : 0);
}

/// Whether a bag has slots in more than one of its pools by the last plan.
bool holds_in_several_pools(const JobShares& shares, const std::vector<std::uint32_t>& pool_of_band);

/// Whether the job wants more than all of the pool where it is tried, and no limit keeps it from that.
bool wants_more_pools(const JobShares& shares);

/// By owner, whether it is promised a place, for which others leave. `owner_of`: by subject of the pass.
std::vector<bool> promised_owners(const PassUnderWay& pass, const policy::Plan& plan,
                                  const std::vector<std::uint32_t>& owner_of, std::size_t owners);

/// By owner, whether a member of it waits on where the job is tried.
std::vector<bool> waiting_owners(const PassUnderWay& pass, const policy::Plan& plan,
                                 const std::vector<std::uint32_t>& owner_of, std::size_t owners);

}  // namespace penstock::supervisor
