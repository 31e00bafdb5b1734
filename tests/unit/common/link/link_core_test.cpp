#include "common/link/link_core.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/coverage_marks.hpp"

namespace penstock {
namespace {

using namespace link_event;
using namespace link_action;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Incarnation kPeer{7};

class LinkCoreTest : public ::testing::Test {
 protected:
  std::vector<LinkAction> handle(const LinkEvent& event) {
    Actions<LinkAction> actions;
    link.handle(event, now, actions);
    link.validate();
    return {actions.begin(), actions.end()};
  }
  std::vector<LinkAction> arrive(std::uint64_t sequence, std::uint64_t acknowledged = 0) {
    return handle(FrameArrived{{kPeer, sequence, acknowledged}});
  }
  /// Time passes for a process that ticks in time: the actions of the last tick.
  std::vector<LinkAction> live_for(Duration duration) {
    std::vector<LinkAction> last;
    for (; duration > Duration{0} && !link.lost(); duration -= config.heartbeat)
      last = tick_after(std::min(duration, config.heartbeat));
    return last;
  }
  std::vector<LinkAction> tick_after(Duration delay) {
    now += delay;
    return handle(Tick{});
  }

  LinkConfig config{.window_frames = 3};
  const Duration suspect_after = config.silence_max * 3 / 10;
  Instant now = instant_at(seconds{100});
  LinkCore link{config, kPeer, now};
};

using List = std::vector<LinkAction>;

TEST_F(LinkCoreTest, FramesQueuedBeforeTheConnectionLeaveWhenItIsAttached) {
  EXPECT_EQ(handle(FrameQueued{}), List{});
  EXPECT_EQ(handle(FrameQueued{}), List{});
  EXPECT_EQ(handle(Attached{}), (List{Transmit{1, 2}}));
}

TEST_F(LinkCoreTest, TheWindowHoldsBackWhatTheAcknowledgementLetsGo) {
  handle(Attached{});
  EXPECT_EQ(handle(FrameQueued{}), (List{Transmit{1, 1}}));
  EXPECT_EQ(handle(FrameQueued{}), (List{Transmit{2, 2}}));
  EXPECT_EQ(handle(FrameQueued{}), (List{Transmit{3, 3}}));
  PENSTOCK_EXPECT_COVERAGE_MARK("the window holds frames back", EXPECT_EQ(handle(FrameQueued{}), List{}));
  EXPECT_EQ(handle(FrameQueued{}), List{});
  EXPECT_EQ(arrive(0, 2), (List{Forget{2}, Transmit{4, 5}}));
}

// Found by the simulator (seed 130034612): a frame that was lost was never sent again, as others left in time.
TEST_F(LinkCoreTest, LaterFramesDoNotPutOffThatALostOneIsSentAgain) {
  config.window_frames = 100;
  LinkCore busy{config, kPeer, now};
  Actions<LinkAction> actions;
  busy.handle(Attached{}, now, actions);
  const Duration step = config.resend_after / 2;
  bool again = false;
  for (int i = 0; i < 4 && !again; ++i) {
    actions.clear();
    busy.handle(FrameQueued{}, now, actions);
    now += step;
    busy.handle(Tick{}, now, actions);
    for (const LinkAction& action : actions)
      if (const auto* sent = std::get_if<Transmit>(&action)) again = again || (i > 0 && sent->first == 1);
  }
  EXPECT_TRUE(again);
}

TEST_F(LinkCoreTest, DeliversEachFrameOnceAndInOrder) {
  handle(Attached{});
  EXPECT_EQ(arrive(1), (List{Deliver{}}));
  PENSTOCK_EXPECT_COVERAGE_MARK("a frame came again", EXPECT_EQ(arrive(1), List{}));
  PENSTOCK_EXPECT_COVERAGE_MARK("a frame came before one that is missing", EXPECT_EQ(arrive(3), List{}));
  EXPECT_EQ(arrive(2), (List{Deliver{}}));
  EXPECT_EQ(arrive(3), (List{Deliver{}}));
  EXPECT_EQ(link.received_through(), 3U);
  EXPECT_EQ(link.counters().duplicates_dropped, 1U);
  EXPECT_EQ(link.counters().gaps_dropped, 1U);
}

TEST_F(LinkCoreTest, SendsAgainFromTheOldestMissingFrameWithGrowingDelay) {
  handle(Attached{});
  handle(FrameQueued{});
  handle(FrameQueued{});
  PENSTOCK_EXPECT_COVERAGE_MARK("frames are sent again",
                                EXPECT_EQ(tick_after(milliseconds{1000}), (List{Transmit{1, 2}})));
  EXPECT_EQ(tick_after(milliseconds{1000}), (List{TransmitHeartbeat{}}));
  EXPECT_EQ(tick_after(milliseconds{1000}), (List{Suspect{}, Transmit{1, 2}}));
  arrive(0, 1);
  EXPECT_EQ(tick_after(milliseconds{1000}), (List{Transmit{2, 2}}));
}

TEST_F(LinkCoreTest, AnAcknowledgementWaitsForAFrameToRideOnButNotLong) {
  handle(Attached{});
  arrive(1);
  EXPECT_EQ(link.next_deadline(), now + config.acknowledge_after);
  EXPECT_EQ(tick_after(config.acknowledge_after), (List{TransmitHeartbeat{}}));
  arrive(2);
  EXPECT_EQ(handle(FrameQueued{}), (List{Transmit{1, 1}}));
  EXPECT_EQ(tick_after(config.acknowledge_after), List{});
}

TEST_F(LinkCoreTest, ADuplicateIsAcknowledgedAgain) {
  handle(Attached{});
  arrive(1);
  tick_after(config.acknowledge_after);
  arrive(1);
  EXPECT_EQ(tick_after(config.acknowledge_after), (List{TransmitHeartbeat{}}));
}

TEST_F(LinkCoreTest, AnIdleSideSendsHeartbeats) {
  handle(Attached{});
  EXPECT_EQ(tick_after(milliseconds{999}), List{});
  EXPECT_EQ(tick_after(milliseconds{1}), (List{TransmitHeartbeat{}}));
}

TEST_F(LinkCoreTest, ASilentPeerIsLostOnce) {
  handle(Attached{});
  live_for(seconds{9});
  arrive(0);
  live_for(seconds{9});
  EXPECT_FALSE(link.lost());
  EXPECT_EQ(tick_after(seconds{1}), (List{DeclareLost{LossReason::Silent}}));
  EXPECT_EQ(tick_after(seconds{1}), List{});
  EXPECT_EQ(handle(FrameQueued{}), List{});
  EXPECT_EQ(link.next_deadline(), std::nullopt);
}

TEST_F(LinkCoreTest, ABrokenConnectionThatReturnsInTimeGoesOnWhereItStood) {
  handle(Attached{});
  for (int i = 0; i < 3; ++i) handle(FrameQueued{});
  arrive(1, 1);
  handle(Detached{});
  EXPECT_EQ(handle(FrameQueued{}), List{});
  now += milliseconds{400};
  EXPECT_EQ(handle(Attached{.resumed = true, .peer_received_through = 2}), (List{Forget{2}, Transmit{3, 4}}));
  EXPECT_EQ(arrive(1), List{});
  EXPECT_EQ(arrive(2), (List{Deliver{}}));
}

TEST_F(LinkCoreTest, ABrokenConnectionThatStaysAwayIsALoss) {
  handle(Attached{});
  handle(Detached{});
  EXPECT_EQ(tick_after(config.reconnect_grace), (List{DeclareLost{LossReason::Detached}}));
}

// Fault F09: after SIGCONT everybody else would look dead.
TEST_F(LinkCoreTest, WhoWasStoppedItselfGivesNoVerdictAtOnce) {
  handle(Attached{});
  PENSTOCK_EXPECT_COVERAGE_MARK("a late heartbeat puts the verdict off", tick_after(seconds{60}));
  EXPECT_FALSE(link.lost());
  live_for(seconds{9});
  arrive(0);
  EXPECT_FALSE(link.lost());
  handle(Detached{});
  PENSTOCK_EXPECT_COVERAGE_MARK("a verdict came too late", tick_after(seconds{60}));
  EXPECT_FALSE(link.lost());
  EXPECT_EQ(tick_after(config.reconnect_grace), (List{DeclareLost{LossReason::Detached}}));
}

// Its peers notice after `silence_max`, and its verdicts on them are due at that very time.
TEST_F(LinkCoreTest, AStopThatEndsWhenTheVerdictIsDueGivesNone) {
  handle(Attached{});
  now += config.silence_max;
  handle(FrameQueued{});
  handle(Tick{});
  EXPECT_FALSE(link.lost());
  live_for(config.silence_max);
  EXPECT_TRUE(link.lost()) << "it is judged anew";
}

TEST(LinkCoreToASupervisor, ASilentConnectionIsChangedAndTheLinkStands) {
  LinkConfig config;
  config.reconnect_grace = seconds{300};
  Instant now = instant_at(seconds{1});
  LinkCore link{config, kPeer, now, OnSilence::Reconnect};
  const auto handle = [&](const LinkEvent& event) {
    Actions<LinkAction> actions;
    link.handle(event, now, actions);
    return List{actions.begin(), actions.end()};
  };
  handle(Attached{});
  handle(FrameQueued{});
  now += config.silence_max;
  List silent;
  PENSTOCK_EXPECT_COVERAGE_MARK("a silent connection is given up", silent = handle(Tick{}));
  EXPECT_NE(std::find(silent.begin(), silent.end(), LinkAction{Reconnect{}}), silent.end());
  handle(Detached{});
  now += seconds{299};
  handle(Tick{});
  EXPECT_FALSE(link.lost());
  EXPECT_EQ(handle(Attached{.resumed = true, .peer_received_through = 0}), (List{Transmit{1, 1}}));
  handle(Detached{});
  now += seconds{300};
  EXPECT_EQ(handle(Tick{}), (List{DeclareLost{LossReason::Detached}}));
}

bool has(const List& actions, const LinkAction& wanted) {
  return std::find(actions.begin(), actions.end(), wanted) != actions.end();
}

// Fault F02.
TEST_F(LinkCoreTest, WhoIsSilentIsSuspectedOnceAndTrustedWhenItIsHeard) {
  handle(Attached{});
  EXPECT_FALSE(has(tick_after(suspect_after - Duration{1}), Suspect{}));
  EXPECT_TRUE(has(tick_after(Duration{1}), Suspect{}));
  EXPECT_FALSE(has(tick_after(seconds{1}), Suspect{})) << "it is said once";
  List heard;
  PENSTOCK_EXPECT_COVERAGE_MARK("a suspected peer was heard again", heard = arrive(0));
  EXPECT_EQ(heard, List{Trust{}});
  EXPECT_EQ(arrive(0), List{});
  EXPECT_TRUE(has(live_for(suspect_after), Suspect{})) << "and again";
  EXPECT_TRUE(has(live_for(config.silence_max - suspect_after), DeclareLost{LossReason::Silent}));
}

TEST_F(LinkCoreTest, WhoIsSuspectedAndConnectsAgainIsTrusted) {
  handle(Attached{});
  EXPECT_TRUE(has(tick_after(suspect_after), Suspect{}));
  handle(Detached{});
  EXPECT_TRUE(has(handle(Attached{true, 0}), Trust{}));
}

TEST_F(LinkCoreTest, WhoWasStoppedItselfSuspectsNobody) {
  handle(Attached{});
  EXPECT_FALSE(has(tick_after(suspect_after + config.heartbeat), Suspect{}));
  EXPECT_TRUE(has(tick_after(suspect_after), Suspect{}));
}

// The next frames of the peer have numbers that this link has delivered, or waits for, already.
TEST_F(LinkCoreTest, APeerThatBeginsALinkAnewOnWhichItHasSpokenIsLost) {
  handle(Attached{});
  arrive(1);
  PENSTOCK_EXPECT_COVERAGE_MARK("a used link is begun anew",
                                EXPECT_EQ(handle(Attached{}), (List{DeclareLost{LossReason::Forgotten}})));
  EXPECT_TRUE(link.lost());
  EXPECT_FALSE(link.attached());
}

TEST_F(LinkCoreTest, APeerThatBeginsALinkAnewOnWhichItHasHeardSomethingIsLost) {
  handle(Attached{});
  handle(FrameQueued{});
  arrive(0, 1);
  handle(Detached{});
  EXPECT_EQ(handle(Attached{}), (List{DeclareLost{LossReason::Forgotten}}));
}

TEST_F(LinkCoreTest, FramesOfAnotherLifeAreFenced) {
  handle(Attached{});
  EXPECT_EQ(handle(FrameArrived{{Incarnation{8}, 1, 0}}), (List{Fence{}}));
  EXPECT_EQ(link.received_through(), 0U);
}

TEST_F(LinkCoreTest, AnAcknowledgementOfWhatWasNeverSentIsIgnored) {
  handle(Attached{});
  handle(FrameQueued{});
  EXPECT_EQ(arrive(0, 5), List{});
  EXPECT_EQ(arrive(0, 1), (List{Forget{1}}));
}

TEST(LinkCoreLimits, AQueueAtItsLimitDeclaresThePeerLost) {
  const LinkConfig config{.window_frames = 1, .queue_frames_max = 2};
  LinkCore link{config, kPeer, instant_at(seconds{1})};
  Actions<LinkAction> actions;
  for (int i = 0; i < 2; ++i) link.handle(FrameQueued{}, instant_at(seconds{1}), actions);
  EXPECT_TRUE(actions.empty());
  link.handle(FrameQueued{}, instant_at(seconds{1}), actions);
  EXPECT_EQ((List{actions.begin(), actions.end()}), (List{DeclareLost{LossReason::QueueFull}}));
}

/// A worker's end of a link.
class HeardTest : public ::testing::Test {
 protected:
  std::vector<LinkAction> handle(const LinkEvent& event) {
    Actions<LinkAction> actions;
    link.handle(event, now, actions);
    link.validate();
    return {actions.begin(), actions.end()};
  }
  std::vector<Instant> heard_by(std::uint32_t stamp) {
    std::vector<Instant> heard;
    for (const LinkAction& action : handle(FrameArrived{{kPeer, 0, 0, stamp}}))
      if (const auto* said = std::get_if<Heard>(&action)) heard.push_back(said->sent);
    return heard;
  }

