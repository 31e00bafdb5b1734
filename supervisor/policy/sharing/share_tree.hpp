// Fair shares of departments, projects and users before those of their jobs.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/parts.hpp"
#include "supervisor/policy/sharing/limited_targets.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// Divides slots down the tree: each owner gets them in proportion to its weight alone, as far as its parts want them
/// and its limit goes, at least 1 where there is enough; `among_jobs` divides the slots of an owner that has no parts.
/// Owners are as old as their oldest job. Targets are rounded to what runs whole, see `next_to_settle`, and all is
/// divided again. A group without a node
/// stands beside the owners at the top, with its own weight. Slots that may not be taken from a group stay with it also
/// beyond a limit.
/// Cost: O(n log n + nodes) for each gang that is passed over. REQUIRES: parents come before their parts.
std::vector<std::int64_t> tree_targets(const std::vector<ShareGroup>& groups, const std::vector<ShareNode>& nodes,
                                       std::int64_t capacity, const DivideSlots& among_jobs);

/// How a pool divides its slots: down the tree where a group has an owner, else among all groups. `nodes` must outlive
/// it.
DivideSlots divide_by_owner(const std::vector<ShareGroup>& groups, const std::vector<ShareNode>& nodes,
                            Sharing sharing);

}  // namespace penstock::policy
