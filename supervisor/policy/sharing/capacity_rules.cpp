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

}  // namespace

std::optional<Refusal> over_limit(const Owner& owner, const Resources& amount) {
  return first_above(amount, owner, &OwnedAmount::allocated, &OwnedAmount::limit);
}

std::optional<Refusal> over_guarantee(const Owner& owner, const Resources& amount) {
  return first_above(amount, owner, &OwnedAmount::fixed, &OwnedAmount::guaranteed);
}

std::optional<Refusal> refuse(const std::vector<Owner>& owners, std::uint32_t project, const Resources& amount,
                              bool preemptible) {
  for (std::uint32_t at = project; at != kNone; at = owners[at].parent) {
    std::optional<Refusal> refusal = over_limit(owners[at], amount);
    if (!refusal && !preemptible) refusal = over_guarantee(owners[at], amount);
    if (!refusal) continue;
    refusal->owner = at;
    return refusal;
  }
  return std::nullopt;
}

}  // namespace penstock::policy
