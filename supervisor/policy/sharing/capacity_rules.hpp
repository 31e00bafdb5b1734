// Whether a project may hold more: its limit, and its guarantee for jobs that may not be preempted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "supervisor/policy/sharing/owner.hpp"

namespace penstock::policy {

/// Why it may not.
struct Refusal {
  std::uint32_t owner = kNone;
  std::size_t resource = 0;
  std::int64_t would_hold = 0;
  std::int64_t may_hold = 0;
};

/// The first resource that `amount` asks for and of which the owner would pass its limit. Spec: policy-runai 6.
std::optional<Refusal> over_limit(const Owner& owner, const Resources& amount);
/// The same for a job that may not be preempted, against the guarantee.
std::optional<Refusal> over_guarantee(const Owner& owner, const Resources& amount);

/// Both tests, up the whole chain of a project. Departments supersede their projects.
std::optional<Refusal> refuse(const std::vector<Owner>& owners, std::uint32_t project, const Resources& amount,
                              bool preemptible);

}  // namespace penstock::policy
