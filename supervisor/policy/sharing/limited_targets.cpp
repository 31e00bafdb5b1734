#include "supervisor/policy/sharing/limited_targets.hpp"

#include <algorithm>
#include <utility>

#include "supervisor/policy/wide.hpp"

namespace penstock::policy {
namespace {

using Amounts = std::vector<std::int64_t>;
using Positions = std::vector<std::uint32_t>;
constexpr std::size_t kNoLimit = ~std::size_t{0};

class Bottlenecks {
 public:
  Bottlenecks(const std::vector<ShareGroup>& groups, const std::vector<ShareLimit>& limits, const DivideSlots& divide)
      : groups_(groups), divide_(divide), amounts_(groups.size(), 0), settled_(groups.size(), false) {
    limits_of_.resize(groups.size());
    has_owners_ = std::any_of(groups.begin(), groups.end(), [](const ShareGroup& each) { return each.node != kNone; });
    for (std::size_t limit = 0; limit < limits.size(); ++limit) {
      left_.push_back(limits[limit].slots);
      groups_of_.push_back(limits[limit].groups);
      for (const std::uint32_t group : limits[limit].groups) {
        limits_of_[group].push_back(limit);
        left_.back() -= groups[group].pinned;
      }
    }
  }

  const Amounts& run(std::int64_t capacity) {
    const auto is_gang = [](const ShareGroup& group) {
      return group.smallest_pending > 1 || group.unit > 1 || group.core > 1;
    };
    if (std::any_of(groups_.begin(), groups_.end(), is_gang)) settle_all(capacity, Gangs::Disregarded);
    settle_all(capacity, Gangs::Regarded);
    return amounts_;
  }

 private:
  enum class Gangs : std::uint8_t { Disregarded, Regarded };

  void settle_all(std::int64_t capacity, Gangs gangs) {
    do {
      Positions open;
      std::int64_t rest = capacity;
      for (std::uint32_t group = 0; group < groups_.size(); ++group) {
        if (settled_[group])
          rest -= amounts_[group];
        else
          open.push_back(group);
      }
      give(open, rest, gangs);
    } while (settle_what_binds());
  }

  void give(const Positions& to, std::int64_t slots, Gangs gangs) {
    slots = std::max<std::int64_t>(0, slots);
    Positions all = to;
    // Settled slots count for the owners of those groups: each is shown as one that keeps what it has.
    if (has_owners_) {
      for (std::uint32_t group = 0; group < groups_.size(); ++group)
        if (settled_[group]) all.push_back(group), slots += amounts_[group];
      std::sort(all.begin(), all.end());
    }
    std::vector<ShareGroup> among;
    among.reserve(all.size());
    for (const std::uint32_t group : all) {
      among.push_back(groups_[group]);
      ShareGroup& each = among.back();
      if (settled_[group]) each.demand = each.pinned = each.held = amounts_[group];
      if (settled_[group] || gangs == Gangs::Disregarded) each.smallest_pending = each.core = 0, each.unit = 1;
    }
    const Amounts given = divide_(among, slots);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!settled_[all[i]]) amounts_[all[i]] = given[i];
  }

  /// The amount beyond the part that may not be taken from it anyway.
  std::int64_t taken(std::uint32_t group) const { return amounts_[group] - groups_[group].pinned; }

  Amounts loads_of(const Positions& groups) const {
    Amounts loads(left_.size(), 0);
    for (const std::uint32_t group : groups)
      for (const std::size_t limit : limits_of_[group]) loads[limit] += taken(group);
    return loads;
  }

  /// Of the limits with more load than they have left, the one that has the smallest part of it.
  std::size_t tightest(const Amounts& loads, const std::vector<bool>& passed_over) const {
    std::size_t found = kNoLimit;
    for (std::size_t limit = 0; limit < loads.size(); ++limit) {
      const std::int64_t left = std::max<std::int64_t>(0, left_[limit]);
      if (loads[limit] <= left || passed_over[limit]) continue;
      if (found != kNoLimit &&
          Wide{left} * loads[found] >= Wide{std::max<std::int64_t>(0, left_[found])} * loads[limit])
        continue;
      found = limit;
    }
    return found;
  }

  bool settle_what_binds() {
    Positions open;
    for (std::uint32_t group = 0; group < groups_.size(); ++group)
      if (!settled_[group]) open.push_back(group);
    Amounts loads = loads_of(open);
    const std::vector<bool> none(left_.size(), false);
    bool any = false;
    for (std::size_t limit = tightest(loads, none); limit != kNoLimit; limit = tightest(loads, none)) {
      settle(limit, loads);
      any = true;
    }
    return any;
  }

  /// Divides the rest of the limit, or of an exceeded one within it, among its groups, for good. The other groups of
  /// the first limit keep their amounts until later.
  void settle(std::size_t limit, Amounts& loads) {
    Positions inside;
    std::vector<std::pair<std::uint32_t, std::int64_t>> before;
    for (const std::uint32_t group : groups_of_[limit]) {
      if (settled_[group]) continue;
      inside.push_back(group);
      before.emplace_back(group, taken(group));
    }
    std::vector<bool> seen(left_.size(), false);
    for (std::size_t next = limit; next != kNoLimit; next = tightest(loads_of(inside), seen)) {
      seen[next] = true;
      const Positions& within = groups_of_[next];
      std::erase_if(inside,
                    [&](std::uint32_t group) { return !std::binary_search(within.begin(), within.end(), group); });
      std::int64_t slots = std::max<std::int64_t>(0, left_[next]);
      for (const std::uint32_t group : inside) slots += groups_[group].pinned;
      give(inside, slots, Gangs::Regarded);
    }
    for (const std::uint32_t group : inside) settled_[group] = true;
    for (const auto& [group, amount] : before) {
      if (!settled_[group]) {
        amounts_[group] = amount + groups_[group].pinned;
        continue;
      }
      for (const std::size_t of : limits_of_[group]) loads[of] -= amount, left_[of] -= taken(group);
    }
  }

  const std::vector<ShareGroup>& groups_;
  const DivideSlots& divide_;
  Amounts amounts_;
  std::vector<bool> settled_;
  bool has_owners_ = false;
  std::vector<std::vector<std::size_t>> limits_of_;  ///< By group.
  // By limit.
  std::vector<Positions> groups_of_;
  Amounts left_;  ///< Slots that settled groups leave of it, less those that may not be taken from a group.
};

}  // namespace

std::vector<std::int64_t> limited_targets(const std::vector<ShareGroup>& groups, const std::vector<ShareLimit>& limits,
                                          std::int64_t capacity, const DivideSlots& divide) {
  if (limits.empty()) return divide(groups, capacity);
  return Bottlenecks{groups, limits, divide}.run(capacity);
}

}  // namespace penstock::policy
