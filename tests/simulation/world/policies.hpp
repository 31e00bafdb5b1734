// A random small policy for a simulated cluster, and its passes.
#pragma once

#include "common/base/rng.hpp"
#include "common/protocol/graph.hpp"
#include "common/protocol/policy_config.hpp"
#include "supervisor/core/actions.hpp"
#include "supervisor/core/events.hpp"
#include "supervisor/core/job.hpp"

namespace penstock::simulation {

/// One pool for everybody, or up to three, of which each but the first has one worker; some projects with or without a
/// department, some accounts. Nothing in it keeps a job from running for ever.
PolicyConfig random_policy(Rng& rng);

/// Levels of service, queues and limits, which a job that is alone is never too large for.
void add_rules(Rng& rng, PolicyConfig& config);
/// The wishes of a job under them.
void draw_rules(Rng& rng, const PolicyConfig& config, JobSpec& spec);

/// The same owners under other rules; whatever could run for ever still can.
PolicyConfig changed_policy(Rng& rng, PolicyConfig config);

/// A part of the projects is guaranteed memory, within what their departments are then guaranteed.
void guarantee_memory(Rng& rng, PolicyConfig& config);

/// The wishes of a job under that policy. A gang is no larger than `gang_max`; its pool has one of the
/// workers, of which there are `hosts`.
JobPolicy random_wishes(Rng& rng, const PolicyConfig& config, std::uint32_t gang_max, std::uint64_t hosts);

/// Whether the project of the job may hold as many slots as the largest subtask takes; departments here have no limit.
bool may_hold_largest(const PolicyConfig& config, const JobPolicy& wishes, const Graph& graph);

/// The share of a job by policy, and what it has, on each band; for people.
std::string describe_shares(const supervisor::Job& job, const supervisor::WorkerTable& workers);

}  // namespace penstock::simulation
