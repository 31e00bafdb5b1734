#include "common/net/peer_link.hpp"

#include "common/host/clock.hpp"

namespace penstock {
namespace {

const char* text_of(link_action::LossReason reason) {
  switch (reason) {
    case link_action::LossReason::Silent: return "it was silent for too long";
    case link_action::LossReason::Detached: return "its connection broke and it did not come back";
    case link_action::LossReason::QueueFull: return "it did not keep up with what it was sent";
    case link_action::LossReason::Forgotten: return "it does not remember this link";
  }
  return "";
}

}  // namespace

PeerLink::PeerLink(Loop& loop, const LinkConfig& config, Incarnation self, Incarnation peer, OnSilence on_silence)
    : loop_(loop), self_(self), core_(config, peer, monotonic_now(), on_silence), timer_(loop) {
  arm();
}

PeerLink::~PeerLink() { *alive_ = false; }

void PeerLink::set_handlers(OnMessages on_messages, OnLost on_lost, OnDetached on_detached) {
  on_messages_ = std::move(on_messages);
  on_lost_ = std::move(on_lost);
  on_detached_ = std::move(on_detached);
}

void PeerLink::attach(std::unique_ptr<Connection> connection, bool resumed, std::uint64_t peer_received_through) {
  detach();
  connection_ = std::move(connection);
  connection_->start(
      [this](const FrameHeader& frame, std::span<const std::byte> payload) {
        if (frame.kind == FrameKind::Introduction) {
          if (on_notice_) on_notice_(payload);
          return;
        }
        handle(link_event::FrameArrived{frame.link}, payload);
      },
      [this](const Error& error) { drop_connection(error); });
  handle(link_event::Attached{resumed, peer_received_through}, {});
}

// The owner may destroy the link in the handler.
void PeerLink::drop_connection(const Error& why) {
  const OnDetached told = on_detached_;
  detach();
  if (told) told(why);
}

void PeerLink::detach() {
  if (connection_ == nullptr) return;
  connection_.reset();
  handle(link_event::Detached{}, {});
}

void PeerLink::notify(FramePayloadPtr introduction) {
  if (connection_ != nullptr) connection_->send(FrameKind::Introduction, header(0), std::move(introduction));
}

void PeerLink::send(FramePayloadPtr payload) {
  if (core_.lost()) return;
  kept_.bytes += payload->bytes().size();
  kept_.frames.push_back(std::move(payload));
  handle(link_event::FrameQueued{}, {});
}

LinkHeader PeerLink::header(std::uint64_t sequence) const {
  return {self_, sequence, core_.received_through(), core_.stamp()};
}

void PeerLink::handle(const LinkEvent& event, std::span<const std::byte> arrived) {
  Actions<LinkAction> actions;
  core_.handle(event, monotonic_now(), actions);
  for (const LinkAction& action : actions)
    if (std::visit([&](const auto& concrete) { return carry_out(concrete, arrived); }, action) == Link::Over) return;
  arm();
}

PeerLink::Link PeerLink::carry_out(const link_action::Transmit& order, Payload) {
  for (std::uint64_t sequence = order.first; sequence <= order.last && connection_ != nullptr; ++sequence)
    connection_->send(FrameKind::Messages, header(sequence), kept_.frames[sequence - kept_.first]);
  return Link::GoesOn;
}

PeerLink::Link PeerLink::carry_out(const link_action::TransmitHeartbeat&, Payload) {
  if (connection_ != nullptr) connection_->send(FrameKind::Heartbeat, header(0), nullptr);
  return Link::GoesOn;
}

PeerLink::Link PeerLink::carry_out(const link_action::Forget& order, Payload) {
  for (; kept_.first <= order.through; ++kept_.first) {
    kept_.bytes -= kept_.frames.front()->bytes().size();
    kept_.frames.pop_front();
  }
  if (on_acknowledged_) on_acknowledged_();
  return Link::GoesOn;
}

PeerLink::Link PeerLink::carry_out(const link_action::Heard& news, Payload) {
  if (on_heard_) on_heard_(news.sent);
  return Link::GoesOn;
}

PeerLink::Link PeerLink::carry_out(const link_action::Deliver&, Payload arrived) {
  const std::shared_ptr<bool> alive = alive_;
  if (on_messages_) on_messages_(arrived);
  return *alive ? Link::GoesOn : Link::Over;
}

PeerLink::Link PeerLink::carry_out(const link_action::Suspect&, Payload) {
  if (on_suspicion_) on_suspicion_(true);
  return Link::GoesOn;
}

PeerLink::Link PeerLink::carry_out(const link_action::Trust&, Payload) {
  if (on_suspicion_) on_suspicion_(false);
  return Link::GoesOn;
}

PeerLink::Link PeerLink::carry_out(const link_action::Fence&, Payload) {
  drop_connection({ErrorCode::StaleIncarnation, "connection", "a frame on it is of another sender", {}});
  return Link::Over;
}

PeerLink::Link PeerLink::carry_out(const link_action::Reconnect&, Payload) {
  drop_connection({ErrorCode::TimedOut, "connection", "nothing was heard on it for too long", {}});
  return Link::Over;
}

PeerLink::Link PeerLink::carry_out(const link_action::DeclareLost& loss, Payload) {
  timer_.cancel();
  connection_.reset();
  if (on_lost_) OnLost{on_lost_}(text_of(loss.reason));
  return Link::Over;
}

void PeerLink::arm() {
  const std::optional<Instant> deadline = core_.next_deadline();
  if (!deadline) return timer_.cancel();
  // An earlier timer stays: it finds nothing to do and is armed again. Heartbeats move the deadline with every frame.
  if (timer_.armed_for() <= *deadline) return;
  timer_.arm(*deadline, [this] {
    const std::optional<Instant> due = core_.next_deadline();
    if (due && *due <= monotonic_now())
      handle(link_event::Tick{}, {});
    else
      arm();
  });
}

}  // namespace penstock
