// The bands of each part of a gang that is divided among groups of workers.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {

/// The parts of a gang with `JobPolicy::gang_groups` as a pass sees them, by the groups that `Colocation` has chosen.
/// Bands are positions in the pass; a list of `policy::kNone` alone stands for none. Cost: O(bands) for each part.
class GangParts {
 public:
  /// Within the `allowed` bands; empty: all bands of that kind in the pool of the job. `held`: what the job keeps;
  /// slots that it leaves are missing.
  GangParts(const Job& job, BandKind kind, const PolicyState& policy, const WorkerTable& workers,
            const std::vector<std::uint32_t>& allowed, const std::vector<PromisedPlace>& held);

  /// False: the gang is in one group, or in none.
  bool any() const { return !parts_.empty(); }
  /// Thousandths of slots that the job does not keep in the groups.
  std::uint64_t missing() const;
  /// The bands of the part to which a band belongs. REQUIRES: `any`.
  const std::vector<std::uint32_t>& bands_of(std::uint32_t band) const;
  /// The bands for one member of so many thousandths of slots: of the part to which `band` belongs, where the member
  /// has been promised a place; `kNone`: of the first part that misses slots. The part then misses so many fewer.
  /// REQUIRES: `any`.
  const std::vector<std::uint32_t>& take(std::uint64_t milli, std::uint32_t band);
  /// Makes a member take all that is missing, each part on its bands. REQUIRES: `any`; the member wants `missing()`.
  void divide(policy::Member& member, std::uint64_t granularity, policy::BandLists& lists,
              policy::Snapshot& snapshot) const;

 private:
  struct Part {
    std::vector<std::uint32_t> bands;  ///< Ascending.
    std::uint64_t missing = 0;         ///< Thousandths of slots.
  };
  std::vector<Part> parts_;
};

}  // namespace penstock::supervisor
