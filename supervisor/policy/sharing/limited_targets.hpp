// Fair shares where some workloads may use a part of the pool only: they get together at most what that part has.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/sharing/fair_targets.hpp"

namespace penstock::policy {

/// A part of the pool, and who may use nothing outside it.
struct ShareLimit {
  std::vector<std::uint32_t> groups;  ///< Positions, ascending.
  std::int64_t slots = 0;             ///< What they can hold together.
  friend bool operator==(const ShareLimit&, const ShareLimit&) = default;
};

/// How slots are divided without limits: `fair_targets` or `max_min_targets`.
using DivideSlots = std::vector<std::int64_t> (*)(const std::vector<ShareGroup>& groups, std::int64_t capacity);

/// Progressive filling with bottlenecks. All is divided. Of the limits that are passed, the one whose groups have to
/// give up the largest part of what they got comes first (then the one named first): what is left of its slots is
/// divided among its groups, again within each limit, and that is theirs. Then the next; when none is passed, the rest
/// is divided among the rest, until no limit is passed. Of the rest, gangs that do not fit their share hold it against
/// others until then. What may not be taken from a group it keeps.
/// Cost: a division for each limit that binds, and one of all for each round of them, of which there are few.
std::vector<std::int64_t> limited_targets(const std::vector<ShareGroup>& groups, const std::vector<ShareLimit>& limits,
                                          std::int64_t capacity, DivideSlots divide);

}  // namespace penstock::policy
