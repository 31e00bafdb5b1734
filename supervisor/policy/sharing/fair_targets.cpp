#include "supervisor/policy/sharing/fair_targets.hpp"

#include <algorithm>
#include <numeric>

#include "supervisor/policy/sharing/water_level.hpp"
#include "supervisor/policy/wide.hpp"

namespace penstock::policy {
namespace {

using Amounts = std::vector<std::int64_t>;

std::int64_t sum_of(const Amounts& amounts) { return std::accumulate(amounts.begin(), amounts.end(), std::int64_t{0}); }

/// One round of max-min filling over the groups below their demand; what was given out.
std::int64_t fill_round(const std::vector<ShareGroup>& groups, const std::vector<std::size_t>& order, Amounts& offered,
                        Amounts& credit, std::int64_t capacity) {
  std::int64_t weights = 0;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (offered[i] < groups[i].demand) weights += groups[i].weight;
  std::int64_t left = capacity;
  for (const std::size_t i : order) {
    const std::int64_t need = groups[i].demand - offered[i];
    if (need <= 0) continue;
    const auto slice = static_cast<std::int64_t>(Wide{capacity} * groups[i].weight / weights);
    const std::int64_t share = std::max<std::int64_t>(1, slice);
    const std::int64_t paid = std::min(credit[i], share);
    credit[i] -= paid;
    const std::int64_t given = std::min({share - paid, left, need});
    offered[i] += given;
    left -= given;
    if (offered[i] == groups[i].demand) weights -= groups[i].weight;
  }
  return capacity - left;
}

}  // namespace

std::size_t blocked_gang(const std::vector<ShareGroup>& groups, const Amounts& targets) {
  for (std::size_t i = groups.size(); i-- > 0;) {
    const std::int64_t spare = targets[i] - groups[i].held;
    if (spare > 0 && groups[i].smallest_pending > spare) return i;
  }
  return kNobodyBlocked;
}

std::vector<std::int64_t> fair_targets(const std::vector<ShareGroup>& groups, std::int64_t capacity) {
  WaterLevel water{groups, Slope::Demand};
  for (std::size_t round = 0;; ++round) {
    const Amounts& targets = water.divide(capacity);
    if (round == groups.size() || sum_of(targets) < capacity) return targets;
    const std::size_t blocked = blocked_gang(water.groups(), targets);
    if (blocked == kNobodyBlocked) return targets;
    water.freeze(blocked);
  }
}

std::vector<std::int64_t> max_min_targets(const std::vector<ShareGroup>& groups, std::int64_t capacity) {
  std::vector<ShareGroup> open = groups;
  for (std::size_t frozen = 0;; ++frozen) {
    Amounts offered;
    for (const ShareGroup& group : open) offered.push_back(group.pinned);
    Amounts credit = offered;
    std::int64_t left = std::max<std::int64_t>(0, capacity - sum_of(offered));
    std::vector<std::size_t> order(open.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return open[a].demand < open[b].demand; });
    for (;;) {
      const Amounts credit_before = credit;
      const std::int64_t given = fill_round(open, order, offered, credit, left);
      left -= given;
      if (left == 0 || (given == 0 && credit == credit_before)) break;
    }
    if (left > 0 || frozen == groups.size()) return offered;
    const std::size_t blocked = blocked_gang(open, offered);
    if (blocked == kNobodyBlocked) return offered;
    open[blocked].demand = open[blocked].pinned = open[blocked].held;
    open[blocked].smallest_pending = 0;
  }
}

}  // namespace penstock::policy
