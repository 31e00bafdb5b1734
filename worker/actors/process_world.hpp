// The world of a worker's core in a process: lanes, child processes, commands, the store.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/actors/worker_host.hpp"
#include "worker/runner/process/process_runners.hpp"
#include "worker/shell/outbox.hpp"
#include "worker/shell/worker_shell.hpp"
#include "worker/store/writer_threads.hpp"

namespace penstock::worker {

/// Finds native operators by their name, and remembers those of the templates that are in use.
class OperatorCache {
 public:
  explicit OperatorCache(const OperatorRegistry& operators) : operators_(operators) {}
  OperatorRegistry::Found find(const Template& program);

 private:
  struct Known {
    const Template* program = nullptr;
    std::string name;
    OperatorRegistry::Found found;
  };
  const OperatorRegistry& operators_;
  std::array<Known, 16> known_;
};

/// The world of one incarnation of a worker; see `WorkerShell`. All but `measure` and `end` is for the combining
/// thread. Its lanes' threads call `on_idle` and `on_slot_wish`, which therefore outlive them.
class ProcessWorld {
 public:
  using Outputs = std::string;  ///< Output 0 of a command.
  using Shell = WorkerShell<ProcessWorld>;
  struct Calls {
    std::function<void()> on_idle;
    TellSlotWish on_slot_wish;
    /// Lets the shell hear an answer of another thread; nothing if the incarnation is over by then.
    std::function<void(std::function<void(Shell&)>)> tell_later;
  };

  ProcessWorld(const WorkerConfig& config, const std::vector<BandDescription>& bands,
               const std::vector<std::vector<int>>& processors, const OperatorRegistry& operators, ObjectStore& store,
               WorkerPorts ports, Calls calls);

  void warm(const Template& runner, std::uint32_t count);
  /// Cancels native runs and waits for them, and for the writes of outputs.
  void end();
  /// From now on no lane takes a run over. Appends the ends since the last call, and runs that could not be started.
  void withdraw(std::vector<NativeEnd>& ends);
  /// Whether a lane is about to call `on_idle`. From any thread.
  bool expects_a_lane() const {
    return std::any_of(bands_.begin(), bands_.end(), [](const Band& band) { return band.lanes->any_on_short_runs(); });
  }
  bool has_refused() const { return !refused_.empty(); }
  /// The memory of process runners, as events. On the loop's thread.
  struct Measured {
    std::vector<RunMemory> runs;
    std::vector<worker_event::MemoryMeasured> bands;
  };
  Measured measure();

  void carry_out(const worker_action::StartSubtask& action);
  void carry_out(const worker_action::StopRun& action);
  void carry_out(const worker_action::AnswerYield& answer);
  void carry_out(const worker_action::RestartRunners& order);
  void carry_out(const worker_action::WarmRunners& order);
  void carry_out(const worker_action::SpillDatum& order);
  void carry_out(const worker_action::RestoreInput& order);
  void carry_out(const worker_action::CheckpointDatum& order);
  void carry_out(const worker_action::SweepCheckpoints& order);
  void carry_out(const worker_action::SweepAttempts& order) { store_.remove_attempts(order.key); }
  void carry_out(const worker_action::AdoptCheckpoint& order) { store_.adopt_checkpoint(order.key, order.writer); }
  void carry_out(const worker_action::DropDatum& order) { store_.drop(order.key); }
  void carry_out(const worker_action::ReleaseDatum& order) { store_.release(order.key); }
  void carry_out(const worker_action::NameJob& order) { store_.name_job(order.job, order.identity); }
  void carry_out(const worker_action::FetchInput& order) { ports_.fetch(order); }
  void carry_out(const worker_action::CancelFetch& order) { ports_.cancel_fetch(order.key); }
  void carry_out(const worker_action::Reject& word) { ports_.complain(*word.error); }
  void store(const worker_action::StoreOutputs& order, std::string bytes);
  void say(FromWorker message) { outbox_.add(std::move(message)); }
  void introduce_again() { outbox_.introduce_again(); }
  std::string log_of(JobId job) const { return logs_.text(job); }
  void end_round();
  void arm(Instant at) { ports_.arm(at); }

 private:
  void add_band(const WorkerConfig& config, const BandDescription& description, std::vector<int> processors);
  void start_on_lane(const worker_action::StartSubtask& action);
  void refuse(const worker_action::StartSubtask& action, std::string message);

  // Constant after construction.
  OperatorCache operators_;
  ObjectStore& store_;
  const WorkerPorts ports_;
  const Calls calls_;
  JobLogs logs_;  ///< Guards itself.

  Outbox outbox_;
  std::vector<NativeEnd> refused_;  ///< Runs that could not be started, for the next round.
  WriterThreads writers_;           ///< Of outputs; they use the store.
  struct Band {
    std::unique_ptr<ProcessRunners> processes;
    std::uint16_t slots = 0;      ///< Whole ones.
    std::int64_t told_bytes = 0;  ///< Memory of runners that was reported last. Of the loop's thread.
    std::unique_ptr<NativeLanes> lanes;
  };
  std::vector<Band> bands_;  ///< Last: their threads use all of the above.
};

}  // namespace penstock::worker
