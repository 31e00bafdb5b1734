// One side of a link in the simulated network: the production LinkCore with the frames that it keeps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "common/link/link_core.hpp"
#include "common/protocol/assign.hpp"
#include "common/protocol/client.hpp"
#include "common/protocol/report.hpp"
#include "tests/simulation/world/clocks.hpp"

namespace penstock::simulation {

/// A whole graph on its way to the supervisor; chunks are checked by the intake's own tests.
struct SubmitGraph {
  std::uint64_t submission = 0;
  JobSpec spec;
  std::shared_ptr<const Graph> graph;
};

using Message = std::variant<ToWorker, FromWorker, FromClient, ToClient, SubmitGraph>;
using MessagePtr = std::shared_ptr<const Message>;

/// A frame on the simulated wire. `connection` is the one that it was sent on.
struct Frame {
  std::uint64_t connection = 0;
  LinkHeader header;
  MessagePtr message;  ///< Null in a heartbeat.
};

/// Owns a LinkCore and the unacknowledged messages; what production's link shell does with bytes.
class Endpoint {
 public:
  std::function<void(const Frame&)> transmit;
  std::function<void(const MessagePtr&)> deliver;
  std::function<void(const char*)> lost;
  std::function<void()> silent;  ///< Another connection is wanted.
  std::function<void(Instant)> heard;  ///< By the supervisor: what was sent then.
  std::function<void(bool)> suspected;  ///< Or trusted again.
  bool resends = true;  ///< False plants a defect: see `Defect::NoResend`.

  Endpoint(const LinkConfig& config, Incarnation self, Incarnation peer, Instant now,
           OnSilence on_silence = OnSilence::DeclareLost)
      : link_(config, peer, now + clock_of(self), on_silence), self_(self), clock_(clock_of(self)) {}

  void attach(std::uint64_t connection, bool resumed, std::uint64_t peer_received, Instant now) {
    connection_ = connection;
    handle(link_event::Attached{resumed, peer_received}, now, nullptr);
  }
  void detach(Instant now) {
    connection_ = 0;
    handle(link_event::Detached{}, now, nullptr);
  }
  void send(MessagePtr message, Instant now) {
    if (link_.lost()) return;
    kept_.push_back(std::move(message));
    handle(link_event::FrameQueued{}, now, nullptr);
  }
  void arrive(const Frame& frame, Instant now) {
    if (frame.connection != connection_ || connection_ == 0) return;
    handle(link_event::FrameArrived{frame.header}, now, &frame);
  }
  void tick(Instant now) { handle(link_event::Tick{}, now, nullptr); }

  /// When to look at the link next, if that is earlier than what was planned before; else `kNever`.
  Instant plan() {
    const std::optional<Instant> deadline = link_.next_deadline();
    if (!deadline || *deadline - clock_ >= planned_) return kNever;
    return planned_ = *deadline - clock_;
  }
  /// The planned instant has come. False if an earlier plan has replaced it.
  bool due(Instant planned, Instant now) {
    if (planned != planned_) return false;
    planned_ = kNever;
    if (link_.next_deadline() <= std::optional{now + clock_}) tick(now);
    return true;
  }

  const LinkCore& link() const { return link_; }
  std::uint64_t connection() const { return connection_; }

 private:
  LinkHeader header(std::uint64_t sequence) const { return {self_, sequence, link_.received_through(), link_.stamp()}; }

  void handle(const LinkEvent& event, Instant now, const Frame* arrived) {
    Actions<LinkAction> actions;
    link_.handle(event, now + clock_, actions);
    link_.validate();
    for (const LinkAction& action : actions)
      std::visit([&](const auto& concrete) { carry_out(concrete, arrived); }, action);
  }

  // One for each action: an action without one does not compile.
  void carry_out(const link_action::Transmit& order, const Frame*) {
    for (std::uint64_t sequence = order.first; sequence <= order.last; ++sequence)
      if (resends || sequence > transmitted_through_)
        transmit(Frame{connection_, header(sequence), kept_[sequence - first_kept_]});
    transmitted_through_ = std::max(transmitted_through_, order.last);
  }
  void carry_out(const link_action::TransmitHeartbeat&, const Frame*) {
    transmit(Frame{connection_, header(0), nullptr});
  }
  void carry_out(const link_action::Forget& order, const Frame*) {
    while (first_kept_ <= order.through) kept_.pop_front(), ++first_kept_;
  }
  void carry_out(const link_action::Deliver&, const Frame* arrived) { deliver(arrived->message); }
  void carry_out(const link_action::Heard& news, const Frame*) {
    if (heard) heard(news.sent);
  }
  void carry_out(const link_action::Suspect&, const Frame*) {
    if (suspected) suspected(true);
  }
  void carry_out(const link_action::Trust&, const Frame*) {
    if (suspected) suspected(false);
  }
  void carry_out(const link_action::Reconnect&, const Frame*) { silent(); }
  void carry_out(const link_action::Fence&, const Frame*) {}  // A connection is one number, and of one life.
  void carry_out(const link_action::DeclareLost& loss, const Frame*) {
    lost(loss.reason == link_action::LossReason::Silent ? "silent"
         : loss.reason == link_action::LossReason::Detached ? "connection broken" : "queue full");
  }

  LinkCore link_;
  const Incarnation self_;
  const Duration clock_;  ///< The caller says the world's time.
  std::uint64_t connection_ = 0;
  Instant planned_ = kNever;
  std::deque<MessagePtr> kept_;
  std::uint64_t first_kept_ = 1;
  std::uint64_t transmitted_through_ = 0;
};

}  // namespace penstock::simulation
