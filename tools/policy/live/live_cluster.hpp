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
#include "tools/policy/live/live_hosts.hpp"

namespace penstock::tools {

/// A supervisor's core and the cores of workers, joined by lossless links without delay. Programs run until
/// a case ends them, and leave as soon as they are asked to. Virtual time passes only in `advance`; nothing is
/// drawn at random, so one order of calls gives one result. Not thread-safe.
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
  /// Lets time pass until the first moment at which something falls due, but not beyond `until`, and carries that out.
  void step(Instant until);
  /// Lets passes of the policy go by until three in a row have changed nothing that runs, at most for `most`.
  void settle(Duration most = std::chrono::seconds{20});
  /// The run ends: it has succeeded, or failed, by default for good.
  void end(SubtaskId subtask, bool succeeded = true, FailureClass failure = FailureClass::UserError);
  /// The program of a run lends its slot, and goes on without one. To the supervisor the run still holds the slot.
  void lend(SubtaskId subtask);
  using OnStop = tools::OnStop;
  OnStop on_stop() const { return hosts_.on_stop(); }
  void set_on_stop(OnStop reaction) { hosts_.set_on_stop(reaction); }

  void set_on_run(OnRun listener) { hosts_.set_on_run(std::move(listener)); }

  Instant now() const { return now_; }
  /// By subtask.
  const std::map<SubtaskId, LiveRun>& runs() const { return hosts_.runs(); }
  const supervisor::SupervisorCore& core() const { return core_; }
  const std::string& name_of(WorkerId worker) const { return hosts_.name_of(worker); }
  /// Alerts and protocol errors: none in a sound cluster.
  std::vector<Error> troubles() const;

 private:
  void deliver();
  void tell_supervisor(supervisor::SupervisorEvent&& event);
  void tick_what_is_due();
  Instant next_deadline() const;

  void carry_out(supervisor::supervisor_action::SendToWorker& order);
  void carry_out(supervisor::supervisor_action::SendToClient& word);
  void carry_out(const supervisor::supervisor_action::ReleaseWorker& order) { hosts_.remove(order.worker); }
  void carry_out(const supervisor::supervisor_action::Persist&) {}  // Its core has no journal: none is ordered.
  void carry_out(const supervisor::supervisor_action::RunPass& order);
  void carry_out(const supervisor::supervisor_action::ReloadPolicy& order);
  void carry_out(const supervisor::supervisor_action::Alert& alert) { alerts_.push_back(alert.error); }

  /// A message on its way: to a worker, or from one.
  struct Mail {
    Mail(WorkerId peer, FromWorker said) : worker(peer), from(std::make_unique<FromWorker>(std::move(said))) {}
    Mail(WorkerId peer, ToWorker order) : worker(peer), to(std::make_unique<ToWorker>(std::move(order))) {}
    WorkerId worker;
    std::unique_ptr<FromWorker> from;
    std::unique_ptr<ToWorker> to;
  };

  PolicyConfig file_;  ///< The configuration that a reload reads.
  supervisor::SupervisorCore core_;
  LiveHosts hosts_;
  std::deque<Mail> mail_;
  std::deque<supervisor::SupervisorEvent> events_;  ///< Of passes that have ended, and of files that were read.
  std::vector<ToClient> answers_;                   ///< To the latest request.
  std::vector<Error> alerts_;
  Instant now_ = instant_at(std::chrono::seconds{1000});
  std::uint32_t workers_ = 0;
  std::uint64_t requests_ = 0;
};

}  // namespace penstock::tools
