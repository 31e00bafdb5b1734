// Runs programs: one process group for each attempt.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/loop/loop.hpp"
#include "common/protocol/failure.hpp"
#include "common/protocol/graph.hpp"
#include "common/protocol/report.hpp"
#include "worker/runner/command/band_devices.hpp"
#include "worker/runner/command/job_users.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

/// One attempt of a command's subtask, with copies of what it needs.
struct CommandRun {
  std::uint64_t ticket = 0;  ///< Given back with the end.
  SubtaskId id;
  Attempt attempt;
  SlotIndex lane;
  Template program;
  std::string payload;          ///< Further arguments; see `split_arguments`.
  std::vector<DataKey> inputs;  ///< Data inputs in their order in the graph; a key without a job is an empty one.
  JobIdentity identity{};
  DeviceSet devices = 0;  ///< Of a band with several; 0: all.
};

/// The end of a run. Output 0 is its standard output, in the store already unless it is in `unstored`; the others are
/// empty.
struct CommandEnd {
  std::uint64_t ticket = 0;
  Attempt attempt;
  bool succeeded = true;
  std::uint32_t run_us = 0;
  std::int64_t peak_bytes = 0;  ///< Memory; 0: unknown. Without a memory group only that of the program itself.
  std::vector<OutputReport> outputs;
  std::string unstored;  ///< The bytes of output 0 if they have yet to be put into the store.
  std::unique_ptr<FailureDetail> failure;
};

struct CommandRunnerConfig {
  std::string band;     ///< Name of the band, told to programs as PENSTOCK_BAND.
  std::string cluster;  ///< Addresses of supervisors, told to programs as PENSTOCK_SUPERVISOR; empty: none.
  BandDevices devices;  ///< The band's GPUs: a program sees those of its run only.
  /// For data on these GPUs, which leave them for seconds; of this runner only. Null: runs wait on the loop's thread.
  std::shared_ptr<BlockingWork> device_moves;
  std::vector<int> processors;  ///< To which programs are bound; empty: all.
  std::string spool;            ///< Working directories are below it; empty: the directory for temporary files.
  std::shared_ptr<BlockingWork> removals;  ///< Of working directories; see `Spool`.
  std::string checkpoints;  ///< Directory on shared storage, below which preempted programs save their state; or empty.
  std::shared_ptr<JobUsers> users;  ///< Null: all programs run under the worker's own account.
  bool ends_daemons = false;  ///< Ends also processes that have left their group; see `Daemons`.
  /// For templates without an output limit: a program that writes more fails.
  std::int64_t output_bytes_max = 16 << 20;
  /// Output of up to so many bytes is put into the store by the runner: handing it to another thread would take longer.
  std::size_t stored_at_once_max = 64 << 10;
  std::size_t tail_bytes = 4096;                            ///< Of standard error, reported with a failure.
  Duration measure_every = std::chrono::milliseconds{250};  ///< Interval of measuring the memory of runs.
  /// Called that often with the memory of all runs together, and with 0 when the last has ended. Of a run without a
  /// memory group only the program itself counts, not its children. May be empty.
  std::function<void(Bytes)> on_measured;
};

/// Starts a program for each run, on the loop's thread, and reports its end.
///
/// - Account: as `JobUsers` decides for the owner of the job. Under another one than the worker's the environment of
///   the worker is not passed on.
/// - Arguments: the template's, then the subtask's payload. Environment: the worker's, the template's, and
///   PENSTOCK_JOB, _SUBTASK, _ATTEMPT, _SLOT, _BAND; on bands of GPUs CUDA_VISIBLE_DEVICES; while a policy is in force
///   PENSTOCK_CHECKPOINT_DIR, the same for all attempts of a subtask.
/// - Standard input: the template's; if that is empty, all data inputs one after the other.
/// - The attempt ends when the program itself has ended: the rest of its process group is killed, so that nothing uses
///   a slot that is given to another run. Output written until then is kept. Daemons that have left the group are ended
///   as well if the process is the runner's own (`ends_daemons`).
/// - A run that requests memory of its GPUs begins when data have left these to make room, and a run with
///   inputs on a device begins when they are on the host; `device_moves` does both. Meanwhile the run can be
///   stopped.
/// - The core decides on time limits and on the grace between asking and killing, and calls `stop`. A request for
///   memory becomes a limit where control groups can be written.
/// - Programs do not outlive the worker, not even a killed one (GroupGuard).
/// Cost: `posix_spawn`, some 0.5 ms, and 30 us.
class CommandRunner {
 public:
  /// May be called from within `start`, for a program that cannot be started, and `stop`, for a run that has not begun.
  using OnEnd = std::function<void(CommandEnd&&)>;

  CommandRunner(Loop& loop, ObjectStore& store, CommandRunnerConfig config, OnEnd on_end);
  /// Kills all runs, waits for them, and reports no ends.
  ~CommandRunner();
  /// Begins to kill without waiting, so that the runs of several bands end at the same time. REQUIRES: it is destroyed
  /// next.
  void end();
  CommandRunner(const CommandRunner&) = delete;
  CommandRunner& operator=(const CommandRunner&) = delete;

  /// REQUIRES: no run with that ticket.
  void start(CommandRun run);
  /// Asks (TERM) or ends (KILL) the process group of a run; its end is reported as usual. Unknown tickets are ignored.
  void stop(std::uint64_t ticket, bool kill);
  /// Ends all runs now without reporting their ends; their tickets may be used again.
  void kill_all();
  /// A process that another component has started here has ended; ends the processes that it left outside its group,
  /// which have that entry (`NAME=value`) in their environment. Does nothing without `ends_daemons`.
  void end_daemons(const std::string& mark);
  /// Programs that have not ended yet, reported or not, and those that wait for their device.
  std::size_t running() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
