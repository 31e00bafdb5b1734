// A reliable link to one incarnation of one peer, over successive connections.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "common/link/link_core.hpp"
#include "common/loop/loop.hpp"
#include "common/net/connection.hpp"

namespace penstock {

/// The shell of a `LinkCore`: keeps the unacknowledged frames, the connection and the timer. Lives on the loop's
/// thread; decides nothing.
class PeerLink {
 public:
  using OnMessages = std::function<void(std::span<const std::byte>)>;
  /// The peer is lost; called once. The link may be destroyed inside.
  using OnLost = std::function<void(const std::string& reason)>;
  /// The connection broke; the link waits for another.
  using OnDetached = std::function<void(const Error&)>;
  /// True: the peer has not been heard for a while. False: it is heard again.
  using OnSuspicion = std::function<void(bool)>;

  PeerLink(Loop& loop, const LinkConfig& config, Incarnation self, Incarnation peer,
           OnSilence on_silence = OnSilence::DeclareLost);
  ~PeerLink();

  void set_handlers(OnMessages on_messages, OnLost on_lost, OnDetached on_detached);
  void set_on_suspicion(OnSuspicion on_suspicion) { on_suspicion_ = std::move(on_suspicion); }
  /// Called when the peer has acknowledged frames. Must not destroy the link.
  void set_on_acknowledged(std::function<void()> on_acknowledged) { on_acknowledged_ = std::move(on_acknowledged); }
  /// Called when the peer is known to have received all that was sent before `sent`. Must not destroy the link.
  void set_on_heard(std::function<void(Instant sent)> on_heard) { on_heard_ = std::move(on_heard); }
  /// Called with each introduction that comes over the link. Must not destroy the link.
  void set_on_notice(OnMessages on_notice) { on_notice_ = std::move(on_notice); }
  /// Takes over a connection after its introduction. An older one is dropped.
  void attach(std::unique_ptr<Connection> connection, bool resumed, std::uint64_t peer_received_through);
  void send(FramePayloadPtr payload);
  /// Sends an introduction on the present connection, if there is one: without a number, and never again.
  void notify(FramePayloadPtr introduction);
  /// For the code that handles messages: see `Connection::weigh`.
  void weigh(std::size_t bytes) {
    if (connection_ != nullptr) connection_->weigh(bytes);
  }

  const LinkCore& core() const { return core_; }
  /// Payloads that the peer has not acknowledged.
  std::uint64_t unacknowledged_bytes() const { return kept_.bytes; }

 private:
  using Payload = std::span<const std::byte>;
  /// Whether the rest of the actions is carried out: a handler may have destroyed the link, or it has no connection.
  enum class Link : std::uint8_t { GoesOn, Over };

  void handle(const LinkEvent& event, Payload arrived);
  // One for each action: an action without one does not compile.
  Link carry_out(const link_action::Transmit& order, Payload arrived);
  Link carry_out(const link_action::TransmitHeartbeat& order, Payload arrived);
  Link carry_out(const link_action::Forget& order, Payload arrived);
  Link carry_out(const link_action::Heard& news, Payload arrived);
  Link carry_out(const link_action::Deliver& order, Payload arrived);
  Link carry_out(const link_action::Suspect& news, Payload arrived);
  Link carry_out(const link_action::Trust& news, Payload arrived);
  Link carry_out(const link_action::Fence& order, Payload arrived);
  Link carry_out(const link_action::Reconnect& order, Payload arrived);
  Link carry_out(const link_action::DeclareLost& loss, Payload arrived);
  void drop_connection(const Error& why);
  void detach();
  void arm();
  LinkHeader header(std::uint64_t sequence) const;

  /// Frames that the peer has not acknowledged.
  struct KeptFrames {
    std::deque<FramePayloadPtr> frames;
    std::uint64_t bytes = 0;
    std::uint64_t first = 1;  ///< Sequence number of the first.
  };

  Loop& loop_;
  const Incarnation self_;
  LinkCore core_;
  OnMessages on_messages_;
  OnLost on_lost_;
  OnDetached on_detached_;
  OnSuspicion on_suspicion_;
  std::function<void()> on_acknowledged_;
  std::function<void(Instant)> on_heard_;
  OnMessages on_notice_;
  std::unique_ptr<Connection> connection_;
  KeptFrames kept_;
  LoopTimer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  ///< Handlers may destroy the link; then this is false.
};

}  // namespace penstock
