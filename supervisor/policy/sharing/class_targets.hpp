// Fair shares where not everybody may be everywhere: the max-min fair ones of those that can be placed together.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/sharing/fair_targets.hpp"
#include "supervisor/policy/sharing/share_flow.hpp"
#include "supervisor/policy/sharing/water_level.hpp"

namespace penstock::policy {

/// Whether all groups can have these amounts at once.
bool can_be_placed(const std::vector<ShareGroup>& groups, const ClassedPool& pool,
                   const std::vector<std::int64_t>& amounts);

/// Targets as those of `fair_targets`, or of max-min filling, that can be placed: nobody's could be larger without that
/// of somebody who has no more for his slope being smaller, within a slot. `groups` stand oldest first.
///
/// What can be placed together is a polymatroid (Megiddo 1974), so dividing without regard to classes, and then apart
/// among those that together got more than their bands have and among the rest, is exact (Groenevelt 1991).
/// Cost: a division and a flow for each set of bands that is too small, times gangs that are passed over.
std::vector<std::int64_t> class_targets(std::vector<ShareGroup> groups, ClassedPool pool, Slope slope);

}  // namespace penstock::policy
