// Fair shares of projects: guarantees first, the rest by priority and weight, in whole units.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/sharing/owner.hpp"

namespace penstock::policy {

/// One division: a resource among siblings.
struct ResourceDivision {
  std::size_t resource = 0;
  std::int64_t quantum = 1;   ///< Amounts beyond the guarantees are given in multiples of this.
  double usage_strength = 1;  ///< How much past usage counts against a sibling.
};

/// Sets the fair share of each sibling to the wanted part of its guarantee; returns the rest of `total`.
std::int64_t divide_guaranteed(std::vector<Owner>& owners, const std::vector<std::uint32_t>& siblings,
                               const ResourceDivision& division, std::int64_t total);
/// Divides `left` among the siblings that want more; returns the rest. Spec: policy-runai 4.
std::int64_t divide_over_quota(std::vector<Owner>& owners, const std::vector<std::uint32_t>& siblings,
                               const ResourceDivision& division, std::int64_t left);

/// The fair shares of all owners and resources, from the roots down. REQUIRES: parents form no circle.
void divide_tree(std::vector<Owner>& owners, const Resources& total, double usage_strength);

}  // namespace penstock::policy
