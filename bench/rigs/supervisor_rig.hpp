// The production supervisor core with workers that cost nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "bench/rigs/meter.hpp"
#include "common/protocol/graph.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::bench {

struct RigOptions {
  std::uint32_t workers = 1;
  std::uint32_t slots = 2;  ///< Of each worker, which has one band.
  std::uint32_t reports_per_turn =
      4096;  ///< Attempts that a worker ends before it reports; it reports once a millisecond.
  std::uint32_t lookahead_subtasks_max = SupervisorConfig{}.lookahead_subtasks_max;
  /// Up to so many messages of a turn become one event, as in the supervisor's actor.
  std::uint32_t messages_together_max = SupervisorConfig{}.messages_together_max;
  // Of a `ClusterRig`:
  std::uint32_t jobs = 1;     ///< At once; of weight `jobs` the first, then one less each.
  std::uint32_t policed = 0;  ///< 1: a policy divides the slots among them (`fair_share`).
  std::uint32_t run_ns = 0;   ///< Reported duration of a run.
};

/// Drives a `SupervisorCore` in one thread and virtual time. Workers run their subtasks in the order of arrival, hold
/// cached successors back until their producers have finished, and answer requests to give work back: the core receives
/// the messages of a real cluster. Only the core's own calls run on the meters.
class SupervisorRig {
 public:
  struct Meters {
    Meter& intake;  ///< Runs while a graph is checked.
    Meter& core;    ///< Runs while the core has an event. Both outlive the rig.
  };

  SupervisorRig(const RigOptions& options, const Meters& meters);

  /// Checks and accepts a graph. Returns the bytes that the supervisor needs for it, without payload, as the allocator
  /// counts them.
  std::size_t submit(Graph&& graph);
  /// Runs the job until it has ended. REQUIRES: submit was called.
  void finish();

  /// Adds one worker.
  void join();
  /// The worker of that number (from 0) is lost. The job is not run any further after that.
  void lose(std::uint32_t worker);

  std::uint64_t events() const { return events_; }
  /// Virtual time since the rig began.
  Duration virtual_time() const { return now_ - kBegin; }
  const supervisor::SupervisorCore& core() const { return core_; }

 private:
  enum class State : std::uint8_t { Elsewhere, Cached, Runnable, Ended };
  struct Subtask {
    std::uint32_t missing = 0;
    std::uint32_t worker = 0;
    std::uint64_t attempt = 0;
    State state = State::Elsewhere;
  };
  struct Worker {
    std::deque<AttemptRef> runnable;  ///< May contain subtasks that were given back meanwhile.
    std::vector<AttemptRef> returned;
    std::uint64_t reports = 0;
    Instant next_turn{};
    bool active = false;
  };

  void handle(supervisor::SupervisorEvent&& event);
  void carry_out(std::uint32_t worker, const ToWorker& message);
  void take(std::uint32_t worker, const AssignBatch& batch);
  void count_down(std::uint32_t worker, std::uint32_t producer);
  void give_back(std::uint32_t worker, const StealRequest& request);
  void make_runnable(std::uint32_t worker, std::uint32_t subtask);
  void activate(std::uint32_t worker);
  void take_turns();
  ReportBatch turn(std::uint32_t worker);

  const RigOptions options_;
  supervisor::SupervisorCore core_;
  std::vector<Worker> workers_;
  std::vector<Subtask> subtasks_;
  std::deque<std::uint32_t> active_;
  std::vector<std::pair<std::uint32_t, FromWorker>> said_;  ///< Messages of this turn, with their workers.
  std::vector<supervisor::supervisor_event::WorkerSaid> events_said_;
  const supervisor::GraphShape* shape_ = nullptr;
  JobId job_;
  bool ended_ = false;
  static constexpr Instant kBegin = instant_at(std::chrono::seconds{1});
  Instant now_ = kBegin;
  Meters meters_;
  std::uint64_t events_ = 0;
  std::uint64_t submissions_ = 0;
  Actions<supervisor::SupervisorAction> actions_;
};

}  // namespace penstock::bench
