// How long a job is left alone after its start.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/time.hpp"
#include "supervisor/policy/sharing/owner.hpp"

namespace penstock::policy {

/// Of the victim's project, or the first ancestor that says so; else the default. Spec: policy-runai 12.
Duration preempt_min_runtime(const std::vector<Owner>& owners, std::uint32_t victim, Duration fallback);
/// The same for reclaim, of the victim alone.
Duration reclaim_min_runtime(const std::vector<Owner>& owners, std::uint32_t victim, Duration fallback);
/// Reclaim between two projects: of the victim's branch below the common ancestor, then upwards; between different
/// roots, of the victim's root alone.
Duration reclaim_min_runtime_between(const std::vector<Owner>& owners, std::uint32_t reclaimer, std::uint32_t victim,
                                     Duration fallback);

}  // namespace penstock::policy
