// The order in which projects are served: the most deprived one first.
#pragma once

#include <cstdint>

#include "supervisor/policy/sharing/owner.hpp"
#include "supervisor/policy/wide.hpp"

namespace penstock::policy {

/// One of two siblings, with its next job, or with the amount to be taken from it.
struct Contest {
  const Owner* owner = nullptr;
  Resources job;     ///< The amount that its next job would add; nothing where something is taken from it.
  Resources change;  ///< Added to its holdings when the dominant shares are compared; negative: taken.
};

/// The facts that decide a contest, computed once for each of the siblings.
struct ProjectRank {
  bool over_fair_share = false;
  bool beyond_guarantee = false;
  bool without_share = false;  ///< Its job would use resources of which it has no share.
  Fraction with_job;           ///< Largest part of its allocatable amounts, with the change.
  Fraction without_job;
  const Owner* owner = nullptr;
};
/// `total` is the capacity of the pool.
ProjectRank rank_project(const Contest& contest, const Resources& total);
/// `ProjectRank::with_job` alone, all else that decides being the same.
Fraction share_with(const Owner& owner, const Resources& change, const Resources& total);
/// -1 if `left` is served first, 1 if `right` is, 0 if only their numbers differ. Spec: policy-runai 5.
int compare_ranks(const ProjectRank& left, const ProjectRank& right);
/// The same by the facts that come before `ProjectRank::with_job`, and by those that come after.
int compare_standing(const ProjectRank& left, const ProjectRank& right);
int compare_ties(const ProjectRank& left, const ProjectRank& right);

}  // namespace penstock::policy
