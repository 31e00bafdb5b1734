// The configuration file: `penstock.toml`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/host/topology.hpp"
#include "common/protocol/border_config.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/metrics_config.hpp"

namespace penstock {

/// All settings of the file. A setting that the file leaves out has its default.
struct FileConfig {
  LinkConfig link;                  ///< `[link]`
  WireConfig wire;                  ///< `[wire]`
  SecurityConfig security;          ///< `[security]`
  AuditConfig audit;                ///< `[audit]`
  MetricsConfig metrics;            ///< `[metrics]`
  SupervisorConfig supervisor;      ///< `[supervisor]`, `[graph]` and `[users]` for its limits.
  WorkerConfig worker;              ///< `[worker]`
  TopologyOptions topology;         ///< `[host]` and each `[[band]]`
  std::vector<std::string> labels;  ///< Of `[host]`: jobs and projects may limit themselves to workers with a label.
  /// Of `[worker]`: the worker runs jobs of these users, beside those that it runs anyway; `*`: of all.
  std::vector<std::string> accept_users;
};

/// Reads a file. Errors: InvalidArgument for one that cannot be read, and those of `parse_config`.
Result<FileConfig> read_config_file(const std::string& path);

/// Durations are texts like "10s", bytes are texts like "512MiB" or integers. Every value is checked against its range
/// (common/protocol/settings.hpp). Errors, with `path:line:column` as subject: ParseError for text that is not TOML;
/// InvalidArgument for an unknown table or key (the remedy names the nearest) and for a value of the wrong kind or out
/// of its range. After an error no setting is used.
Result<FileConfig> parse_config(std::string_view text, const std::string& path);

/// Changes settings, as `--set` of the command line: `worker.report_after=5ms`. Settings that depend on each other are
/// checked when all have been changed. Errors as above, with the setting as subject; then nothing has changed.
Result<void> change_settings(FileConfig& config, const std::vector<std::string>& settings);

/// The whole configuration as a file, each setting with its meaning and range. The text reads back to the same values.
std::string print_config(const FileConfig& config);

/// A text as TOML writes it, in quotes.
std::string quote_toml(std::string_view text);

}  // namespace penstock
