// The options of a worker: bands found or given, operators, places for files. For `worker` and for embedded runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/config/config_file.hpp"
#include "worker/actors/worker_actor.hpp"

namespace CLI {
class App;
}

namespace penstock::cli {

/// Flags that override the found values and those of the file.
struct WorkerFlags {
  std::optional<std::string> name;  ///< None: the host's.
  std::optional<double> slots;      ///< Of the one CPU band; none: as found.
  std::string memory;               ///< `8GiB`; empty: as found.
  bool no_gpus = false;
  bool gpus_together = false;
  std::vector<std::string> operators;  ///< Shared libraries.
  std::string spool;
  std::string spill;
  std::string checkpoints;
  /// Jobs and projects may limit themselves to workers with a label; empty: as the file says.
  std::vector<std::string> labels;
  std::string store_memory;  ///< `2GiB`; empty: as the file says.
};

void add_worker_flags(CLI::App& command, WorkerFlags& flags);
/// The real paths of the libraries of native operators that the flags name. Errors: as of `trusted_library`.
Result<std::vector<std::string>> operator_libraries(const WorkerFlags& flags);
/// The options of a worker on this host. Errors: InvalidArgument, Unsupported.
Result<worker::WorkerOptions> describe_worker(const WorkerFlags& flags, const FileConfig& config);

}  // namespace penstock::cli
