// The way of events into a worker's core and of actions out, whatever the world around it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/actions.hpp"
#include "common/base/check.hpp"
#include "worker/core/worker_core.hpp"
#include "worker/shell/run_ticket.hpp"

namespace penstock::worker {

/// One incarnation of a worker's core in a world: the runners, store and network of a process, or simulated ones.
///
/// The world is told each action in the order of the core, before the core handles another event: an action may point
/// into the core's memory. `OffersWanted` is the exception; it ends a round and frees nothing. A round is what the
/// worker does between two looks at the outside: ends of runs, then news, then offers; messages leave at its end.
/// Owned by the thread that combines, or by the simulator. No virtual call: `World` is a class with
///
///     using Outputs = ...;                                  // of a run, before they are in the store; has `empty()`
///     void carry_out(const worker_action::X& action);       // for each action that the shell does not take itself
///     void store(const worker_action::StoreOutputs& order, Outputs outputs);
///     void say(FromWorker message);                         // kept until the end of the round
///     void introduce_again();                               // see `Outbox`
///     std::string log_of(JobId job);                        // what runners of the job have written
///     void end_round();                                     // opens offers and sends what was said
///     void arm(Instant at);                                 // calls `tick` at that time at the latest
template <class World>
class WorkerShell {
 public:
  using Outputs = typename World::Outputs;

  WorkerShell(const WorkerConfig& config, const std::vector<BandDescription>& bands, World& world)
      : world_(world), core_(config, bands) {}

  /// The first step of a round. REQUIRES: no run on offer can be taken over any more; `ends` are those of lanes since
  /// the last round, each lane's in order.
  template <class End>
  void begin_round(Instant now, std::vector<End>& ends) {
    now_ = now;
    if (ends.empty() && !offered_) return;
    offered_ = false;
    run_ends_.clear();
    for (End& end : ends) run_ends_.push_back(take(end));
    handle(worker_event::RunsEnded{run_ends_, true});
  }

  /// The end of a run that has no lane, between two ends of rounds.
  template <class End>
  void run_ended(End& end) {
    const RunEnd run = take(end);
    handle(worker_event::RunsEnded{std::span{&run, 1}});
  }

  // Logs are no state of the core: it gets no event for what runners write.
  void receive(const ToWorker& message) {
    if (const auto* question = std::get_if<LogQuestion>(&message))
      return world_.say(LogAnswer{question->question, world_.log_of(question->job)});
    // A supervisor of protocol 1.0 asks for logs in this way.
    const auto* old = std::get_if<ExplainQuestion>(&message);
    if (old == nullptr || old->subtask.index.valid()) return handle(worker_event::MessageArrived{message});
    std::string log = world_.log_of(old->subtask.job);
    const bool known = !log.empty();
    world_.say(ExplainAnswer{old->question, known, {}, std::move(log)});
  }

  void tick() {
    armed_ = kNever;
    handle(worker_event::Tick{});
  }

  /// Any other event.
  void handle(const WorkerEvent& event) {
    carry_out_all();
    core_.handle(event, now_, actions_);
  }

  /// Lets lanes take over runs from the end of the round to the beginning of the next one.
  void offer() { core_.handle(worker_event::OffersWanted{}, now_, actions_); }

  void end_round() {
    carry_out_all();
    world_.end_round();
  }

  /// Carries out what was ordered so far. The shell does it by itself in time.
  void carry_out_all() {
    for (WorkerAction& action : actions_) std::visit([this](auto& concrete) { this->carry_out(concrete); }, action);
    actions_.clear();
  }

  /// Sees to it that the core gets its next tick in time.
  void arm() {
    const std::optional<Instant> deadline = core_.next_deadline();
    if (!deadline || *deadline >= armed_) return;
    armed_ = *deadline;
    world_.arm(armed_);
  }

  const WorkerCore& core() const { return core_; }
  /// Outputs of ended runs that the core has neither had stored nor discarded, by ticket.
  const std::map<std::uint64_t, Outputs>& unstored() const { return unstored_; }

 private:
  template <class End>
  RunEnd take(End& end) {
    RunEnd run;
    run.record = record_of(end.ticket);
    run.attempt = end.attempt;
    run.succeeded = end.succeeded;
    run.run_us = end.run_us;
    run.peak = Bytes{end.peak_bytes};
    run.outputs = end.outputs;
    run.failure = end.failure.get();
    if constexpr (requires { end.next_ticket; }) {  // Of a lane.
      run.run_ns = end.run_ns;
      if (end.ended != Instant{}) run.ended = end.ended;
      run.next = record_of(end.next_ticket);
    }
    if constexpr (requires { end.unstored; }) {
      run.stored = end.unstored.empty();
      if (!run.stored) unstored_[end.ticket] = std::move(end.unstored);
    }
    return run;
  }

  // One for each action that is not the world's alone: an action without one does not compile.
  void carry_out(worker_action::StartSubtask& action) {
    offered_ |= action.offered;
    world_.carry_out(std::as_const(action));
  }
  void carry_out(worker_action::StoreOutputs& order) {
    auto kept = unstored_.extract(ticket_of(order.record, order.attempt));
    PENSTOCK_CHECK_MSG(!kept.empty(), to_string(order.id));
    world_.store(order, std::move(kept.mapped()));
  }
  void carry_out(worker_action::DiscardOutputs& order) {
    const std::size_t kept = unstored_.erase(ticket_of(order.record, order.attempt));
    PENSTOCK_CHECK(kept == 1);
  }
  void carry_out(worker_action::SendReport& word) { world_.say(std::move(word.batch)); }
  void carry_out(worker_action::SendClaim& word) { world_.say(std::move(word.claim)); }
  void carry_out(worker_action::SendDrainState& word) { world_.say(word.state); }
  void carry_out(worker_action::SendBarrierAnswer& word) { world_.say(word.answer); }
  void carry_out(worker_action::SendExplanation& word) { world_.say(std::move(word.answer)); }
  void carry_out(worker_action::Reclaim&) { world_.introduce_again(); }
  template <class Action>
  void carry_out(Action& action) {
    world_.carry_out(std::as_const(action));
  }

  World& world_;
  WorkerCore core_;
  Actions<WorkerAction> actions_;
  std::vector<RunEnd> run_ends_;
  std::map<std::uint64_t, Outputs> unstored_;
  Instant now_{};
  Instant armed_ = kNever;
  bool offered_ = false;  ///< Runs are on offer since the last round.
};

}  // namespace penstock::worker
