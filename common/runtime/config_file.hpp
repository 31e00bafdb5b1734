// The configuration file: `penstock.toml`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/config.hpp"
#include "common/runtime/topology.hpp"

namespace penstock {

/// Everything that the file can say. What it does not say has its default.
struct FileConfig {
  LinkConfig link;              ///< `[link]`
  WireConfig wire;              ///< `[wire]`
  SupervisorConfig supervisor;  ///< `[supervisor]`, and `[graph]` for its limits of graphs.
  WorkerConfig worker;          ///< `[worker]`
  TopologyOptions topology;     ///< `[host]` and each `[[band]]`
  std::vector<std::string> labels;  ///< Of `[host]`, too: what jobs and projects may limit themselves to.
};

/// Reads a file. Errors: InvalidArgument for one that cannot be read, and those of `parse_config`.
Result<FileConfig> read_config_file(const std::string& path);

/// Durations are texts like "10s", bytes are texts like "512MiB" or integers. Every value is checked against its range
/// (common/protocol/config.hpp). Errors, whose subject is `path:line:column`: ParseError for what is no TOML;
/// InvalidArgument for an unknown table or key (the remedy names the nearest) and for a value of the wrong kind or out
/// of its range. Nothing is half-read.
Result<FileConfig> parse_config(std::string_view text, const std::string& path);

/// Changes settings, as `--set` of the command line: `worker.report_after=5ms`. What must fit together is checked when
/// all have been changed. Errors as above, with the setting as subject; then nothing has changed.
Result<void> change_settings(FileConfig& config, const std::vector<std::string>& settings);

/// The whole configuration as a file, each setting with its meaning and range. It reads back to the same.
std::string print_config(const FileConfig& config);

/// A text as TOML writes it, in quotes.
std::string quote_toml(std::string_view text);

}  // namespace penstock
