#include "supervisor/policy/ordering/project_order.hpp"

#include "supervisor/policy/wide.hpp"

namespace penstock::policy {
namespace {

std::int64_t held(const Contest& it, std::size_t resource) {
  return it.owner->of[resource].allocated + it.job.of(resource);
}

bool is_over_fair_share_in_all(const Owner& owner) {
  for (const OwnedAmount& owned : owner.of)
    if (at_most(owned.allocated, owned.fair_share)) return false;
  return true;
}

bool stays_within_guarantee(const Contest& it) {
  for (std::size_t resource = 0; resource < kResources; ++resource)
    if (!at_most(held(it, resource), it.owner->of[resource].guaranteed)) return false;
  return true;
}

bool uses_what_it_has_no_share_of(const Contest& it) {
  for (std::size_t resource = 0; resource < kResources; ++resource)
    if (it.owner->of[resource].allocatable() == 0 && held(it, resource) > 0) return true;
  return false;
}

Fraction dominant_share(const Contest& it, const Resources& total) {
  Fraction largest{0, 1};
  for (std::size_t resource = 0; resource < kResources; ++resource) {
    std::int64_t share = it.owner->of[resource].allocatable();
    if (share == kUnlimited) share = total.of(resource);
    // Devices count in thousandths, so that a thousandfold amount of them is their number here.
    const std::int64_t scale = resource == static_cast<std::size_t>(Resource::Gpu) ? 1 : 1000;
    const std::int64_t used = it.owner->of[resource].allocated + it.change.of(resource);
    const Fraction part = share == 0 ? Fraction{used * scale, 1} : Fraction{used, share};
    if (largest < part) largest = part;
  }
  return largest;
}

/// -1 if the left one is smaller or equal everywhere, and smaller somewhere; 1 the other way round; else 0.
int compare_allocatable(const Owner& left, const Owner& right) {
  bool left_smaller = false;
  bool right_smaller = false;
  for (std::size_t resource = 0; resource < kResources; ++resource) {
    const std::int64_t l = left.of[resource].allocatable();
    const std::int64_t r = right.of[resource].allocatable();
    if (l == r) continue;
    (at_most(l, r) ? left_smaller : right_smaller) = true;
  }
  return left_smaller == right_smaller ? 0 : left_smaller ? -1 : 1;
}

/// The side that has `good` comes first.
int prefer(bool left, bool right) { return left == right ? 0 : left ? -1 : 1; }

int compare_shares(const Fraction& left, const Fraction& right) { return left < right ? -1 : right < left ? 1 : 0; }

}  // namespace

ProjectRank rank_project(const Contest& contest, const Resources& total) {
  const Owner& owner = *contest.owner;
  return {is_over_fair_share_in_all(owner),        !stays_within_guarantee(contest),
          uses_what_it_has_no_share_of(contest),   dominant_share(contest, total),
          dominant_share({&owner, {}, {}}, total), &owner};
}

Fraction share_with(const Owner& owner, const Resources& change, const Resources& total) {
  return dominant_share({&owner, {}, change}, total);
}

int compare_standing(const ProjectRank& left, const ProjectRank& right) {
  if (const int order = prefer(!left.over_fair_share, !right.over_fair_share)) return order;
  if (const int order = prefer(!left.beyond_guarantee, !right.beyond_guarantee)) return order;
  const Owner& l = *left.owner;
  const Owner& r = *right.owner;
  if (l.priority != r.priority) return l.priority > r.priority ? -1 : 1;
  return prefer(!left.without_share, !right.without_share);
}

int compare_ties(const ProjectRank& left, const ProjectRank& right) {
  const Owner& l = *left.owner;
  const Owner& r = *right.owner;
  if (const int order = compare_shares(left.without_job, right.without_job)) return order;
  if (const int order = compare_allocatable(l, r)) return order;
  if (l.created != r.created) return l.created < r.created ? -1 : 1;
  return 0;
}

int compare_ranks(const ProjectRank& left, const ProjectRank& right) {
  if (const int order = compare_standing(left, right)) return order;
  if (const int order = compare_shares(left.with_job, right.with_job)) return order;
  return compare_ties(left, right);
}

}  // namespace penstock::policy
