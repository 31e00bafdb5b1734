// The hosts of a live cluster: workers' cores in virtual time, and the programs that run there.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "worker/core/worker_core.hpp"

namespace penstock::tools {

/// One run of an attempt that has its slots.
struct LiveRun {
  SubtaskId subtask;
  Attempt attempt;
  WorkerId worker;
  BandIndex band;
  bool asked = false;     ///< To stop.
  DeviceSet devices = 0;  ///< Of a band with several, its own.
};

/// The news about a run.
enum class RunNews : std::uint8_t { Begun, Ended };
/// Hears of each run when it begins, and when it has ended, for whatever reason. REQUIRES: changes nothing in the
/// cluster.
using OnRun = std::function<void(const LiveRun&, RunNews)>;

/// The reaction of a program that is asked to stop; killed ones leave in any case.
enum class OnStop : std::uint8_t {
  Leave,  ///< At once, with an error, as a program does that a signal ends.
  Stay,   ///< Until it is killed.
};

/// One worker's core for each host. Programs run until they are told to end, and make no data. Messages to the
/// supervisor go to a function of the owner, a `LiveCluster`. Not thread-safe. Cost: of a deadline, logarithmic in the
/// number of hosts.
class LiveHosts {
 public:
  /// `say` takes what a worker tells the supervisor.
  explicit LiveHosts(std::function<void(WorkerId, FromWorker)> say) : say_(std::move(say)) {}

  void add(WorkerId worker, const Register& description);
  /// The host has gone, with all that ran there.
  void remove(WorkerId worker);
  bool knows(WorkerId worker) const { return hosts_.contains(worker); }
  const std::string& name_of(WorkerId worker) const { return hosts_.at(worker)->name; }

  /// Nothing happens if the host has gone.
  void tell(WorkerId worker, const worker::WorkerEvent& event, Instant now);
  /// Ticks the hosts with a deadline that has come.
  void tick_what_is_due(Instant now);
  Instant next_deadline() const { return deadlines_.empty() ? kNever : deadlines_.begin()->first; }

  void end_run(SubtaskId subtask, bool succeeded, FailureClass failure, Instant now);
  /// Ends one of the runs that leave because they were asked to; false: there is none.
  bool end_one_that_leaves(Instant now);
  /// The program of a run lends its slot, and goes on without one.
  void lend(SubtaskId subtask, Instant now);
  OnStop on_stop() const { return on_stop_; }
  void set_on_stop(OnStop reaction) { on_stop_ = reaction; }

  void set_on_run(OnRun listener) { on_run_ = std::move(listener); }

  /// By subtask.
  const std::map<SubtaskId, LiveRun>& runs() const { return runs_; }
  /// Protocol errors: none in a sound cluster.
  const std::vector<Error>& troubles() const { return troubles_; }

 private:
  struct Host {
    Host(const WorkerConfig& config, const Register& description)
        : name(description.name), core(config, description.bands) {}
    std::string name;
    worker::WorkerCore core;
    std::map<worker::RecordIndex, SubtaskId> records;  ///< Of its runs.
    Instant deadline = kNever;                         ///< As it stands in `deadlines_`.
  };

  void note_deadline(WorkerId worker, Host& host);
  void tell_of(const LiveRun& run, RunNews news) const {
    if (on_run_) on_run_(run, news);
  }

  void carry_out(WorkerId worker, const worker::worker_action::StartSubtask& order);
  void carry_out(WorkerId worker, const worker::worker_action::StopRun& order);
  void carry_out(WorkerId worker, worker::worker_action::SendReport& word) { say_(worker, std::move(word.batch)); }
  void carry_out(WorkerId worker, worker::worker_action::SendClaim& word) { say_(worker, std::move(word.claim)); }
  void carry_out(WorkerId worker, worker::worker_action::SendDrainState& word) { say_(worker, word.state); }
  void carry_out(WorkerId worker, worker::worker_action::SendBarrierAnswer& word) { say_(worker, word.answer); }
  void carry_out(WorkerId worker, worker::worker_action::SendExplanation& word) {
    say_(worker, std::move(word.answer));
  }
  void carry_out(WorkerId, const worker::worker_action::Reject& word) { troubles_.push_back(*word.error); }
  /// Programs make no data and need no runner: orders about these have nothing to do.
  template <class Other>
  void carry_out(WorkerId, const Other&) {}

  const WorkerConfig config_;
  const std::function<void(WorkerId, FromWorker)> say_;
  std::map<WorkerId, std::unique_ptr<Host>> hosts_;
  std::set<std::pair<Instant, WorkerId>> deadlines_;
  std::map<SubtaskId, LiveRun> runs_;
  std::deque<SubtaskId> leaving_;  ///< Runs that end because they were asked to stop.
  OnStop on_stop_ = OnStop::Leave;
  OnRun on_run_;
  std::vector<Error> troubles_;
};

}  // namespace penstock::tools
