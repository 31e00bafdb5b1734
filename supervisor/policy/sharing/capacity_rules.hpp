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

/// The jobs that may leave for another one: those of its own project, or of all others.
enum class Leavers : std::uint8_t { OwnProject, OtherProjects };

/// Both tests, up the whole chain of a project. Departments supersede their projects.
std::optional<Refusal> refuse(const std::vector<Owner>& owners, std::uint32_t project, const Resources& amount,
                              bool preemptible);

/// The same for the best case that all those have left that may be preempted: a refusal here holds whichever of them
/// leave.
std::optional<Refusal> refuse_at_best(const std::vector<Owner>& owners, std::uint32_t project, const Resources& amount,
                                      bool preemptible, Leavers leavers);

}  // namespace penstock::policy
