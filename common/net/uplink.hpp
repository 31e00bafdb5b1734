// The link from a worker or client to its supervisor: connect, introduce, stay linked.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/link/introduction.hpp"
#include "common/loop/loop.hpp"
#include "common/net/connection.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/handshake.hpp"

namespace penstock {

struct UplinkOptions {
  std::vector<HostPort> supervisors;  ///< Tried in turn; see `look_up`.
  PeerRole role = PeerRole::Client;
  std::string name;
  Incarnation incarnation;                    ///< Of this process.
  bool starts_as_users = false;               ///< As in `Hello`.
  std::shared_ptr<const TlsClient> tls;       ///< Null: connections are plain.
  std::shared_ptr<HandshakePool> handshakes;  ///< Null: they are computed in the loop's thread.
  LinkConfig link;
  WireConfig wire;
  Duration connect_timeout = std::chrono::seconds{3};
  Duration retry_min = std::chrono::milliseconds{20};
  Duration retry_max = std::chrono::milliseconds{700};  ///< Half as much again, at random, is within `reclaim_wait`.
  Duration give_up_after = Duration::max();             ///< Applies until the first link.
};

/// Events for the owner of an uplink, on the loop's thread. None comes after `on_end`; the owner may destroy the uplink
/// inside any of them, except where noted.
struct UplinkHandlers {
  std::function<void()> on_linked;  ///< The first link stands; resumed links are not reported.
  /// The supervisor died, and a later term continues from its state. The link is new: messages sent on the old one and
  /// not answered may be lost. Without this handler the uplink ends instead.
  std::function<void()> on_renewed;
  std::function<void(std::span<const std::byte>)> on_messages;
  /// News about certificates. Must not destroy the uplink.
  std::function<void(const SecurityNotice&)> on_notice;
  /// The supervisor has acknowledged sent messages. Must not destroy the uplink.
  std::function<void()> on_acknowledged;
  /// The supervisor has received all that was sent before `sent`; called before messages that it sent afterwards. Must
  /// not destroy the uplink.
  std::function<void(Instant sent)> on_heard;
  std::function<void(const Error&)> on_trouble;  ///< An attempt failed or the connection broke; the uplink tries again.
  /// The link is over: refused (`StaleIncarnation`, `VersionMismatch`, ...), lost (`Disconnected`) or never made
  /// (`Unreachable`).
  std::function<void(const Error&)> on_end;
};

/// The link of one incarnation to a supervisor. Keeps trying with growing, jittered delays for
/// `supervisor_absence_max`; a broken or silent connection is made again, and the link resumes where it stood, or
/// begins anew with the next term. Messages sent before the link stands wait for it.
class Uplink {
 public:
  Uplink(Loop& loop, const UplinkOptions& options, UplinkHandlers handlers);
  ~Uplink();
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  void send(FramePayloadPtr payload);
  /// The supervisor at the other end of the last link. None before the first link.
  SupervisorTerm supervisor() const;
  /// Sent bytes that the supervisor has not acknowledged.
  std::uint64_t unacknowledged_bytes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace penstock
