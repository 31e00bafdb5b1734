// The reliable, ordered link between two processes, as a pure state machine.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "common/base/actions.hpp"
#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/link_header.hpp"

namespace penstock {

namespace link_event {
/// A connection to the peer has been made and introduced. `resumed`: both sides continue where they stood.
struct Attached {
  bool resumed = false;
  std::uint64_t peer_received_through = 0;
};
struct Detached {};       ///< The connection broke.
struct FrameQueued {};    ///< The shell has appended a frame to its unacknowledged ones.
struct FrameArrived {
  LinkHeader header;
};
struct Tick {};
}  // namespace link_event
using LinkEvent = std::variant<link_event::Attached, link_event::Detached, link_event::FrameQueued,
                               link_event::FrameArrived, link_event::Tick>;

namespace link_action {
/// Send the kept frames `first` to `last` with the present acknowledgement.
struct Transmit {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  friend bool operator==(const Transmit&, const Transmit&) = default;
};
struct TransmitHeartbeat {
  friend bool operator==(const TransmitHeartbeat&, const TransmitHeartbeat&) = default;
};
/// Hand the frame that has just arrived to its owner. Without this action the frame is dropped.
struct Deliver {
  friend bool operator==(const Deliver&, const Deliver&) = default;
};
/// The peer has all frames up to `through`; they need not be kept.
struct Forget {
  std::uint64_t through = 0;
  friend bool operator==(const Forget&, const Forget&) = default;
};
/// The frame came from another incarnation of the peer; drop its connection.
struct Fence {
  friend bool operator==(const Fence&, const Fence&) = default;
};
/// `Forgotten`: the peer begins a used link anew.
enum class LossReason : std::uint8_t { Silent, Detached, QueueFull, Forgotten };
/// The peer is lost. Added once; the link is dead from here on.
struct DeclareLost {
  LossReason reason = LossReason::Silent;
  friend bool operator==(const DeclareLost&, const DeclareLost&) = default;
};
/// Nothing has been heard of the peer for three tenths of `silence_max`; not with `OnSilence::Reconnect`.
struct Suspect {
  friend bool operator==(const Suspect&, const Suspect&) = default;
};
/// The suspected peer is heard again.
struct Trust {
  friend bool operator==(const Trust&, const Trust&) = default;
};
/// The peer has received all that was sent before `sent`; added every half a heartbeat at most, and only with
/// `OnSilence::Reconnect`.
struct Heard {
  Instant sent{};
  friend bool operator==(const Heard&, const Heard&) = default;
};
/// Nothing has been heard on this connection: drop it and make another. The link stays.
struct Reconnect {
  friend bool operator==(const Reconnect&, const Reconnect&) = default;
};
}  // namespace link_action
using LinkAction = std::variant<link_action::Transmit, link_action::TransmitHeartbeat, link_action::Deliver,
                                link_action::Forget, link_action::Fence, link_action::DeclareLost,
                                link_action::Reconnect, link_action::Suspect, link_action::Trust,
                                link_action::Heard>;

/// The reaction to a peer that is silent for longer than `silence_max`. Supervisors declare it lost and give its work
/// to others; workers and clients try another connection, for as long as `reconnect_grace`.
enum class OnSilence : std::uint8_t { DeclareLost, Reconnect };

struct LinkCounters {
  std::uint64_t frames_sent = 0;
  std::uint64_t frames_resent = 0;
  std::uint64_t duplicates_dropped = 0;
  std::uint64_t gaps_dropped = 0;  ///< Frames that came before a missing one.
  std::uint64_t fenced = 0;
};

/// The last sequence numbers of a link: of the own frames and of the peer's.
struct LinkSequences {
  std::uint64_t queued = 0;        ///< Last sequence number given to a frame.
  std::uint64_t transmitted = 0;   ///< Last frame sent on the present connection.
  std::uint64_t acknowledged = 0;  ///< Last frame that the peer has.
  std::uint64_t received = 0;      ///< Last frame of the peer that was delivered.
};

/// When a link acts by itself.
struct LinkTimes {
  Duration resend_after;
  Instant resend_at = kNever;
  Instant acknowledge_at = kNever;
  Instant heartbeat_at = kNever;
  Instant suspect_at = kNever;
  Instant lost_at;
};

/// One side of a link to one incarnation of one peer: sequence numbers, cumulative acknowledgement, resending
/// (go-back-N: over TCP nothing overtakes, so a gap only follows a loss), heartbeats, and the verdict that the peer is
/// lost.
///
/// Invariant: frames are delivered in the order in which they were queued, each exactly once, for as long as both
/// incarnations last and the link is not declared lost, whatever the network loses, repeats or reorders.
/// A late verdict is not given: a process that was stopped itself (SIGSTOP, a suspended host) has not read what came
/// meanwhile, and listens for as long again.
/// `Heard` rests on a round trip and on one clock: a frame carries the time at which it left, and the supervisor
/// returns the newest of these times in all that it sends. Received frames alone would prove nothing: a network may
/// fail in one direction.
/// The core never sees bytes: the shell keeps the unacknowledged frames by their sequence numbers. Owned by one
/// connection's shell or by the simulator; single-threaded; constant cost per event except `Transmit` ranges.
class LinkCore {
 public:
  LinkCore(const LinkConfig& config, Incarnation peer, Instant now, OnSilence on_silence = OnSilence::DeclareLost);

