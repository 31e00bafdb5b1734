// By which name what attempts of a job save is found by later ones.
#pragma once

#include <string_view>

#include "common/protocol/graph.hpp"

namespace penstock {

/// The entry of a template's environment by which the supervisor names a job for all its attempts, on all workers and
/// in all lives: it is there while a policy is in force.
inline constexpr std::string_view kCheckpointKey = "PENSTOCK_CHECKPOINT_KEY";

/// The job's name in that entry; empty if there is none that could be a directory's. The last one is the supervisor's.
inline std::string_view checkpoint_key_of(const Template& program) {
  for (auto at = program.environment.rbegin(); at != program.environment.rend(); ++at) {
    const std::string_view entry = *at;
    if (!entry.starts_with(kCheckpointKey) || entry.substr(kCheckpointKey.size(), 1) != "=") continue;
    const std::string_view key = entry.substr(kCheckpointKey.size() + 1);
    return key.starts_with('.') || key.find('/') != std::string_view::npos ? std::string_view{} : key;
  }
  return {};
}

}  // namespace penstock
