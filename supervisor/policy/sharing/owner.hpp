// Limits, entitlement and holdings of a project or department: the running sums of one pass.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// One owner and one resource, in the units of `Resources`.
struct OwnedAmount {
  std::int64_t guaranteed = 0;
  std::int64_t limit = kUnlimited;
  std::int64_t weight = 0;
  double usage = 0;
  std::int64_t request = 0;    ///< Amount that its jobs hold and wait for.
  std::int64_t allocated = 0;  ///< Amount that they hold, or are promised by this pass.
  std::int64_t fixed = 0;      ///< The part of it that may not be preempted.
  std::int64_t fair_share = 0;

  /// The most that it could use.
  std::int64_t requestable() const { return limit == kUnlimited ? request : std::min(request, limit); }
  /// The amount that it may rely on; `kUnlimited` if that has no bound.
  std::int64_t allocatable() const {
    if (guaranteed == kUnlimited) return limit;
    const std::int64_t entitled = std::max(guaranteed, fair_share);
    return limit == kUnlimited ? entitled : std::min(limit, entitled);
  }
};

/// A project or department while a pass runs. Sums include all descendants.
struct Owner {
  std::string name;
  std::uint32_t parent = kNone;
  std::int64_t priority = 100;
  std::int64_t created = 0;
  std::array<OwnedAmount, kResources> of;
  std::optional<Duration> preempt_min_runtime;
  std::optional<Duration> reclaim_min_runtime;
  std::uint64_t version = 0;  ///< Counts changes of the sums.
};

/// `a <= b`, where `kUnlimited` is above every number.
constexpr bool at_most(std::int64_t a, std::int64_t b) { return b == kUnlimited || (a != kUnlimited && a <= b); }

/// The children of each owner. Made once for a pass.
struct OwnerTree {
  explicit OwnerTree(const std::vector<Owner>& owners);
  std::vector<std::uint32_t> roots;
  std::vector<std::vector<std::uint32_t>> children;
  std::vector<std::uint32_t> deepest_first;
  std::vector<std::uint32_t> ranks;  ///< By owner: its position there.
};

/// From a project up to its root.
std::vector<std::uint32_t> chain_of(const std::vector<Owner>& owners, std::uint32_t project);

/// The two siblings, or two roots, through which `a` and `b` belong to different branches.
struct Branches {
  std::uint32_t a = kNone;
  std::uint32_t b = kNone;
  std::uint32_t ancestor = kNone;  ///< Common to both; none for different roots.
};
Branches branches_of(const std::vector<Owner>& owners, std::uint32_t a, std::uint32_t b);

}  // namespace penstock::policy
