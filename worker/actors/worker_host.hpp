// The core of a worker in the real world: whoever has news walks through its door.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "worker/core/worker_core.hpp"
#include "worker/runner/command/command_runner.hpp"
#include "worker/runner/native/native_lanes.hpp"
#include "worker/runner/native/operator_registry.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

/// A command to be started, with copies of what it needs: commands are slow enough for that. Its inputs are in the
/// store; one that is empty has no key. If the template has no standard input, the program reads them there.
struct CommandStart {
  BandIndex band;
  CommandRun run;
};

/// Where the host's orders go. Called from any thread, by whoever is inside the door; must not call back into the host.
struct WorkerPorts {
  Incarnation life;
  Register description;                                 ///< Said again to a supervisor that has forgotten us.
  std::function<void(std::vector<FromWorker>&&)> send;  ///< To the supervisor, in order.
  std::function<void(CommandStart&&)> start_command;
  std::function<void(BandIndex, std::uint64_t ticket, bool kill)> stop_command;
  std::function<void(BandIndex, const std::string& mark)> runner_gone;  ///< See `ProcessRunnersConfig::on_gone`.
  std::function<void(const worker_action::FetchInput&)> fetch;
  std::function<void(const DataKey&)> cancel_fetch;
  std::function<void(Instant)> arm;                  ///< Call `tick` at that time at the latest.
  std::function<void(std::function<void()>)> post;   ///< Do this on the loop's thread.
  std::function<void(const Error&)> complain;        ///< Of the supervisor, who breaks the protocol.
  std::function<void(const Error&)> storage_failed;  ///< The disk, or shared storage, would not do it.
  std::vector<DeviceTier*> devices;                  ///< Of each band; null: it has none. They belong to the store.
};

/// How a run that was not native ended.
struct ForeignEnd {
  std::uint64_t ticket = 0;
  Attempt attempt;
  bool succeeded = true;
  std::uint32_t run_us = 0;
  std::int64_t peak_bytes = 0;        ///< Memory that it used; 0: unknown.
  std::vector<OutputReport> outputs;  ///< In the store already, but for output 0 if that is in `unstored`.
  std::string unstored;               ///< Bytes that go there when the core says so.
  std::unique_ptr<FailureDetail> failure;
};

/// One life of a worker's core with its native lanes and data.
///
/// The core is single-threaded, and no thread is its own: news are put at the door, and the thread that finds the door
/// free carries everybody's news in, one after the other, and the orders out. A lane that has finished a run therefore
/// usually gets its next one from its own call, without another thread waking up; a chain of forwarded successors runs
/// on one core at the speed of the core. See docs/decisions/0003.
/// While nobody is inside, lanes that end a run take over the next one on offer by themselves, in the order of the
/// core's queue; whoever goes in closes the offers first and learns what was taken over. See docs/decisions/0005.
/// Invariant of the door: `busy` is set by the thread that goes in and cleared by it under the mutex when nothing waits
/// any more, so news are never left behind; the core is touched only between the two. (Thread-sanitized by the
/// integration tests.)
class WorkerHost {
 public:
  WorkerHost(const WorkerConfig& config, std::vector<BandDescription> bands, std::vector<std::vector<int>> processors,
             const OperatorRegistry& operators, ObjectStore& store, WorkerPorts ports);
  /// Cancels what runs natively and waits for it.
  ~WorkerHost();
  WorkerHost(const WorkerHost&) = delete;
  WorkerHost& operator=(const WorkerHost&) = delete;

  /// Starts so many runners, one for each lane of one CPU band after the other, before any subtask is known.
  void warm(const Template& runner, std::uint32_t count);

  // News, from any thread.
  void receive(std::shared_ptr<const std::vector<ToWorker>> messages);
  void run_ended(ForeignEnd end);
  void fetched(const FetchEnd& end, std::shared_ptr<Blob> blob);
  void memory_measured(BandIndex band, Bytes used);
  void data_mapped(std::vector<DataKey> here, Bytes beyond);
  void tick();
  void supervisor_returned();
  void supervisor_heard(Instant sent);
  /// What the runs of process runners use now. Call it every so often, on the loop's thread.
  void measure_runners();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace penstock::worker
