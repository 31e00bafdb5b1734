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
#include "worker/store/object_store.hpp"

namespace penstock::worker {

/// One attempt for a runner. What it points to stays until `run` returns.
struct ProcessRun {
  SlotIndex lane;
  std::uint64_t ticket = 0;
  SubtaskId id;
  Attempt attempt;
  const Template* program = nullptr;  ///< Says which runner; its payload is what runs share.
  std::string_view payload;
  std::span<const BlobPtr> inputs;  ///< In their order in the graph; null: an empty one.
  /// Holds this run's ticket once it is cancelled: set before `stop` is called, which may come too early to be heard.
  const std::atomic<std::uint64_t>* cancelled_ticket = nullptr;
  JobIdentity identity{};  ///< Of its job; none: not known.
  SlotLoan* loan = nullptr;  ///< Of its lane; null: the run may not lend its slot.
};

/// How it ended.
struct ProcessResult {
  std::vector<std::pair<std::uint16_t, std::shared_ptr<Blob>>> outputs;
  std::unique_ptr<FailureDetail> failure;  ///< Null: it succeeded.
  std::int64_t peak_bytes = 0;  ///< Resident memory while it ran, as the runner says and was seen; 0: unknown.
};

/// Memory that a runner has while its run goes on.
struct RunnerMemory {
  std::uint64_t ticket = 0;
  Attempt attempt;
  std::int64_t resident_bytes = 0;
};

/// What the runners of a band hold now.
struct RunnersMemory {
  std::vector<RunnerMemory> runs;  ///< That go on.
  /// Of all children, beyond `runner_bytes_spared` of each and beside what they share: data, which the store counts,
  /// and files.
  std::int64_t own_bytes = 0;
  std::int64_t idle_bytes = 0;  ///< Of that, those that have no run.
};

struct ProcessRunnersConfig {
  WorkerConfig limits;
  std::string band;                         ///< Told to children as PENSTOCK_BAND.
  std::string device;                       ///< UUID of the band's GPU: the only one that children see. Or empty.
  std::vector<int> processors;              ///< To which children are bound; empty: all.
  JobLogs* logs = nullptr;                  ///< Gets what children write for subtasks; outlives them. Null: nobody.
  std::size_t tail_bytes = 4096;            ///< Of what a child writes, told with a failure.
  std::size_t message_bytes_max = 4096;     ///< Of a failure; the rest is cut off.
  std::size_t detail_bytes_max = 64 << 10;  ///< Of a failure; a longer one is left out: it would be useless cut.
  /// A child is gone. What it has left outside its process group has that in its environment. From any thread.
  std::function<void(const std::string& mark)> on_gone;
  Duration measure_every = std::chrono::milliseconds{250};  ///< The memory of a run that has a limit.
};

/// The runners of one band. The lanes' own threads run subtasks in them: a lane sends its run and sleeps until the end
/// arrives. A child serves one lane, one run after the other, for as long as it lives, and keeps the programs that it
/// was sent; what differs in program, arguments, environment or directory is another child.
///
/// - A child stands or falls alone: one that dies, says what is no message, or uses more memory than its subtask has
///   requested is ended with its whole process group, the subtask that it has fails and says why, with exit code,
///   signal and the last lines that it wrote, and the next run starts another child.
/// - What children write goes to the worker's log and to those of the jobs, line by line.
/// - What a subtask leaves behind outside that group goes with its child, not with the subtask (`on_gone`).
/// - One that is needed no longer is told so by the end of its socket and has `kill_grace` to end by itself.
/// - Children do not outlive the worker, not even one that is killed (GroupGuard).
/// Cost of a run beside the work: two wake-ups and four calls of the kernel, some 15 us; data beyond
/// `runner_inline_bytes_max` travel as memory segments.
class ProcessRunners {
 public:
  explicit ProcessRunners(ProcessRunnersConfig config);
  /// Waits for the ends of all that are left. REQUIRES: no thread is in `run`.
  ~ProcessRunners();
  ProcessRunners(const ProcessRunners&) = delete;
  ProcessRunners& operator=(const ProcessRunners&) = delete;

  /// On the lane's thread; returns when the run has ended. REQUIRES: one run of a lane at a time.
  ProcessResult run(const ProcessRun& run);

  // From any thread:

  /// Interrupts (SIGINT) a run, or ends its child; ignored if the lane has another ticket by now.
  void stop(SlotIndex lane, std::uint64_t ticket, bool kill);
  /// Starts a child for each of these lanes before it is needed, one after the other on the housekeeper's thread; what
  /// goes wrong is told by the first run. A lane that has a run, or as many kinds as it keeps, is passed over, and so
  /// is one for which as many are still to be started.
  void warm(std::span<const SlotIndex> lanes, const Template& program);
  /// Kills all children that have a run and lets the others go; runs return soon, and further ones fail at once.
  void end();
  /// Ends all children that have no run. They are killed at once; `gone` is called on the housekeeper's thread when
  /// they are reaped, or never if all ends before. What was still to be warmed is forgotten. The next run of a lane
  /// starts another child.
  void end_idle(std::function<void()> gone);
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
