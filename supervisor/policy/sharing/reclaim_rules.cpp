#include "supervisor/policy/sharing/reclaim_rules.hpp"

#include <algorithm>

#include "supervisor/policy/wide.hpp"

namespace penstock::policy {
namespace {

Resources allocated(const Owner& owner) {
  return {owner.of[0].allocated, owner.of[1].allocated, owner.of[2].allocated};
}

bool within_guarantee(const Owner& owner, const Resources& held) {
  for (std::size_t resource = 0; resource < kResources; ++resource)
    if (!at_most(held.of(resource), owner.of[resource].guaranteed)) return false;
  return true;
}

/// held / share, as a fraction; a share of 0 in use is endless, one without bound is never used up.
struct Ratio {
  bool endless = false;
  bool unbounded = false;
  Fraction value;
};

Ratio ratio(std::int64_t held, std::int64_t share) {
  if (share == kUnlimited) return {false, true, {0, 1}};
  if (share == 0) return {held > 0, false, {0, 1}};
  return {false, false, {held, share}};
}

/// `u > 1` and `u * saturation >= v`.
bool passes(const Ratio& mine, const Ratio& theirs, std::int64_t saturation) {
  if (mine.endless) return true;
  if (!(Fraction{1, 1} < mine.value)) return false;
  if (theirs.endless) return false;
  return Wide{mine.value.numerator} * saturation * theirs.value.denominator >=
         Wide{theirs.value.numerator} * 1000 * mine.value.denominator;
}

/// Amounts that are left while pieces go.
class Remaining {
 public:
  explicit Remaining(const std::vector<Owner>& owners)
      : owners_(owners), amounts_(owners.size()), touched_(owners.size(), false) {
    for (std::size_t i = 0; i < owners.size(); ++i) amounts_[i] = allocated(owners[i]);
  }
  void take(std::uint32_t project, const Resources& amount) {
    for (std::uint32_t at = project; at != kNone; at = owners_[at].parent) {
      amounts_[at] -= amount;
      touched_[at] = true;
    }
  }
  void give(std::uint32_t project, const Resources& amount) {
    for (std::uint32_t at = project; at != kNone; at = owners_[at].parent) amounts_[at] += amount;
  }
  const Resources& of(std::uint32_t owner) const { return amounts_[owner]; }
  bool touched(std::uint32_t owner) const { return touched_[owner]; }

 private:
  const std::vector<Owner>& owners_;
  std::vector<Resources> amounts_;
  std::vector<bool> touched_;
};

}  // namespace

bool may_reclaim(const std::vector<Owner>& owners, const Reclaimer& reclaimer) {
  const Owner& owner = owners[reclaimer.project];
  for (std::size_t resource = 0; resource < kResources; ++resource) {
    const OwnedAmount& owned = owner.of[resource];
    if (!at_most(owned.allocated + reclaimer.amount.of(resource), owned.fair_share)) return false;
    if (!reclaimer.preemptible && !at_most(owned.fixed + reclaimer.amount.of(resource), owned.guaranteed)) return false;
  }
  return true;
}

bool victim_is_over_share(const Owner& victim, const Resources& remaining) {
  for (std::size_t resource = 0; resource < kResources; ++resource)
    if (!at_most(remaining.of(resource), victim.of[resource].allocatable())) return true;
  return false;
}

bool would_be_within_guarantee(const Owner& owner, const Resources& more) {
  return within_guarantee(owner, allocated(owner) + more);
}

bool reclaimer_is_guaranteed(const Owner& reclaimer, const Resources& amount, const Owner& victim,
                             const Resources& remaining) {
  return would_be_within_guarantee(reclaimer, amount) && !within_guarantee(victim, remaining);
}

bool reclaim_is_fair(const std::vector<Owner>& owners, const Reclaimer& reclaimer,
                     const std::vector<ReclaimedPiece>& pieces, std::int64_t saturation) {
  Remaining remaining{owners};
  Resources involved = reclaimer.amount;
  for (const ReclaimedPiece& piece : pieces) {
    const Branches sides = branches_of(owners, reclaimer.project, piece.project);
    const Owner& victim = owners[sides.b];
    if (!victim_is_over_share(victim, remaining.of(sides.b)) &&
        !reclaimer_is_guaranteed(owners[sides.a], reclaimer.amount, victim, remaining.of(sides.b)))
      return false;
    remaining.take(piece.project, piece.amount);
    involved += piece.amount;
  }
  remaining.give(reclaimer.project, reclaimer.amount);
  for (std::uint32_t mine = reclaimer.project; mine != kNone; mine = owners[mine].parent) {
    for (std::uint32_t other = 0; other < owners.size(); ++other) {
      if (other == mine || owners[other].parent != owners[mine].parent || !remaining.touched(other)) continue;
      for (std::size_t resource = 0; resource < kResources; ++resource) {
        if (involved.of(resource) <= 0) continue;
        const std::int64_t my_share = owners[mine].of[resource].fair_share;
        const std::int64_t their_share = owners[other].of[resource].fair_share;
        if ((my_share == kUnlimited && their_share == kUnlimited) || their_share == 0) continue;
        if (passes(ratio(remaining.of(mine).of(resource), my_share),
                   ratio(remaining.of(other).of(resource), their_share), saturation))
          return false;
      }
    }
    if (reclaimer.preemptible) continue;
    for (std::size_t resource = 0; resource < kResources; ++resource)
      if (!at_most(owners[mine].of[resource].fixed + reclaimer.amount.of(resource),
                   owners[mine].of[resource].guaranteed))
        return false;
  }
  return true;
}

bool would_come_back(const std::vector<Owner>& owners, const Reclaimer& reclaimer,
                     const std::vector<ReclaimedPiece>& pieces) {
  Remaining remaining{owners};
  for (const ReclaimedPiece& piece : pieces) remaining.take(piece.project, piece.amount);
  remaining.give(reclaimer.project, reclaimer.amount);
  return std::any_of(pieces.begin(), pieces.end(), [&](const ReclaimedPiece& piece) {
    const Branches sides = branches_of(owners, reclaimer.project, piece.project);
    return within_guarantee(owners[sides.b], remaining.of(sides.b) + piece.amount) &&
           !within_guarantee(owners[sides.a], remaining.of(sides.a));
  });
}

}  // namespace penstock::policy
