// The rules that hold jobs after a pass, as they are told to people.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "supervisor/core/policy_state.hpp"
#include "supervisor/policy/plan.hpp"
#include "supervisor/policy/sharing/owner_limit.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {

/// Turns explanations of the engine into what is told: the limit that cuts a share instead of the share, all of a gang
/// instead of its first member, and the room where the job may be instead of the room anywhere. The pass, its
/// snapshot and its plan outlive it. Cost: linear in the plan, and in each list of bands once.
class ToldRules {
 public:
  ToldRules(const PassUnderWay& pass, const policy::Snapshot& snapshot, const policy::Plan& plan);

  /// The subject of a `ProjectLimit` is the position of the project. `least`: of a gang that the engine counts member
  /// by member, the thousandths of slots that it holds at least; else 0.
  policy::Explanation of(policy::Explanation why, std::uint64_t least);
  /// Whether a limit of a user or an account cuts the share that holds the job.
  bool is_at_slot_limit(const policy::Explanation& why) const { return limits_.is_at_slot_limit(why); }

 private:
  /// The most thousandths of slots that are free on one of these bands.
  std::int64_t roomiest_of(std::uint32_t band_list);

  const PassUnderWay& pass_;
  const policy::Snapshot& snapshot_;
  policy::OwnerLimits limits_;
  std::vector<std::int64_t> held_;  ///< By workload, in thousandths of slots, once the plan is carried out.
  std::vector<std::int64_t> used_;  ///< By band, the same; slots that are being left are in use.
  std::map<std::uint32_t, std::int64_t> rooms_;  ///< By list of bands.
};

}  // namespace penstock::supervisor
