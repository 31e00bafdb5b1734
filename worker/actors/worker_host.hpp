// The core of a worker in the real world, shared by all threads through a flat combiner.
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

/// A command to be started, with copies of all that it needs: a copy is cheap beside a command. Its inputs are in the
/// store; an empty one has no key. If the template has no standard input, the program reads its inputs there.
struct CommandStart {
  BandIndex band;
  CommandRun run;
};

/// Receivers of the host's orders. Called from any thread, by the combining thread; must not call back into the host.
struct WorkerPorts {
  Incarnation life;
  Register description;                                 ///< Sent again to a supervisor that has lost it.
  std::function<void(std::vector<FromWorker>&&)> send;  ///< To the supervisor, in order.
  std::function<void(CommandStart&&)> start_command;
  std::function<void(BandIndex, std::uint64_t ticket, bool kill)> stop_command;
  std::function<void(BandIndex, const std::string& mark)> runner_gone;  ///< See `ProcessRunnersConfig::on_gone`.
  std::function<void(const worker_action::FetchInput&)> fetch;
  std::function<void(const DataKey&)> cancel_fetch;
  std::function<void(Instant)> arm;                    ///< Calls `tick` at that time at the latest.
  std::function<void(std::function<void()>)> post;     ///< Runs it on the loop's thread.
  std::function<void(const Error&)> complain;          ///< The supervisor has broken the protocol.
  std::function<void(const Error&)> storage_failed;    ///< The disk, or shared storage, has failed.
  std::vector<std::shared_ptr<BlockingWork>> reapers;  ///< One for each band, or none; see `ProcessRunnersConfig`.
  std::vector<BandDevices> devices;                    ///< Of each band. The store owns their memory.
  std::string cluster{};                               ///< See `WorkerOptions::cluster`.
  std::shared_ptr<JobUsers> users{};                   ///< See `WorkerOptions::users`.
};

/// One incarnation of a worker's core with its native lanes and data.
///
/// The core is single-threaded, and no thread is reserved for it. A thread submits its news to a flat combiner; if the
/// combiner is free, that thread runs the combine rounds: it hands all submitted news to the core, one after the other,
/// and carries out the actions. A lane that has finished a run therefore usually gets its next one from its own call,
/// without waking another thread; a chain of forwarded successors runs on one processor core at the speed of
/// `WorkerCore`. See docs/decisions/0003.
/// While no thread combines, lanes that end a run take over the next one on offer by themselves, in the order of the
/// core's queue; the next combining thread first closes the offers and tells the core what was taken over. See
/// docs/decisions/0005.
/// Invariant: only the combining thread touches the core, through a `WorkerShell`.
class WorkerHost {
 public:
  WorkerHost(const WorkerConfig& config, std::vector<BandDescription> bands, std::vector<std::vector<int>> processors,
             const OperatorRegistry& operators, ObjectStore& store, WorkerPorts ports);
  /// Cancels native runs and waits for them.
  ~WorkerHost();
  WorkerHost(const WorkerHost&) = delete;
  WorkerHost& operator=(const WorkerHost&) = delete;

  /// Starts `count` runners, one for each lane of one CPU band after the other, before any subtask is known.
  void warm(const Template& runner, std::uint32_t count);

  // News, from any thread.
  void receive(std::shared_ptr<const std::vector<ToWorker>> messages);
  void run_ended(CommandEnd end);
  void fetched(const FetchEnd& end, std::shared_ptr<Blob> blob);
  void memory_measured(BandIndex band, Bytes used);
  void data_mapped(std::vector<DataKey> here, Bytes beyond);
  void tick();
  void supervisor_returned();
  void supervisor_heard(Instant sent);
  /// Measures the memory of process runners. Called periodically on the loop's thread.
  void measure_runners();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace penstock::worker
