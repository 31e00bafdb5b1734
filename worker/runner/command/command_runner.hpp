// Runs programs: one process group for each attempt.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/protocol/failure.hpp"
#include "common/protocol/graph.hpp"
#include "common/protocol/report.hpp"
#include "common/runtime/loop.hpp"
#include "worker/store/device_tier.hpp"
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
};

/// How it ended. Output 0 is what it wrote to standard output, in the store already unless it is in `unstored`; the
/// others are empty.
struct CommandEnd {
  std::uint64_t ticket = 0;
  Attempt attempt;
  bool succeeded = true;
  std::uint32_t run_us = 0;
  std::int64_t peak_bytes = 0;  ///< Of memory; 0: unknown. Without a memory group that of the program alone.
  std::vector<OutputReport> outputs;
  std::string unstored;  ///< The bytes of output 0 if they have yet to be put into the store.
  std::unique_ptr<FailureDetail> failure;
};

struct CommandRunnerConfig {
  std::string band;             ///< Name of the band, told to programs as PENSTOCK_BAND.
  std::string device;           ///< UUID of the band's GPU: the only one that programs see. Or empty.
  DeviceTier* tier = nullptr;   ///< The memory of that GPU; null: none. Outlives the runner.
  std::vector<int> processors;  ///< To which programs are bound; empty: all.
  std::string spool;            ///< Below it are the working directories; empty: somewhere for temporary files.
  std::string checkpoints;      ///< Shared by all workers: below it preempted programs save what they have; or empty.
  bool ends_daemons = false;    ///< What left its group is ended, too; see `Daemons`.
  std::int64_t output_bytes_max = 16 << 20;  ///< Of templates that say no limit, at which output is cut: more fails.
  /// Output of up to so many bytes is put into the store by the runner: to hand it to another thread takes longer.
  std::size_t stored_at_once_max = 64 << 10;
  std::size_t tail_bytes = 4096;                            ///< Of standard error, told with a failure.
  Duration measure_every = std::chrono::milliseconds{250};  ///< The memory of what runs.
  /// Told what all that runs uses together, that often, and 0 when the last has ended. Of a run without a memory group
  /// only the program itself counts, not what it has started. May be empty.
  std::function<void(Bytes)> on_measured;
};

/// Starts a program for each run, on the loop's thread, and tells how it ended.
///
/// - Arguments: the template's, then the subtask's payload. Environment: the worker's, the template's, and
///   PENSTOCK_JOB, _SUBTASK, _ATTEMPT, _SLOT, _BAND; for a GPU's band CUDA_VISIBLE_DEVICES; while a policy is in force
///   PENSTOCK_CHECKPOINT_DIR, the same for all attempts of a subtask.
/// - Standard input: the template's; if that is empty, all data inputs one after the other.
/// - When the program itself has ended its attempt has: what is left of its process group is killed, so that nothing
///   uses a slot that has been given to another. What it has written until then is kept. Daemons that have left the
///   group are ended as well where the process is the runner's own (`ends_daemons`).
/// - One that requests memory of the band's GPU begins when the data in its way have left that, and one whose inputs
/// are
///   on a device when they are on the host: both on a thread of the runner's. Meanwhile it can be stopped.
/// - Limits of time and the grace between asking and killing are decisions of the core, which calls `stop`. A request
///   for memory becomes a limit where control groups can be written.
/// - Programs do not outlive the worker, not even one that is killed (GroupGuard).
/// Cost: what `posix_spawn` costs, some 0.5 ms, and 30 us.
class CommandRunner {
 public:
  /// May be called from within `start`, for a program that cannot be started, and `stop`, for one that has not begun.
  using OnEnd = std::function<void(CommandEnd&&)>;

  CommandRunner(Loop& loop, ObjectStore& store, CommandRunnerConfig config, OnEnd on_end);
  /// Kills what runs, waits for it, and tells nobody.
  ~CommandRunner();
  /// Begins that, and does not wait, so that those of several bands end at the same time. REQUIRES: it is destroyed next.
  void end();
  CommandRunner(const CommandRunner&) = delete;
  CommandRunner& operator=(const CommandRunner&) = delete;

  /// REQUIRES: no run with that ticket.
  void start(CommandRun run);
  /// Asks (TERM) or ends (KILL) the process group of a run; its end is told as usual. Unknown tickets are ignored.
  void stop(std::uint64_t ticket, bool kill);
  /// Ends all that run now; their ends are not told, and their tickets may be used again.
  void kill_all();
  /// A process that somebody else has started here is gone; ends what it has left outside its group, which has that
  /// entry (`NAME=value`) in its environment. Nothing without `ends_daemons`.
  void end_daemons(const std::string& mark);
  /// Programs that have not ended yet, told or not, and those that wait for their device.
  std::size_t running() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