  void handle(const LinkEvent& event, Instant now, Actions<LinkAction>& actions);
  std::optional<Instant> next_deadline() const;

  /// For the header of every frame that leaves.
  std::uint64_t received_through() const { return through_.received; }
  /// Also for the header. With `OnSilence::Reconnect` the present time; otherwise the newest stamp from the peer, or 0
  /// before its first frame.
  std::uint32_t stamp() const {
    if (on_silence_ == OnSilence::Reconnect) return stamp_of(handled_at_);
    return through_.received == 0 ? 0 : stamp_heard_;
  }
  std::uint64_t queued_through() const { return through_.queued; }
  Incarnation peer() const { return peer_; }
  bool attached() const { return attached_; }
  bool lost() const { return lost_; }
  const LinkCounters& counters() const { return counters_; }
  void validate() const;

 private:
  void on(const link_event::Attached& event, Instant now, Actions<LinkAction>& actions);
  void on(const link_event::Detached& event, Instant now, Actions<LinkAction>& actions);
  void on(const link_event::FrameQueued& event, Instant now, Actions<LinkAction>& actions);
  void on(const link_event::FrameArrived& event, Instant now, Actions<LinkAction>& actions);
  void on(const link_event::Tick& event, Instant now, Actions<LinkAction>& actions);

  void acknowledge_through(std::uint64_t sequence, Instant now, Actions<LinkAction>& actions);
  void transmit_window(Instant now, Actions<LinkAction>& actions);
  void heard(Instant now, Actions<LinkAction>& actions);
  void note_stamp(const LinkHeader& header, Instant now, Actions<LinkAction>& actions);
  static std::uint32_t stamp_of(Instant at);
  void give_verdict(Instant now, Actions<LinkAction>& actions);
  void declare_lost(link_action::LossReason reason, Actions<LinkAction>& actions);
  void owe_acknowledgement(Instant now);
  void sent_something(Instant now);

  // Constant after construction.
  const LinkConfig config_;
  const Incarnation peer_;
  const OnSilence on_silence_;
  const Duration suspect_after_;  ///< Three tenths of `silence_max`: 3 s of 10 s.

  // State.
  bool attached_ = false;
  bool lost_ = false;
  bool suspected_ = false;
  bool owes_acknowledgement_ = false;
  LinkSequences through_;
  std::uint32_t stamp_heard_ = 0;
  Instant handled_at_{};
  Instant told_heard_ = Instant::min();  ///< Time of the last `Heard`.
  LinkTimes times_;
  LinkCounters counters_;
};

}  // namespace penstock
