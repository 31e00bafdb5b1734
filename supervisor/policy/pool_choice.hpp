// The pool in which a job is tried next: prioritised lists, and the default for a job without one.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "supervisor/policy/plan.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// Pools by preference: those of the job, else those of its project, else the default pool. Never empty. Spec:
/// policy-runai 10.
std::vector<std::uint32_t> pools_wanted(const std::vector<std::uint32_t>& of_job,
                                        const std::vector<std::uint32_t>& of_project, std::uint32_t pool_default);

/// The position of a job, or of one job of a search over many, in its list of pools. The owner of the job keeps it from
/// pass to pass: the snapshot of a pass has only `Workload::pool`, which is `pool()`.
class PoolFallback {
 public:
  /// `pools` is not empty.
  explicit PoolFallback(std::vector<std::uint32_t> pools) : pools_(std::move(pools)) {}
  /// Begins at `pool`, if that is in the list.
  PoolFallback(std::vector<std::uint32_t> pools, std::uint32_t pool);

  const std::vector<std::uint32_t>& pools() const { return pools_; }
  std::size_t index() const { return index_; }
  std::uint32_t pool() const { return pools_[index_]; }
  /// The result for the job of a pass that was carried out.
  enum class Outcome : std::uint8_t {
    Placed,   ///< Holds or is promised a place: the job stays here until none of it does.
    Sent,     ///< The last of it was told to leave: the job begins at the head of its list again.
    Waits,    ///< The whole pass could not place it: the next pool follows, after the last the first.
    Skipped,  ///< The pass was not allowed to try: held, or its gang is not complete.
  };
  void after_pass(Outcome outcome);

 private:
  std::vector<std::uint32_t> pools_;
  std::size_t index_ = 0;
};

/// A member of a snapshot, as far as pool fallback goes.
struct MemberOutcome {
  std::uint32_t owner = 0;  ///< The workload, or the job of several workloads.
  MemberState state = MemberState::Pending;
};
/// The outcome for each owner; those that are `held`, by owner, are not to be tried.
std::vector<PoolFallback::Outcome> pool_outcomes(const std::vector<MemberOutcome>& members,
                                                 const std::vector<bool>& held, const Plan& plan);
/// The same for each workload of the snapshot.
std::vector<PoolFallback::Outcome> pool_outcomes(const Snapshot& snapshot, const Plan& plan);

}  // namespace penstock::policy
