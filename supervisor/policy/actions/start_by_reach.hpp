// Fair share where somebody may use some bands only.
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
};

/// Within their targets those start first that have least, by weight and demand (max-min: by weight), then who may use
/// the fewest bands, then the older ones. For somebody below his target who finds no room others leave that have more
/// than theirs, on bands that he may use, and as long as they are left with more than he has; their places are promised
/// to him. What is idle then goes to whoever can use it and may be preempted, above his target if need be, the oldest
/// first. So whoever has least gains by whatever is done, and passes come to rest whatever the targets are.
void start_by_reach(SlotPass& pass, const std::vector<Contender>& present, const ShareLimits& limits,
                    const ShareTargets& shares);

}  // namespace penstock::policy
