#include "common/link/link_core.hpp"

#include <algorithm>
#include <utility>

#include "common/base/check.hpp"
#include "common/base/coverage_mark.hpp"

namespace penstock {

using namespace link_event;
using namespace link_action;

LinkCore::LinkCore(const LinkConfig& config, Incarnation peer, Instant now, OnSilence on_silence)
    : config_(config),
      peer_(peer),
      on_silence_(on_silence),
      suspect_after_(config.silence_max * 3 / 10),
      times_{.resend_after = config.resend_after, .lost_at = later(now, config.reconnect_grace)} {}

void LinkCore::handle(const LinkEvent& event, Instant now, Actions<LinkAction>& actions) {
  if (lost_) return;
  // Fault F09: a heartbeat that is late by another says that this process was silent itself. The verdict may be due
  // just before it went on, and what the peer has said meanwhile is still to be read.
  if (attached_ && on_silence_ == OnSilence::DeclareLost && now >= later(times_.heartbeat_at, config_.heartbeat)) {
    PENSTOCK_COVERAGE_MARK("a late heartbeat puts the verdict off");
    times_.lost_at = later(now, config_.silence_max);
  }
  handled_at_ = now;
  std::visit([&](const auto& concrete) { on(concrete, now, actions); }, event);
}

std::optional<Instant> LinkCore::next_deadline() const {
  if (lost_) return std::nullopt;
  const Instant next =
      std::min({times_.resend_at, times_.acknowledge_at, times_.heartbeat_at, times_.suspect_at, times_.lost_at});
  return next == kNever ? std::nullopt : std::optional{next};
}

void LinkCore::on(const Attached& event, Instant now, Actions<LinkAction>& actions) {
  if (!event.resumed && (through_.received > 0 || through_.acknowledged > 0)) {
    // Its frames begin at 1 again: this link would drop them or take them for others.
    PENSTOCK_COVERAGE_MARK("a used link is begun anew");
    return declare_lost(LossReason::Forgotten, actions);
  }
  attached_ = true;
  heard(now, actions);
  times_.resend_after = config_.resend_after;
  acknowledge_through(event.peer_received_through, now, actions);
  through_.transmitted = through_.acknowledged;  // A new connection carries nothing yet.
  times_.resend_at = kNever;
  sent_something(now);
  transmit_window(now, actions);
}

void LinkCore::on(const Detached&, Instant now, Actions<LinkAction>&) {
  attached_ = false;
  times_.resend_at = times_.acknowledge_at = times_.heartbeat_at = times_.suspect_at = kNever;
  const Instant grace_ends = later(now, config_.reconnect_grace);
  times_.lost_at = on_silence_ == OnSilence::Reconnect ? grace_ends : std::min(times_.lost_at, grace_ends);
}

void LinkCore::on(const FrameQueued&, Instant now, Actions<LinkAction>& actions) {
  ++through_.queued;
  if (through_.queued - through_.acknowledged > config_.queue_frames_max) {
    declare_lost(LossReason::QueueFull, actions);
    return;
  }
  if (attached_) transmit_window(now, actions);
}

void LinkCore::on(const FrameArrived& event, Instant now, Actions<LinkAction>& actions) {
  if (event.header.sender != peer_) {
    ++counters_.fenced;
    actions.add(Fence{});
    return;
  }
  if (!attached_) return;  // A late frame of a closed connection; it will be sent again.
  heard(now, actions);
  note_stamp(event.header, now, actions);
  acknowledge_through(event.header.acknowledged, now, actions);
  if (event.header.sequence != 0) {
    if (event.header.sequence == through_.received + 1) {
      ++through_.received;
      actions.add(Deliver{});
    } else {
      const bool again = event.header.sequence <= through_.received;
      if (again)
        PENSTOCK_COVERAGE_MARK("a frame came again");
      else
        PENSTOCK_COVERAGE_MARK("a frame came before one that is missing");
      ++(again ? counters_.duplicates_dropped : counters_.gaps_dropped);
    }
    // Also owed for a duplicate: the peer sends again because it has missed our acknowledgement.
    owe_acknowledgement(now);
  }
  transmit_window(now, actions);
}

void LinkCore::on(const Tick&, Instant now, Actions<LinkAction>& actions) {
  if (now >= times_.lost_at) return give_verdict(now, actions);
  if (!attached_) return;
  if (now >= times_.suspect_at) {
    // As with the verdict: if this tick is late, this process was silent itself.
    suspected_ = now < later(times_.suspect_at, config_.heartbeat);
    times_.suspect_at = suspected_ ? kNever : later(now, suspect_after_);
    if (suspected_) actions.add(Suspect{});
  }
  if (now >= times_.resend_at) {
    // Nothing was acknowledged for a whole period: go back to the oldest unacknowledged frame.
    PENSTOCK_COVERAGE_MARK("frames are sent again");
    counters_.frames_resent += through_.transmitted - through_.acknowledged;
    through_.transmitted = through_.acknowledged;
    times_.resend_at = kNever;
    times_.resend_after = std::min(times_.resend_after * 2, config_.resend_after_max);
    transmit_window(now, actions);
  }
  if (now >= times_.acknowledge_at || now >= times_.heartbeat_at) {
    actions.add(TransmitHeartbeat{});
    sent_something(now);
  }
}

void LinkCore::acknowledge_through(std::uint64_t sequence, Instant now, Actions<LinkAction>& actions) {
  // A number beyond the last frame sent is invalid; it changes nothing.
  if (sequence <= through_.acknowledged || sequence > through_.queued) return;
  through_.acknowledged = sequence;
  through_.transmitted = std::max(through_.transmitted, sequence);
  times_.resend_after = config_.resend_after;
  times_.resend_at = through_.transmitted > through_.acknowledged ? later(now, times_.resend_after) : kNever;
  actions.add(Forget{sequence});
}

void LinkCore::transmit_window(Instant now, Actions<LinkAction>& actions) {
  const std::uint64_t last = std::min(through_.queued, through_.acknowledged + config_.window_frames);
  if (last <= through_.transmitted) {
    if (through_.queued > last) PENSTOCK_COVERAGE_MARK("the window holds frames back");
    return;
  }
  actions.add(Transmit{through_.transmitted + 1, last});
  counters_.frames_sent += last - through_.transmitted;
  through_.transmitted = last;
  // Later frames do not put off the oldest one: otherwise a steady trickle would keep a lost frame from being resent.
  if (times_.resend_at == kNever) times_.resend_at = later(now, times_.resend_after);
  sent_something(now);
}

void LinkCore::heard(Instant now, Actions<LinkAction>& actions) {
  times_.lost_at = later(now, config_.silence_max);
  if (on_silence_ == OnSilence::DeclareLost) times_.suspect_at = later(now, suspect_after_);
  if (std::exchange(suspected_, false)) {
    PENSTOCK_COVERAGE_MARK("a suspected peer was heard again");
    actions.add(Trust{});
  }
}

// A heartbeat is answered like a frame: otherwise a stamp would come back only with our next heartbeat, and a peer
// would know of its last message after two periods instead of one.
void LinkCore::note_stamp(const LinkHeader& header, Instant now, Actions<LinkAction>& actions) {
  if (header.stamp == 0) return;  // From an older version, or the peer has received nothing yet.
  if (on_silence_ == OnSilence::DeclareLost) {
    stamp_heard_ = header.stamp;
    return owe_acknowledgement(now);
  }
  const std::chrono::milliseconds ago{static_cast<std::uint32_t>(stamp_of(now) - header.stamp)};
  const Instant sent = std::chrono::floor<std::chrono::milliseconds>(now) - ago;
  if (sent < later(told_heard_, config_.heartbeat / 2)) return;
  told_heard_ = sent;
  actions.add(Heard{sent});
}

// Milliseconds, rounded down, modulo 49 days; never 0.
std::uint32_t LinkCore::stamp_of(Instant at) {
  const auto ms = static_cast<std::uint32_t>(at.time_since_epoch() / std::chrono::milliseconds{1});
  return ms == 0 ? ~std::uint32_t{0} : ms;
}

void LinkCore::give_verdict(Instant now, Actions<LinkAction>& actions) {
  if (now >= later(times_.lost_at, config_.heartbeat)) {
    // Fault F09: this process was silent itself.
    PENSTOCK_COVERAGE_MARK("a verdict came too late");
    times_.lost_at = later(now, attached_ ? config_.silence_max : config_.reconnect_grace);
  } else if (attached_ && on_silence_ == OnSilence::Reconnect) {
    PENSTOCK_COVERAGE_MARK("a silent connection is given up");
    times_.lost_at = later(now, config_.silence_max);  // In case the shell does not reconnect.
    actions.add(Reconnect{});
  } else {
    declare_lost(attached_ ? LossReason::Silent : LossReason::Detached, actions);
  }
}

void LinkCore::declare_lost(LossReason reason, Actions<LinkAction>& actions) {
  lost_ = true;
  attached_ = false;
  actions.add(DeclareLost{reason});
}

void LinkCore::owe_acknowledgement(Instant now) {
  if (std::exchange(owes_acknowledgement_, true)) return;
  times_.acknowledge_at = later(now, config_.acknowledge_after);
}

void LinkCore::sent_something(Instant now) {
  owes_acknowledgement_ = false;
  times_.acknowledge_at = kNever;
  times_.heartbeat_at = later(now, config_.heartbeat);
}

void LinkCore::validate() const {
  PENSTOCK_CHECK(through_.acknowledged <= through_.transmitted || !attached_);
  PENSTOCK_CHECK(through_.transmitted <= through_.queued);
  PENSTOCK_CHECK(through_.transmitted <= through_.acknowledged + config_.window_frames);
  PENSTOCK_CHECK(!attached_ || lost_ || (through_.transmitted > through_.acknowledged) == (times_.resend_at != kNever));
  PENSTOCK_CHECK(owes_acknowledgement_ == (times_.acknowledge_at != kNever) || !attached_);
}

}  // namespace penstock
