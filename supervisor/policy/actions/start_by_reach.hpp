// Fair share where a job may use certain bands only.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/actions/share_limits.hpp"

namespace penstock::policy {

/// By contender.
struct ShareTargets {
  const std::vector<ShareGroup>& groups;
  const std::vector<std::int64_t>& targets;
  const std::vector<std::int64_t>& at_most;  ///< Beyond this, too, it has more than its share.
  Sharing sharing = Sharing::FairShare;
  const DivideSlots& divide;
};

/// Contenders start within their targets in this order: those with the least by weight and demand (max-min: by weight),
/// then those that may use the fewest bands, then the oldest. A contender below its target that finds no room is
/// promised places of contenders that are above theirs, on bands that it may use, as long as these are left with more
/// than it has, or with as much and are younger. Slots that are idle then go to members that can use them and may be
/// preempted, above their target if need be, the oldest first. So the contender with the least gains by every change,
/// and passes come to rest whatever the targets are.
void start_by_reach(SlotPass& pass, const std::vector<Contender>& present, const ShareLimits& limits,
                    const ShareTargets& shares);

}  // namespace penstock::policy
