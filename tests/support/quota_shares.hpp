// The shares that Run:ai's rules give to projects and departments, written apart from the product, for tests that
// compare them with what runs. Spec: policy-runai 4.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace penstock {

/// A project or a department. Amounts are in whole devices.
struct QuotaOwner {
  static constexpr std::size_t kTop = SIZE_MAX;
  static constexpr std::int64_t kNoLimit = INT64_MAX;

  std::size_t above = kTop;
  std::int64_t quota = 0;
  std::int64_t limit = kNoLimit;
  std::int64_t weight = 0;
  std::int64_t priority = 100;
  std::int64_t request = 0;  ///< Of a department: of its projects together.
  std::int64_t share = 0;

  std::int64_t requestable() const { return std::min(request, limit); }
};

/// One level of priority among siblings: rounds of slices, and what rounding left for the largest remainders.
class QuotaLevel {
 public:
  explicit QuotaLevel(std::vector<QuotaOwner*> owners) : owners_(std::move(owners)), remainders_(owners_.size(), 0) {}

  std::int64_t give_slices(std::int64_t left) {
    for (bool again = true; again && left > 0;) {
      again = false;
      const std::int64_t offered = left;
      std::int64_t weights = 0;
      for (const QuotaOwner* each : owners_) weights += need(*each) > 0 ? each->weight : 0;
      if (weights == 0) break;
      std::vector<std::int64_t> given(owners_.size(), 0);
      for (std::size_t i = 0; i < owners_.size(); ++i) {
        const std::int64_t slice = need(*owners_[i]) > 0 ? offered * owners_[i]->weight : 0;  // Times `weights`.
        const bool is_content = need(*owners_[i]) * weights <= slice;
        again = again || need(*owners_[i]) * weights < slice;
        given[i] = is_content ? need(*owners_[i]) : slice / weights;
        remainders_[i] = is_content ? 0 : slice % weights;
      }
      for (std::size_t i = 0; i < owners_.size(); ++i) owners_[i]->share += given[i];
      for (const std::int64_t each : given) left -= each;
    }
    return left;
  }

  std::int64_t give_remainders(std::int64_t left) {
    std::vector<std::size_t> order(owners_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [this](std::size_t a, std::size_t b) { return remainders_[a] > remainders_[b]; });
    for (const std::size_t i : order)
      if (left > 0 && remainders_[i] > 0 && need(*owners_[i]) > 0) ++owners_[i]->share, --left;
    return left;
  }

 private:
  static std::int64_t need(const QuotaOwner& owner) {
    return std::max<std::int64_t>(0, owner.requestable() - owner.share);
  }

  std::vector<QuotaOwner*> owners_;
  std::vector<std::int64_t> remainders_;
};

/// Sets the share of the owners below `above`, and of all below these. Older owners come first in `owners`.
inline void divide_by_quota(std::vector<QuotaOwner>& owners, std::int64_t total, std::size_t above = QuotaOwner::kTop) {
  std::vector<QuotaOwner*> siblings;
  for (QuotaOwner& each : owners)
    if (each.above == above) siblings.push_back(&each);
  std::int64_t left = total;
  for (QuotaOwner* each : siblings) left -= each->share = std::min(each->quota, each->requestable());
  std::vector<std::int64_t> priorities;
  for (const QuotaOwner* each : siblings) priorities.push_back(each->priority);
  std::sort(priorities.rbegin(), priorities.rend());
  priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
  std::vector<QuotaLevel> levels;
  for (const std::int64_t priority : priorities) {
    std::vector<QuotaOwner*> level;
    for (QuotaOwner* each : siblings)
      if (each->priority == priority) level.push_back(each);
    levels.emplace_back(std::move(level));
  }
  for (QuotaLevel& level : levels) left = level.give_slices(left);
  for (QuotaLevel& level : levels) left = level.give_remainders(left);
  for (std::size_t i = 0; i < owners.size(); ++i)
    if (owners[i].above == above) divide_by_quota(owners, owners[i].share, i);
}

}  // namespace penstock
