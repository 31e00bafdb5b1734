// The way from a worker or client to its supervisor: connect, introduce, stay linked.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/handshake.hpp"
#include "common/runtime/connection.hpp"
#include "common/runtime/loop.hpp"

namespace penstock {

struct UplinkOptions {
  std::vector<HostPort> supervisors;  ///< Tried in turn; see `look_up`.
  PeerRole role = PeerRole::Client;
  std::string name;
  Incarnation incarnation;            ///< Of this life of ours.
  LinkConfig link;
  WireConfig wire;
  Duration connect_timeout = std::chrono::seconds{3};
  Duration retry_min = std::chrono::milliseconds{20};
  Duration retry_max = std::chrono::milliseconds{700};  ///< Half as much again, at random, is within `reclaim_wait`.
  Duration give_up_after = Duration::max();  ///< Without ever having been linked.
};

/// What an uplink tells its owner, on the loop's thread. After `on_end` nothing more is told; the owner may destroy the
/// uplink inside any of them.
struct UplinkHandlers {
  std::function<void()> on_linked;                              ///< For the first time; resumed links are not told.
  /// The supervisor died, and another life goes on from its state. The link is new: what was sent on the old one and
  /// not answered may be lost. Without this the uplink ends instead.
  std::function<void()> on_renewed;
  std::function<void(std::span<const std::byte>)> on_messages;
  /// Some of what was sent is acknowledged. Must not destroy the uplink.
  std::function<void()> on_acknowledged;
  /// The supervisor has heard what was sent then; before what it has said since. Must not destroy the uplink.
  std::function<void(Instant sent)> on_heard;
  std::function<void(const Error&)> on_trouble;                 ///< An attempt failed or the connection broke; it goes on.
  /// The link is over: refused (`StaleIncarnation`, `VersionMismatch`, ...), lost (`Disconnected`) or never made
  /// (`Unreachable`).
  std::function<void(const Error&)> on_end;
};

/// One life's link to a supervisor. Keeps trying with growing, jittered delays for `supervisor_absence_max`; a broken or
/// silent connection is made again and the link resumes where it stood, or begins anew with the next life. What is sent before the link stands waits for it.
class Uplink {
 public:
  Uplink(Loop& loop, const UplinkOptions& options, UplinkHandlers handlers);
  ~Uplink();
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  void send(FramePayloadPtr payload);
  /// The supervisor at the other end: its incarnation, and the state that it keeps on disk, as in `Welcome`. Of the last
  /// link; none before the first.
  struct Peer {
    Incarnation incarnation;
    std::uint64_t state = 0;
    std::uint64_t branch = 0;
    std::uint64_t life = 0;
    /// Whether the other one goes on from what this one has begun.
    bool goes_on_as(const Peer& other) const {
      return incarnation == other.incarnation ||
             (state != 0 && state == other.state && branch == other.branch && life < other.life);
    }
  };
  Peer supervisor() const;
  /// Of what was sent: what the supervisor has not acknowledged.
  std::uint64_t unacknowledged_bytes() const;
  std::uint64_t bytes_sent() const;
  std::uint64_t bytes_received() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace penstock
