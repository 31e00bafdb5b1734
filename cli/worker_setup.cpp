#include "cli/worker_setup.hpp"

#include <CLI/CLI.hpp>

#include "common/runtime/host.hpp"

namespace penstock::cli {

void add_worker_flags(CLI::App& command, WorkerFlags& flags) {
  command.add_option("--slots", flags.slots, "Slots of the CPU band (default: one for each core, each NUMA node a band)");
  command.add_option("--memory", flags.memory, "Memory of the CPU bands, e.g. 8GiB (default: as found)");
  command.add_flag("--no-gpus", flags.no_gpus, "Do not offer the GPUs of this host");
  command.add_option("--operators", flags.operators, "Shared library of native operators; may be repeated")->type_name("FILE");
  command.add_option("--spool", flags.spool, "Directory for the working directories of commands");
}

Result<worker::WorkerOptions> describe_worker(const WorkerFlags& flags, const FileConfig& config) {
  worker::WorkerOptions options;
  options.name = flags.name.empty() ? host_name() : flags.name;
  options.core = config.worker;
  options.link = config.link;
  options.wire = config.wire;
  BandDescription band;
  band.name = "numa-0";
  band.capacity.slots = MilliSlots{static_cast<std::int64_t>((flags.slots > 0 ? flags.slots : 2) * 1000)};
  band.capacity.memory = kGiB;
  band.memory_hard_limit = kGiB;
  options.bands = {band};
  return options;
}

}  // namespace penstock::cli
