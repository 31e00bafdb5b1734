// The configuration and the workers of a reference case of passes over a pool.
// tidy: foreign-file task, agents
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/policy/command_policy_case.hpp"
#include "tools/policy/live/live_cluster.hpp"

namespace penstock::tools {

/// Priorities of a case are from 1 to this. Spec: policy-determined 5.1.
inline constexpr std::int64_t kPriorityLeast = 99;

/// One pool, and each group of the file or a step as an account with its limit. Values that no site may have are told
/// to `checker`.
SupervisorConfig schedule_site(const cli::DocumentValue& file, CaseChecker& checker);
/// Slots are of a CPU band; `places` for tasks without slots, which are divided apart, of a device band. Its name is
/// the label of the worker.
Register schedule_worker(const std::string& name, std::int64_t slots, std::int64_t places);

/// The file and its steps: all that may have groups and tasks.
std::vector<const cli::DocumentValue*> sources_of(const cli::DocumentValue& file);
/// An amount of slots or places, as a cluster of a case may have it.
std::int64_t amount_in(const cli::DocumentValue& table, const char* field, std::int64_t fallback = 0);
/// Places of an agent for tasks without slots.
std::int64_t places_of(const cli::DocumentValue& agent);
std::int64_t slots_of_agents(const cli::DocumentValue& file);
/// Of jobs that have none.
std::int64_t default_priority(const cli::DocumentValue& file);
/// Whether jobs have fair shares; else they go by priority.
bool shares_slots(const cli::DocumentValue& file);

}  // namespace penstock::tools
