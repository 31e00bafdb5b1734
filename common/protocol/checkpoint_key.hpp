// The name under which attempts of a job save state for later ones.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "common/protocol/graph.hpp"

namespace penstock {

/// The entry of a template's environment by which the supervisor names a job for all its attempts, on all workers and
/// in all terms; present while a policy is in force. Only the supervisor sets it: the saved state is removed when the
/// job has ended, so an entry from a client is not sent to workers.
inline constexpr std::string_view kCheckpointKey = "PENSTOCK_CHECKPOINT_KEY";

/// Whether an entry of a template's environment is this one.
inline bool is_checkpoint_key(std::string_view entry) {
  return entry.starts_with(kCheckpointKey) && entry.substr(kCheckpointKey.size()).starts_with('=');
}

/// The job's name in that entry; empty if there is none, or if the name is not of this job or not a valid directory.
/// Only for commands: no other runner saves state.
inline std::string_view checkpoint_key_of(const Template& program, JobId job) {
  if (program.runner != RunnerKind::Command) return {};
  const auto at = std::find_if(program.environment.rbegin(), program.environment.rend(), is_checkpoint_key);
  if (at == program.environment.rend()) return {};
  const std::string_view key = std::string_view{*at}.substr(kCheckpointKey.size() + 1);
  return key.starts_with(to_string(job) + ".") && key.find('/') == std::string_view::npos ? key : std::string_view{};
}

}  // namespace penstock
