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
      resend_after_(config.resend_after),
      lost_at_(later(now, config.reconnect_grace)) {}

void LinkCore::handle(const LinkEvent& event, Instant now, Actions<LinkAction>& actions) {
  if (lost_) return;
  handled_at_ = now;
  std::visit([&](const auto& concrete) { on(concrete, now, actions); }, event);
}

std::optional<Instant> LinkCore::next_deadline() const {
  if (lost_) return std::nullopt;
  const Instant next = std::min({resend_at_, acknowledge_at_, heartbeat_at_, suspect_at_, lost_at_});
  return next == kNever ? std::nullopt : std::optional{next};
}

void LinkCore::on(const Attached& event, Instant now, Actions<LinkAction>& actions) {
  if (!event.resumed && (received_through_ > 0 || acknowledged_through_ > 0)) {
    // Its frames begin at 1 again: this link would drop them or take them for others.
    PENSTOCK_COVERAGE_MARK("a used link is begun anew");
    return declare_lost(LossReason::Forgotten, actions);
  }
  attached_ = true;
  heard(now, actions);
  resend_after_ = config_.resend_after;
  acknowledge_through(event.peer_received_through, now, actions);
  transmitted_through_ = acknowledged_through_;  // A new connection carries nothing yet.
  resend_at_ = kNever;
  sent_something(now);
  transmit_window(now, actions);
}

void LinkCore::on(const Detached&, Instant now, Actions<LinkAction>&) {
  attached_ = false;
  resend_at_ = acknowledge_at_ = heartbeat_at_ = suspect_at_ = kNever;
  const Instant grace_ends = later(now, config_.reconnect_grace);
  lost_at_ = on_silence_ == OnSilence::Reconnect ? grace_ends : std::min(lost_at_, grace_ends);
}

void LinkCore::on(const FrameQueued&, Instant now, Actions<LinkAction>& actions) {
  ++queued_through_;
  if (queued_through_ - acknowledged_through_ > config_.queue_frames_max) {
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
    if (event.header.sequence == received_through_ + 1) {
      ++received_through_;
      actions.add(Deliver{});
    } else {
      const bool again = event.header.sequence <= received_through_;
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
  if (now >= lost_at_) return give_verdict(now, actions);
  if (!attached_) return;
  if (now >= suspect_at_) {
    // As with the verdict: if this tick is late, this process was silent itself.
    suspected_ = now < later(suspect_at_, config_.heartbeat);
    suspect_at_ = suspected_ ? kNever : later(now, suspect_after_);
    if (suspected_) actions.add(Suspect{});
  }
  if (now >= resend_at_) {
    // Nothing was acknowledged for a whole period: go back to the oldest unacknowledged frame.
    PENSTOCK_COVERAGE_MARK("frames are sent again");
    counters_.frames_resent += transmitted_through_ - acknowledged_through_;
    transmitted_through_ = acknowledged_through_;
    resend_at_ = kNever;
    resend_after_ = std::min(resend_after_ * 2, config_.resend_after_max);
    transmit_window(now, actions);
  }
  if (now >= acknowledge_at_ || now >= heartbeat_at_) {
    actions.add(TransmitHeartbeat{});
    sent_something(now);
  }
}

void LinkCore::acknowledge_through(std::uint64_t sequence, Instant now, Actions<LinkAction>& actions) {
  // A number beyond the last frame sent is invalid; it changes nothing.
  if (sequence <= acknowledged_through_ || sequence > queued_through_) return;
  acknowledged_through_ = sequence;
  transmitted_through_ = std::max(transmitted_through_, sequence);
  resend_after_ = config_.resend_after;
  resend_at_ = transmitted_through_ > acknowledged_through_ ? later(now, resend_after_) : kNever;
  actions.add(Forget{sequence});
}

void LinkCore::transmit_window(Instant now, Actions<LinkAction>& actions) {
  const std::uint64_t last = std::min(queued_through_, acknowledged_through_ + config_.window_frames);
  if (last <= transmitted_through_) {
    if (queued_through_ > last) PENSTOCK_COVERAGE_MARK("the window holds frames back");
    return;
  }
  actions.add(Transmit{transmitted_through_ + 1, last});
  counters_.frames_sent += last - transmitted_through_;
  transmitted_through_ = last;
  // Later frames do not put off the oldest one: otherwise a steady trickle would keep a lost frame from being resent.
  if (resend_at_ == kNever) resend_at_ = later(now, resend_after_);
  sent_something(now);
}

void LinkCore::heard(Instant now, Actions<LinkAction>& actions) {
  lost_at_ = later(now, config_.silence_max);
  if (on_silence_ == OnSilence::DeclareLost) suspect_at_ = later(now, suspect_after_);
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
  if (now >= later(lost_at_, config_.heartbeat)) {
    // Fault F09: this process was silent itself.
    PENSTOCK_COVERAGE_MARK("a verdict came too late");
    lost_at_ = later(now, attached_ ? config_.silence_max : config_.reconnect_grace);
  } else if (attached_ && on_silence_ == OnSilence::Reconnect) {
    PENSTOCK_COVERAGE_MARK("a silent connection is given up");
    lost_at_ = later(now, config_.silence_max);  // In case the shell does not reconnect.
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
  acknowledge_at_ = later(now, config_.acknowledge_after);
}

void LinkCore::sent_something(Instant now) {
  owes_acknowledgement_ = false;
  acknowledge_at_ = kNever;
  heartbeat_at_ = later(now, config_.heartbeat);
}

void LinkCore::validate() const {
  PENSTOCK_CHECK(acknowledged_through_ <= transmitted_through_ || !attached_);
  PENSTOCK_CHECK(transmitted_through_ <= queued_through_);
  PENSTOCK_CHECK(transmitted_through_ <= acknowledged_through_ + config_.window_frames);
  PENSTOCK_CHECK(!attached_ || lost_ || (transmitted_through_ > acknowledged_through_) == (resend_at_ != kNever));
  PENSTOCK_CHECK(owes_acknowledgement_ == (acknowledge_at_ != kNever) || !attached_);
}

}  // namespace penstock