  LinkConfig config;
  Instant now = instant_at(seconds{100} + std::chrono::microseconds{300});
  LinkCore link{config, kPeer, now, OnSilence::Reconnect};
};

// A network may fail in one direction: that something comes from the supervisor says nothing about what it hears.
TEST_F(HeardTest, OnlyAStampThatComesBackTellsWhenThePeerHasHeardUs) {
  handle(Attached{});
  const std::uint32_t stamp = link.stamp();
  EXPECT_EQ(heard_by(0), std::vector<Instant>{}) << "of a peer that has heard nothing yet";
  now += seconds{3};
  EXPECT_EQ(heard_by(stamp), std::vector<Instant>{instant_at(seconds{100})}) << "rounded down, and not when it came";
  now += seconds{3};
  EXPECT_EQ(heard_by(stamp), std::vector<Instant>{}) << "it has heard nothing since";
  const std::uint32_t later_stamp = (handle(Tick{}), link.stamp());
  now += seconds{1};
  EXPECT_EQ(heard_by(later_stamp), std::vector<Instant>{instant_at(seconds{106})});
  EXPECT_EQ(heard_by(stamp), std::vector<Instant>{}) << "an older one that was overtaken";
}

TEST_F(HeardTest, IsSaidEveryHalfHeartbeatAtMost) {
  handle(Attached{});
  EXPECT_EQ(heard_by(link.stamp()).size(), 1U);
  now += config.heartbeat / 2 - milliseconds{1};
  handle(Tick{});
  EXPECT_EQ(heard_by(link.stamp()).size(), 0U);
  now += milliseconds{1};
  handle(Tick{});
  EXPECT_EQ(heard_by(link.stamp()).size(), 1U);
}

TEST_F(HeardTest, IsKnownAcrossTheEndOfTheCounter) {
  now = instant_at(milliseconds{(std::int64_t{1} << 32) - 500});
  LinkCore old{config, kPeer, now, OnSilence::Reconnect};
  Actions<LinkAction> actions;
  old.handle(Attached{}, now, actions);
  const std::uint32_t stamp = old.stamp();
  actions.clear();
  old.handle(FrameArrived{{kPeer, 0, 0, stamp}}, now + seconds{1}, actions);
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(actions[0], LinkAction{Heard{now}});
}

// A worker may be told that it is heard only if its supervisor knows of it.
TEST_F(LinkCoreTest, GivesTheNewestStampBackOnceThePeerHasSaidSomething) {
  handle(Attached{});
  EXPECT_EQ(link.stamp(), 0U);
  handle(FrameArrived{{kPeer, 0, 0, 7}});
  EXPECT_EQ(link.stamp(), 0U);
  handle(FrameArrived{{kPeer, 1, 0, 8}});
  EXPECT_EQ(link.stamp(), 8U);
  handle(FrameArrived{{Incarnation{99}, 0, 0, 9}});
  EXPECT_EQ(link.stamp(), 8U) << "of another life";
}

// Else a worker would know of its last word only after two periods.
TEST_F(LinkCoreTest, AHeartbeatWithAStampIsAnsweredSoon) {
  handle(Attached{});
  handle(FrameArrived{{kPeer, 0, 0, 7}});
  EXPECT_EQ(tick_after(config.acknowledge_after), List{TransmitHeartbeat{}});
  handle(FrameArrived{{kPeer, 0, 0, 0}});
  EXPECT_EQ(tick_after(config.acknowledge_after), List{}) << "an older version has none";
}

}  // namespace
}  // namespace penstock
