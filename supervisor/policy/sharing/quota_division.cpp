#include "supervisor/policy/sharing/quota_division.hpp"

#include <algorithm>
#include <cmath>

#include "supervisor/policy/wide.hpp"

namespace penstock::policy {
namespace {

/// Weights and usage as integers, so that no order of summation matters.
constexpr double kWeightUnits = 1e9;

/// The rest of a sibling's slice, because only whole units are given.
struct Remainder {
  std::uint32_t owner = kNone;
  Wide numerator = 0;
  Wide denominator = 1;
};

/// One priority level of siblings that want more than is guaranteed to them.
class Level {
 public:
  Level(std::vector<Owner>& owners, std::vector<std::uint32_t> members, const ResourceDivision& division)
      : owners_(owners), members_(std::move(members)), division_(division) {}

  std::int64_t fill(std::int64_t left) {
    bool again = true;
    while (again && left > 0) again = round(left);
    return left;
  }

  /// Whole units that rounding kept back go to the largest remainders.
  std::int64_t give_remainders(std::int64_t left) {
    std::sort(remainders_.begin(), remainders_.end(), [this](const Remainder& a, const Remainder& b) {
      const Wide l = a.numerator * b.denominator;
      const Wide r = b.numerator * a.denominator;
      if (l != r) return l > r;
      const Owner& left_owner = owners_[a.owner];
      const Owner& right_owner = owners_[b.owner];
      return left_owner.created != right_owner.created ? left_owner.created < right_owner.created : a.owner < b.owner;
    });
    for (const Remainder& each : remainders_) {
      // No owner gets more than it wants: the excess would be lost. Spec: policy-runai 4, weak points.
      const std::int64_t given = std::min({division_.quantum, left, need(each.owner)});
      if (given <= 0) continue;
      amount(each.owner).fair_share += given;
      left -= given;
    }
    return left;
  }

 private:
  OwnedAmount& amount(std::uint32_t owner) { return owners_[owner].of[division_.resource]; }
  std::int64_t need(std::uint32_t owner) {
    return std::max<std::int64_t>(0, amount(owner).requestable() - amount(owner).fair_share);
  }

  /// The part of each sibling that still wants something: its weight, less its recent use.
  std::vector<std::int64_t> parts() {
    std::int64_t weights = 0;
    bool any_usage = false;
    for (const std::uint32_t owner : members_) {
      if (need(owner) == 0) continue;
      weights += amount(owner).weight;
      any_usage = any_usage || amount(owner).usage > 0;
    }
    std::vector<std::int64_t> all;
    for (const std::uint32_t owner : members_) {
      if (weights <= 0 || need(owner) == 0)
        all.push_back(0);
      else if (!any_usage)
        all.push_back(std::max<std::int64_t>(0, amount(owner).weight));
      else {
        const double weight = static_cast<double>(amount(owner).weight) / static_cast<double>(weights);
        const double part = weight + division_.usage_strength * (weight - amount(owner).usage);
        all.push_back(std::max<std::int64_t>(0, std::llround(part * kWeightUnits)));
      }
    }
    return all;
  }

  /// True if another round can give more.
  bool round(std::int64_t& left) {
    const std::vector<std::int64_t> all = parts();
    Wide sum = 0;
    for (const std::int64_t part : all) sum += part;
    if (sum == 0) return false;
    const std::int64_t offered = left;
    bool somebody_is_content = false;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (all[i] == 0) continue;
      const std::uint32_t owner = members_[i];
      const Wide slice = Wide{offered} * all[i];
      const Wide wanted = Wide{need(owner)} * sum;
      if (wanted <= slice) {
        somebody_is_content = somebody_is_content || wanted < slice;
        forget(owner);
        left -= need(owner);
        amount(owner).fair_share += need(owner);
        continue;
      }
      const Wide unit = sum * division_.quantum;
      const auto given = static_cast<std::int64_t>(slice / unit) * division_.quantum;
      note({owner, slice % unit, unit});
      amount(owner).fair_share += given;
      left -= given;
    }
    return somebody_is_content;
  }

  void forget(std::uint32_t owner) {
    std::erase_if(remainders_, [owner](const Remainder& each) { return each.owner == owner; });
  }
  void note(const Remainder& remainder) {
    forget(remainder.owner);
    if (remainder.numerator > 0) remainders_.push_back(remainder);
  }

  std::vector<Owner>& owners_;
  std::vector<std::uint32_t> members_;
  const ResourceDivision& division_;
  std::vector<Remainder> remainders_;
};

}  // namespace

std::int64_t divide_guaranteed(std::vector<Owner>& owners, const std::vector<std::uint32_t>& siblings,
                               const ResourceDivision& division, std::int64_t total) {
  std::int64_t left = total;
  for (const std::uint32_t sibling : siblings) {
    OwnedAmount& amount = owners[sibling].of[division.resource];
    const std::int64_t guaranteed = amount.guaranteed == kUnlimited ? total : amount.guaranteed;
    amount.fair_share = std::min(guaranteed, amount.requestable());
    left -= amount.fair_share;
  }
  // Guarantees that were given twice are still each owner's fair share; there is just nothing beyond them.
  return std::max<std::int64_t>(0, left);
}

std::int64_t divide_over_quota(std::vector<Owner>& owners, const std::vector<std::uint32_t>& siblings,
                               const ResourceDivision& division, std::int64_t left) {
  if (left <= 0) return left;
  std::vector<std::uint32_t> sorted = siblings;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return owners[a].priority > owners[b].priority; });
  std::vector<Level> levels;
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin;
    while (end < sorted.size() && owners[sorted[end]].priority == owners[sorted[begin]].priority) ++end;
    levels.emplace_back(owners,
                        std::vector<std::uint32_t>{sorted.begin() + static_cast<std::ptrdiff_t>(begin),
                                                   sorted.begin() + static_cast<std::ptrdiff_t>(end)},
                        division);
    begin = end;
  }
  for (Level& level : levels) left = level.fill(left);
  for (Level& level : levels) left = level.give_remainders(left);
  return left;
}

void divide_tree(std::vector<Owner>& owners, const Resources& total, double usage_strength) {
  std::vector<std::vector<std::uint32_t>> children(owners.size());
  std::vector<std::uint32_t> roots;
  for (std::uint32_t owner = 0; owner < owners.size(); ++owner)
    (owners[owner].parent == kNone ? roots : children[owners[owner].parent]).push_back(owner);
  for (std::size_t resource = 0; resource < kResources; ++resource) {
    // Whole devices, so that a share can be used; the other resources are fine enough as they are.
    const ResourceDivision division{resource, resource == static_cast<std::size_t>(Resource::Gpu) ? 1000 : 1,
                                    usage_strength};
    const auto divide = [&](const std::vector<std::uint32_t>& siblings, std::int64_t amount) {
      divide_over_quota(owners, siblings, division, divide_guaranteed(owners, siblings, division, amount));
    };
    divide(roots, total.of(resource));
    std::vector<std::uint32_t> open = roots;
    while (!open.empty()) {
      const std::uint32_t parent = open.back();
      open.pop_back();
      if (children[parent].empty()) continue;
      divide(children[parent], owners[parent].of[resource].fair_share);
      open.insert(open.end(), children[parent].begin(), children[parent].end());
    }
  }
}

}  // namespace penstock::policy
