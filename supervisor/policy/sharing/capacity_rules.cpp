#include "supervisor/policy/sharing/capacity_rules.hpp"

namespace penstock::policy {
namespace {

std::optional<Refusal> first_above(const Resources& amount, const Owner& owner, std::int64_t OwnedAmount::*held,
                                   std::int64_t OwnedAmount::*bound) {
  for (std::size_t resource = 0; resource < kResources; ++resource) {
    if (amount.of(resource) <= 0) continue;
    const OwnedAmount& owned = owner.of[resource];
    const std::int64_t would_hold = owned.*held + amount.of(resource);
    if (!at_most(would_hold, owned.*bound)) return Refusal{kNone, resource, would_hold, owned.*bound};
  }
  return std::nullopt;
}

/// The owner when all have left that may be preempted and may leave.
Owner without_leavers(const Owner& owner, const Owner& project, Leavers leavers) {
  Owner left = owner;
  for (std::size_t resource = 0; resource < kResources; ++resource) {
    const std::int64_t own = project.of[resource].allocated - project.of[resource].fixed;
    const std::int64_t all = owner.of[resource].allocated - owner.of[resource].fixed;
    left.of[resource].allocated -= leavers == Leavers::OwnProject ? own : all - own;
  }
  return left;
}

/// The first owner up the chain that refuses; `as_tested` makes the owner that is looked at.
template <class AsTested>
std::optional<Refusal> first_refusal(const std::vector<Owner>& owners, std::uint32_t project, const Resources& amount,
                                     bool preemptible, const AsTested& as_tested) {
  for (std::uint32_t at = project; at != kNone; at = owners[at].parent) {
    const Owner& owner = as_tested(at);
    std::optional<Refusal> refusal = over_limit(owner, amount);
    if (!refusal && !preemptible) refusal = over_guarantee(owner, amount);
    if (!refusal) continue;
    refusal->owner = at;
    return refusal;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> over_limit(const Owner& owner, const Resources& amount) {
  return first_above(amount, owner, &OwnedAmount::allocated, &OwnedAmount::limit);
}

std::optional<Refusal> over_guarantee(const Owner& owner, const Resources& amount) {
  return first_above(amount, owner, &OwnedAmount::fixed, &OwnedAmount::guaranteed);
}

std::optional<Refusal> refuse(const std::vector<Owner>& owners, std::uint32_t project, const Resources& amount,
                              bool preemptible) {
  return first_refusal(owners, project, amount, preemptible,
                       [&owners](std::uint32_t at) -> const Owner& { return owners[at]; });
}

std::optional<Refusal> refuse_at_best(const std::vector<Owner>& owners, std::uint32_t project, const Resources& amount,
                                      bool preemptible, Leavers leavers) {
  Owner tested;
  return first_refusal(owners, project, amount, preemptible, [&](std::uint32_t at) -> const Owner& {
    return tested = without_leavers(owners[at], owners[project], leavers);
  });
}

}  // namespace penstock::policy
