// In which pool a job is tried next: prioritised lists, and what stands in for one that is not given.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "supervisor/policy/plan.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// Pools by preference: what the job says, else what its project says, else the pool of those that say nothing. Never
/// empty. Spec: policy-runai 10.
std::vector<std::uint32_t> pools_wanted(const std::vector<std::uint32_t>& of_job,
                                        const std::vector<std::uint32_t>& of_project, std::uint32_t pool_default);

/// Where a job, or one job of a search over many, stands in its list. Kept by whoever keeps the job, from pass to pass:
/// the snapshot of a pass says only `Workload::pool`, which is `pool()`.
class PoolTurn {
 public:
  /// `pools` is not empty.
  explicit PoolTurn(std::vector<std::uint32_t> pools) : pools_(std::move(pools)) {}
  /// It has got as far as `pool`, if that is one of them.
  PoolTurn(std::vector<std::uint32_t> pools, std::uint32_t pool);

  const std::vector<std::uint32_t>& pools() const { return pools_; }
  std::size_t index() const { return index_; }
  std::uint32_t pool() const { return pools_[index_]; }
  /// What a pass, carried out, made of the job.
  enum class Outcome : std::uint8_t {
    Placed,   ///< It holds or is promised a place: it stays here, all of it, until none of it does.
    Sent,     ///< The last of it was told to leave: it begins at the head of its list again.
    Waits,    ///< The whole pass could not place it: the next pool has its turn, and after the last the first.
    Skipped,  ///< The pass was not allowed to try: held, or its gang is not complete.
  };
  void after_pass(Outcome outcome);

 private:
  std::vector<std::uint32_t> pools_;
  std::size_t index_ = 0;
};

/// A member of a snapshot, as far as turns go.
struct MemberTurn {
  std::uint32_t owner = 0;  ///< Whose turn it is: the workload, or the job of several of them.
  MemberState state = MemberState::Pending;
};
/// The outcome for each owner, of whom there are as many as `held`: those are not to be tried.
std::vector<PoolTurn::Outcome> pool_outcomes(const std::vector<MemberTurn>& members, const std::vector<bool>& held,
                                             const Plan& plan);
/// The same for each workload of the snapshot.
std::vector<PoolTurn::Outcome> pool_outcomes(const Snapshot& snapshot, const Plan& plan);

}  // namespace penstock::policy
