#include "supervisor/policy/sharing/min_runtime.hpp"

namespace penstock::policy {
namespace {

Duration first_set(const std::vector<Owner>& owners, std::uint32_t from, std::optional<Duration> Owner::*value,
                   Duration fallback) {
  for (std::uint32_t at = from; at != kNone; at = owners[at].parent)
    if ((owners[at].*value).has_value()) return *(owners[at].*value);
  return fallback;
}

}  // namespace

Duration preempt_min_runtime(const std::vector<Owner>& owners, std::uint32_t victim, Duration fallback) {
  return first_set(owners, victim, &Owner::preempt_min_runtime, fallback);
}

Duration reclaim_min_runtime(const std::vector<Owner>& owners, std::uint32_t victim, Duration fallback) {
  return first_set(owners, victim, &Owner::reclaim_min_runtime, fallback);
}

Duration reclaim_min_runtime_between(const std::vector<Owner>& owners, std::uint32_t reclaimer, std::uint32_t victim,
                                     Duration fallback) {
  if (victim == kNone || reclaimer == kNone) return fallback;
  const Branches branches = branches_of(owners, reclaimer, victim);
  if (branches.ancestor == kNone) return owners[branches.b].reclaim_min_runtime.value_or(fallback);
  return reclaim_min_runtime(owners, branches.b, fallback);
}

}  // namespace penstock::policy
