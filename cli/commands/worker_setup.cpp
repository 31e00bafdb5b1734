#include "cli/commands/worker_setup.hpp"

#include <CLI/CLI.hpp>

#include <cmath>
#include <filesystem>

#include "cli/jobfile/field_reader.hpp"
#include "common/base/quantity.hpp"
#include "common/host/host.hpp"
#include "common/host/topology.hpp"
#include "common/protocol/labels.hpp"
#include "common/security/trusted_library.hpp"

namespace penstock::cli {

void add_worker_flags(CLI::App& command, WorkerFlags& flags) {
  command
      .add_option("--slots", flags.slots, "Slots of the CPU band (default: one for each core, each NUMA node a band)")
      ->type_name("NUMBER");
  command.add_option("--memory", flags.memory, "Memory of the CPU bands, e.g. 8GiB (default: as found)")
      ->type_name("BYTES");
  command.add_flag("--no-gpus", flags.no_gpus, "Do not offer the GPUs of this host");
  command.add_flag("--gpus-together", flags.gpus_together,
                   "Offer all GPUs of this host as one band, so that a subtask may have several");
  command
      .add_option(
          "--operators", flags.operators,
          "Shared library of native operators, of root or of this user; PATH@sha256:DIGEST also checks its content; "
          "may be repeated")
      ->type_name("FILE");
  command.add_option("--spool", flags.spool, "Directory for the working directories of commands")
      ->type_name("DIRECTORY");
  command
      .add_option("--store-memory", flags.store_memory,
                  "Memory for data, e.g. 2GiB; data beyond it go to disk (default: 40 % of --memory)")
      ->type_name("BYTES");
  command
      .add_option("--checkpoints", flags.checkpoints,
                  "Directory that all workers share, for outputs with `checkpoint = true` (default: none)")
      ->type_name("DIRECTORY");
  command
      .add_option("--spill", flags.spill, "Directory for data that memory has no room for (default: $TMPDIR or /tmp)")
      ->type_name("DIRECTORY");
}

namespace {

/// The bytes of a flag; zero would mean no limit.
Result<Bytes> positive_bytes(const char* flag, const std::string& text) {
  Result<Bytes> bytes = parse_bytes(text);
  if (bytes && *bytes <= Bytes{0})
    return Error{ErrorCode::InvalidArgument, flag, "must be more than 0", "leave it out for the default"};
  return bytes;
}

Result<Bytes> store_limit(const WorkerFlags& flags, const worker::WorkerOptions& options) {
  if (flags.store_memory.empty()) return worker::store_bytes_max(options);
  Result<Bytes> limit = positive_bytes("--store-memory", flags.store_memory);
  Bytes memory;
  for (const BandDescription& band : options.bands) memory += band.capacity.memory;
  if (limit && *limit > memory)
    return Error{ErrorCode::InvalidArgument, "--store-memory",
                 flags.store_memory + " is more than the worker's memory of " + to_text(memory),
                 "leave room for running subtasks: the default is 40 % of that memory"};
  return limit;
}

}  // namespace

Result<std::vector<std::string>> operator_libraries(const WorkerFlags& flags) {
  std::vector<std::string> paths;
  for (const std::string& library : flags.operators) {
    Result<std::string> path = trusted_library(library);
    if (!path) return std::move(path).error();
    paths.push_back(std::move(path).value());
  }
  return paths;
}

Result<worker::WorkerOptions> describe_worker(const WorkerFlags& flags, const FileConfig& config) {
  worker::WorkerOptions options;
  options.name = flags.name.value_or(host_name());
  if (Result<void> name = check_name_text(options.name); !name) {
    Error error = std::move(name).error();
    error.subject = "--name";
    return error;
  }
  options.core = config.worker;
  options.link = config.link;
  options.wire = config.wire;
  options.spool = flags.spool;
  options.spill = flags.spill;
  // Commands run in directories of their own, so the path must be absolute.
  if (!flags.checkpoints.empty()) options.checkpoints = std::filesystem::absolute(flags.checkpoints).string();
  PENSTOCK_TRY(check_labels("--label", flags.labels));
  options.labels = flags.labels.empty() ? config.labels : flags.labels;
  TopologyOptions topology = config.topology;
  if (flags.slots) {
    if (!(*flags.slots >= 1 && *flags.slots <= 65535) || *flags.slots != std::floor(*flags.slots))
      return Error{ErrorCode::InvalidArgument, "--slots", "must be a whole number from 1 to 65535", {}};
    topology.slots = static_cast<std::uint32_t>(*flags.slots);
  }
  if (!flags.memory.empty()) {
    const Result<Bytes> memory = positive_bytes("--memory", flags.memory);
    if (!memory) return memory.error();
    topology.memory = *memory;
  }
  if (flags.no_gpus) topology.gpus = false;
  if (flags.gpus_together) topology.gpus_together = true;
  Result<std::vector<FoundBand>> found = find_bands(topology);
  if (!found) return std::move(found).error();
  for (FoundBand& band : *found) {
    options.bands.push_back(std::move(band.band));
    options.processors.push_back(std::move(band.processors));
  }
  const Result<Bytes> store = store_limit(flags, options);
  if (!store) return store.error();
  options.core.store_bytes_max = *store;
  return options;
}

}  // namespace penstock::cli
