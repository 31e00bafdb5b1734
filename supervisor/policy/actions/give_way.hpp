// Victims that move give way to the jobs of their project that come before them.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/quota_pass.hpp"

namespace penstock::policy {

/// Members of one project that a search has just moved to other places, for the sake of `reclaimer` or, if that is
/// `kNone`, of a job of the same project. Serves the project's waiting jobs and those members in the order of its jobs
/// on the bands to which the members moved. The trial changes only if a job that waits gets a place, the project holds
/// no less than before, and no gang or protected job is cut. The page has no such rule: there a victim that moves comes
/// before its betters. Cost: the project's jobs.
void give_way(QuotaPass& pass, std::uint32_t project, const std::vector<std::uint32_t>& moved, std::uint32_t reclaimer);

}  // namespace penstock::policy
