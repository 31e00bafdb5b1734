// The jobs that an action may take from while minimum runtimes last.
#pragma once

#include <cstdint>

#include "supervisor/policy/quota_pass.hpp"

namespace penstock::policy {

/// Whether the job holds anything that may be taken: it is not protected, or has members above its minimum. The taker
/// is `reclaimer`, or a job of the same project if that is `kNone`.
bool may_be_taken_from(const QuotaPass& pass, std::uint32_t victim, std::uint32_t reclaimer);
/// Whether a protected job still has the minimum of all its gangs in the present state of the trial.
bool keeps_protected_core(const QuotaPass& pass, std::uint32_t victim, std::uint32_t reclaimer);

}  // namespace penstock::policy
