#include "supervisor/policy/sharing/whole_targets.hpp"

#include <algorithm>
#include <numeric>

#include "supervisor/policy/wide.hpp"

namespace penstock::policy {
namespace {

/// The slots of the member that a target would be rounded up for.
std::int64_t step_of(const ShareGroup& group, std::int64_t target) {
  return target < group.core ? group.core : group.unit;
}

/// The part of that member that is in the target beyond whole ones.
std::int64_t rest_of(const ShareGroup& group, std::int64_t target) {
  if (target < group.core) return target;
  return group.unit > 1 ? target % group.unit : 0;
}

/// The slots that the group keeps when another one is rounded up: as many as let it run anything, if it has those. With
/// `stay`, a group that runs keeps them, too, if half of them is its share: else two gangs, of which one has room
/// beside the other jobs, take that room from each other whenever a job comes or goes.
std::int64_t floor_of(const ShareGroup& group, std::int64_t target, bool stay) {
  const std::int64_t member = group.unit > 1 ? group.unit : std::min<std::int64_t>(1, group.demand);
  const std::int64_t least = std::max(group.core, member);
  const bool keeps = target >= least || (stay && group.stays && target * 2 >= least);
  return std::max(group.pinned, keeps ? least : 0);
}

SettledShare best_to_round_up(const std::vector<ShareGroup>& groups, const std::vector<std::int64_t>& targets,
                              std::int64_t capacity, const OwnersAllow& owners_allow, bool stay) {
  std::vector<std::int64_t> floors;
  floors.reserve(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) floors.push_back(floor_of(groups[i], targets[i], stay));
  const std::int64_t sum = std::accumulate(floors.begin(), floors.end(), std::int64_t{0});
  SettledShare best;
  Fraction most{0, 1};
  for (std::uint32_t i = 0; i < groups.size(); ++i) {
    const Fraction rest{rest_of(groups[i], targets[i]), step_of(groups[i], targets[i])};
    const std::int64_t up = targets[i] - rest.numerator + rest.denominator;
    if (rest.numerator * 2 < rest.denominator || !(most < rest) || up > groups[i].demand) continue;
    if (sum - floors[i] + up > capacity || (owners_allow && !owners_allow(i, up, floors))) continue;
    best = {i, up};
    most = rest;
  }
  return best;
}

}  // namespace

SettledShare next_to_settle(const std::vector<ShareGroup>& groups, const std::vector<std::int64_t>& targets,
                            std::int64_t capacity, const OwnersAllow& owners_allow) {
  SettledShare youngest;
  bool any_rest = false;
  for (std::uint32_t i = 0; i < groups.size(); ++i) {
    const std::int64_t rest = rest_of(groups[i], targets[i]);
    any_rest = any_rest || rest > 0;
    if (rest > 0)
      youngest = {i, std::max(groups[i].pinned, targets[i] - rest)};
    else if (is_blocked(groups[i], targets[i]))
      youngest = {i, groups[i].held};
  }
  if (!any_rest) return youngest;
  SettledShare up = best_to_round_up(groups, targets, capacity, owners_allow, true);
  // Where the groups that run cannot all stay, none does: else one of them would be rounded down to let itself stay.
  const bool any_stays = std::any_of(groups.begin(), groups.end(), [](const ShareGroup& each) { return each.stays; });
  if (up.group == kNone && any_stays) up = best_to_round_up(groups, targets, capacity, owners_allow, false);
  return up.group == kNone ? youngest : up;
}

}  // namespace penstock::policy
