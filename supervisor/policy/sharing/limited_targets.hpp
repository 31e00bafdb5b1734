// Fair shares where some workloads may use a part of the pool only: together they get at most that part's slots.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "supervisor/policy/sharing/fair_targets.hpp"

namespace penstock::policy {

/// A part of the pool, and the groups that may use nothing outside it.
struct ShareLimit {
  std::vector<std::uint32_t> groups;  ///< Positions, ascending.
  std::int64_t slots = 0;             ///< The slots that they can hold together.
  friend bool operator==(const ShareLimit&, const ShareLimit&) = default;
};

/// How slots are divided without limits: `fair_targets`, `max_min_targets`, or either of them at the leaves of a tree.
using DivideSlots =
    std::function<std::vector<std::int64_t>(const std::vector<ShareGroup>& groups, std::int64_t capacity)>;

/// Progressive filling with bottlenecks. All slots are divided. Of the limits that are exceeded, the one of which the
/// groups have to give up the largest part of their share comes first (then the one named first): the rest of its slots
/// is divided among its groups, again within each limit, and these shares are final. Then comes the next limit. When
/// none is exceeded, the rest is divided among the remaining groups, until no limit is exceeded. A remaining gang that
/// does not fit its share holds it against others until then. A group keeps all slots that may not be taken from it.
/// Cost: a division for each limit that binds, and one of all for each round of them, of which there are few.
std::vector<std::int64_t> limited_targets(const std::vector<ShareGroup>& groups, const std::vector<ShareLimit>& limits,
                                          std::int64_t capacity, const DivideSlots& divide);

}  // namespace penstock::policy
