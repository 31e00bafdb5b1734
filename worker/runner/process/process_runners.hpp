// Long-lived child processes that run subtasks: one for each lane and kind of program.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/ids.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/failure.hpp"
#include "common/protocol/graph.hpp"
#include "worker/runner/process/job_logs.hpp"
#include "worker/runner/process/slot_loan.hpp"
#include "worker/store/blocking_work.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

class JobUsers;

/// One attempt for a runner. All pointed-to memory stays until `run` returns.
struct ProcessRun {
  SlotIndex lane;
  std::uint64_t ticket = 0;
  SubtaskId id;
  Attempt attempt;
  const Template* program = nullptr;  ///< Selects the runner; its payload is shared by runs.
  std::string_view payload;
  std::span<const BlobPtr> inputs;  ///< In their order in the graph; null: an empty one.
  /// Holds this run's ticket once it is cancelled: set before `stop` is called, which may come too early to be heard.
  const std::atomic<std::uint64_t>* cancelled_ticket = nullptr;
  JobIdentity identity{};         ///< Of its job; none: not known.
  SlotLoan* loan = nullptr;       ///< Of its lane; null: the run may not lend its slot.
  std::string_view devices = {};  ///< UUIDs of its GPUs, where those of the band are divided among runs.
};

/// The end of a run.
struct ProcessResult {
  std::vector<std::pair<std::uint16_t, std::shared_ptr<Blob>>> outputs;
  std::unique_ptr<FailureDetail> failure;  ///< Null: it succeeded.
  std::int64_t peak_bytes = 0;             ///< Resident memory during the run, reported or observed; 0: unknown.
};

/// The memory of a runner with a run.
struct RunnerMemory {
  std::uint64_t ticket = 0;
  Attempt attempt;
  std::int64_t resident_bytes = 0;
};

/// The present memory of the runners of a band.
struct RunnersMemory {
  std::vector<RunnerMemory> runs;  ///< Runners with a run.
  /// Of all children, beyond `runner_bytes_spared` of each, without shared memory: data, which the store counts, and
  /// files.
  std::int64_t own_bytes = 0;
  std::int64_t idle_bytes = 0;  ///< The part of it in children without a run.
};

struct ProcessRunnersConfig {
  WorkerConfig limits;
  std::string band;             ///< Set for children as PENSTOCK_BAND.
  std::string devices;          ///< UUIDs of the band's GPUs: children see no others. Or empty.
  std::string cluster;          ///< Set for children as PENSTOCK_SUPERVISOR: addresses of supervisors. Or empty.
  std::vector<int> processors;  ///< Children are bound to these; empty: all.
  /// Waits for children that end, and starts others in advance; of these runners only. Null: `end_idle` waits, and no
  /// child is started in advance.
  std::shared_ptr<BlockingWork> reaper{};
  std::shared_ptr<JobUsers> users{};  ///< Null: all children run under the worker's own account.
  JobLogs* logs = nullptr;            ///< Receives children's output for subtasks; outlives them. Null: none.
  std::size_t slots = SIZE_MAX;       ///< Of the band.
  Duration spare_kept = std::chrono::seconds{10};  ///< See `end_spare`.
  std::size_t tail_bytes = 4096;                   ///< Of a child's output, reported with a failure.
  std::size_t message_bytes_max = 4096;            ///< Of a failure; the rest is cut off.
  std::size_t detail_bytes_max = 64 << 10;         ///< Of a failure; a longer one is left out: it would be useless cut.
  /// A child is gone. Processes that it left outside its group have `mark` in their environment. From any thread.
  std::function<void(const std::string& mark)> on_gone;
  std::string worker{};        ///< Set for children as PENSTOCK_WORKER: its name. Or empty.
  std::string data_address{};  ///< Set for children as PENSTOCK_WORKER_ADDRESS: where other hosts reach it. Or empty.
  Duration measure_every = std::chrono::milliseconds{250};  ///< Interval of measuring a run with a memory limit.
};

/// The runners of one band. The lanes' own threads run subtasks in them: a lane sends its run and sleeps until the end
/// arrives. A child serves one lane, one run after the other, for as long as it lives, and keeps the programs that it
/// was sent; another program, other arguments, environment, directory, user or GPUs need another child.
///
/// - The fault of a child affects its own subtask only: a child that dies, sends a malformed message, or uses more
///   memory than its subtask has requested is ended with its whole process group; the subtask fails with exit code,
///   signal and the last lines of output, and the next run starts another child.
/// - The output of children goes to the worker's log and to those of the jobs, line by line.
/// - Processes that a subtask leaves outside the group end with its child, not with the subtask (`on_gone`).
/// - A child that is no longer needed sees the end of its socket and has `kill_grace` to end by itself.
/// - Children do not outlive the worker, not even a killed one (GroupGuard).
/// Cost of a run beside the work: two wake-ups and four calls of the kernel, some 15 us; data beyond
/// `runner_inline_bytes_max` travel as memory segments.
class ProcessRunners {
 public:
  explicit ProcessRunners(ProcessRunnersConfig config);
  /// Waits for the ends of all remaining children. REQUIRES: no thread is in `run`.
  ~ProcessRunners();
  ProcessRunners(const ProcessRunners&) = delete;
  ProcessRunners& operator=(const ProcessRunners&) = delete;

  /// On the lane's thread; returns when the run has ended. REQUIRES: one run of a lane at a time.
  ProcessResult run(const ProcessRun& run);

  // From any thread:

  /// Interrupts (SIGINT) a run, or ends its child; ignored if the lane has another ticket by now.
  void stop(SlotIndex lane, std::uint64_t ticket, bool kill);
  /// Starts a child for each of these lanes before it is needed, one after the other, by the `reaper`; the
  /// first run reports a failure. A lane with a run, or with as many kinds as it keeps, is skipped, and so is one with
  /// as many children still to be started.
  void warm(std::span<const SlotIndex> lanes, const Template& program);
  /// Kills all children that have a run and lets the rest go; runs return soon, and further ones fail at once.
  void end();
  /// Ends all children without a run. Each is killed at once; `gone` is called by the `reaper` when they
  /// are reaped, or never if the runners end before. Pending warming is dropped. The next run of a lane starts another
  /// child.
  void end_idle(std::function<void()> gone);
  /// Ends children without a run beyond those of as many lanes as there are slots, if they have had none for
  /// `spare_kept`: runs that have lent their slots have had further lanes. To be called now and then.
  void end_spare(Instant now);
  /// Cost: some 10 us for each child.
  RunnersMemory measure() const;
  /// Children that live.
  std::size_t children() const;
  /// Children that are still to be started in advance.
  std::size_t to_be_warmed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
