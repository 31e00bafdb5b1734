// The lists of `[policy]` in the configuration file. For the sources that read it alone: they are compiled so that a
// mistake in TOML is a value.
#pragma once

#include <toml++/toml.h>

#include <string>

#include "common/base/result.hpp"
#include "common/protocol/policy_config.hpp"

namespace penstock {

/// Whether that key of `[policy]` is a list of tables (pool, department, project, account, qos, queue or user) or the
/// table `usage`.
bool is_policy_part(std::string_view key);
/// Reads such a part; `path` begins the subjects of errors, which are those of `parse_config`.
Result<void> read_policy_part(const std::string& path, std::string_view key, const toml::node& node,
                              PolicyConfig& config);

}  // namespace penstock
