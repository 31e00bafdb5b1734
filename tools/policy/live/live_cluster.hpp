// A cluster of the production cores in virtual time: the place where reference cases run as users' work does.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/core/supervisor_core.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::tools {

/// One run of an attempt that has its slots.
struct LiveRun {
  SubtaskId subtask;
  Attempt attempt;
  WorkerId worker;
  BandIndex band;
  bool asked = false;  ///< To stop.
};

/// A supervisor's core and one worker's core for each host, joined by lossless links without delay. Programs run until
/// a case ends them, and leave as soon as they are asked to. Virtual time passes only in `advance`; nothing is drawn at
/// random, so one order of calls gives one result. Not thread-safe.
class LiveCluster {
 public:
  explicit LiveCluster(SupervisorConfig config);

  /// Registers a worker; its number counts from 1.
  WorkerId join(Register description);
  /// The worker introduces itself once more on the same link.
  void introduce_again(WorkerId worker, Register description);
  /// The worker has gone, with all that ran there.
  void lose(WorkerId worker);
  /// Submits as a client does: the graph is checked, then offered. The reply names the job or says why not.
  SubmitReply submit(JobSpec spec, const Graph& graph);
  /// Gives an order, or asks, as an operator does. The answer must come without time passing.
  Result<Value> ask(const std::string& command, std::vector<std::string> arguments = {});
  /// Writes the configuration file and reloads it.
  Result<Value> reload(PolicyConfig policy);

  /// Lets time pass, with everything that falls due.
  void advance(Duration duration);
  /// Lets passes of the policy go by until three in a row have changed nothing that runs, at most for `most`.
  void settle(Duration most = std::chrono::seconds{20});
  /// The run ends: it has succeeded, or failed, by default for good.
  void end(SubtaskId subtask, bool succeeded = true, FailureClass failure = FailureClass::UserError);
  /// The program of a run lends its slot, and goes on without one.
  void lend(SubtaskId subtask);
  /// The reaction of a program that is asked to stop; killed ones leave in any case.
  enum class OnStop : std::uint8_t {
    Leave,  ///< At once, with an error, as a program does that a signal ends.
    Stay,   ///< Until it is killed.
  };
  void set_on_stop(OnStop reaction) { on_stop_ = reaction; }

  /// By subtask.
  const std::map<SubtaskId, LiveRun>& runs() const { return runs_; }
  const supervisor::SupervisorCore& core() const { return core_; }
  const std::string& name_of(WorkerId worker) const { return hosts_.at(worker)->name; }
  /// Alerts and protocol errors: none in a sound cluster.
  const std::vector<Error>& troubles() const { return troubles_; }

 private:
  struct Host {
    Host(const WorkerConfig& config, const Register& description)
        : name(description.name), core(config, description.bands) {}
    std::string name;
    worker::WorkerCore core;
    std::map<worker::RecordIndex, SubtaskId> records;  ///< Of its runs.
  };

  void deliver();
  void tell_supervisor(supervisor::SupervisorEvent&& event);
  void tell_worker(WorkerId worker, const worker::WorkerEvent& event);
  void tick_what_is_due();
  Instant next_deadline() const;
  void end_run(SubtaskId subtask, bool succeeded, FailureClass failure);

  void carry_out(supervisor::supervisor_action::SendToWorker& order);
  void carry_out(supervisor::supervisor_action::SendToClient& word);
  void carry_out(const supervisor::supervisor_action::ReleaseWorker& order) { hosts_.erase(order.worker); }
  void carry_out(const supervisor::supervisor_action::Persist&) {}  // Its core has no journal: none is ordered.
  void carry_out(const supervisor::supervisor_action::RunPass& order);
  void carry_out(const supervisor::supervisor_action::ReloadPolicy& order);
  void carry_out(const supervisor::supervisor_action::Alert& alert) { troubles_.push_back(alert.error); }

  void carry_out(WorkerId worker, const worker::worker_action::StartSubtask& order);
  void carry_out(WorkerId worker, const worker::worker_action::StopRun& order);
  void carry_out(WorkerId worker, worker::worker_action::SendReport& word) { say(worker, std::move(word.batch)); }
  void carry_out(WorkerId worker, worker::worker_action::SendClaim& word) { say(worker, std::move(word.claim)); }
  void carry_out(WorkerId worker, worker::worker_action::SendDrainState& word) { say(worker, word.state); }
  void carry_out(WorkerId worker, worker::worker_action::SendBarrierAnswer& word) { say(worker, word.answer); }
  void carry_out(WorkerId worker, worker::worker_action::SendExplanation& word) { say(worker, std::move(word.answer)); }
  void carry_out(WorkerId, const worker::worker_action::Reject& word) { troubles_.push_back(*word.error); }
  /// Programs of a case make no data and need no runner: orders about these have nothing to do.
  template <class Other>
  void carry_out(WorkerId, const Other&) {}
  void say(WorkerId worker, FromWorker message) { mail_.emplace_back(worker, std::move(message)); }

  /// A message on its way: to a worker, or from one.
  struct Mail {
    Mail(WorkerId peer, FromWorker said) : worker(peer), from(std::make_unique<FromWorker>(std::move(said))) {}
    Mail(WorkerId peer, ToWorker order) : worker(peer), to(std::make_unique<ToWorker>(std::move(order))) {}
    WorkerId worker;
    std::unique_ptr<FromWorker> from;
    std::unique_ptr<ToWorker> to;
  };

  const WorkerConfig worker_config_;
  PolicyConfig file_;  ///< The configuration that a reload reads.
  supervisor::SupervisorCore core_;
  std::map<WorkerId, std::unique_ptr<Host>> hosts_;
  std::map<SubtaskId, LiveRun> runs_;
  std::deque<Mail> mail_;
  std::deque<SubtaskId> leaving_;                   ///< Runs that end because they were asked to stop.
  std::deque<supervisor::SupervisorEvent> events_;  ///< Of passes that have ended, and of files that were read.
  std::vector<ToClient> answers_;                   ///< To the latest request.
  std::vector<Error> troubles_;
  OnStop on_stop_ = OnStop::Leave;
  Instant now_ = instant_at(std::chrono::seconds{1000});
  std::uint32_t workers_ = 0;
  std::uint64_t requests_ = 0;
};

}  // namespace penstock::tools
