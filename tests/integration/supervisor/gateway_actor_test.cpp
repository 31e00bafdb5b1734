// Connections to a supervisor that do not go as they should, over real loopback sockets.
#include "supervisor/actors/gateway_actor.hpp"

#include <gtest/gtest.h>

#include <caf/typed_event_based_actor.hpp>
#include <memory>
#include <vector>

#include "common/host/clock.hpp"
#include "common/loop/actor_host.hpp"
#include "common/loop/mail.hpp"
#include "supervisor/actors/supervisor_actor.hpp"
#include "tests/integration/supervisor/raw_peer.hpp"
#include "tests/support/turn_until.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The messages about its clients that a gateway has sent to the supervisor, in order.
struct ClientNews {
  Incarnation client;
  bool gone = false;
};

SupervisorHandle::behavior_type recorder_behavior(SupervisorHandle::pointer, std::vector<ClientNews>* heard) {
  return {[heard](const FromClientMail& mail) {
            heard->push_back({mail.client, false});
          },
          [heard](const ClientLostMail& mail) {
            heard->push_back({mail.client, true});
          },
          [](const FromWorkerMail&) {}, [](const WorkerLostMail&) {}, [](const WorkerSuspectedMail&) {}};
}

class GatewayTest : public testing::Test {
 protected:
  ~GatewayTest() override {
    gateway_ = nullptr;
    end_actor(supervisor_);
  }

  void open() {
    GatewayOptions options;
    options.listen = {"127.0.0.1", 0};
    options.wire = wire;
    options.link = link;
    options.incarnation = Incarnation{1000};
    auto opened = Gateway::open(actors_.system(), loop_, options, supervisor_);
    ASSERT_TRUE(opened.has_value());
    gateway_ = std::move(opened).value();
  }
  /// Turns the loop until the condition holds, at most ten seconds.
  void settle() {
    while (loop_.turn()) {
    }
  }
  RawPeer peer() { return RawPeer{gateway_->port()}; }
  static Hello hello(std::uint64_t incarnation) {
    Hello hello;
    hello.name = "peer-" + std::to_string(incarnation);
    hello.host = "here";
    hello.incarnation = Incarnation{incarnation};
    return hello;
  }
  /// Whether somebody else is still served as ever.
  bool serves() {
    RawPeer other = peer();
    other.send(hello_bytes(hello(next_other_++)));
    return turn_until(loop_, [&] {
      const auto introduction = other.introduction();
      return introduction.has_value() && std::holds_alternative<Welcome>(*introduction);
    });
  }
  /// Whether every timer of a connection that ended before has been due: one that says nothing is dropped later.
  bool outlasts_the_patience() {
    RawPeer silent = peer();
    return turn_until(loop_, [&] { return silent.is_over(); });
  }

  WireConfig wire{.handshake_timeout = milliseconds{1200}};
  LinkConfig link;
  std::vector<ClientNews> heard_;
  std::uint64_t next_other_ = 500;
  Loop loop_{Duration{0}};
  ActorHost actors_{loop_};
  SupervisorHandle supervisor_ = actors_.system().spawn(recorder_behavior, &heard_);
  std::unique_ptr<Gateway> gateway_;
};

std::vector<std::byte> request_bytes(Incarnation sender, std::uint64_t sequence) {
  const FromClient request = AdminRequest{sequence, "jobs", {}, "somebody"};
  return frame_bytes(FrameKind::Messages, {sender, sequence, 0}, encode(std::span{&request, 1}));
}

// Both the timer of a refused connection and its end let it go, in either order.
TEST_F(GatewayTest, ARefusedPeerThatResetsItsConnectionTakesNobodyWithIt) {
  open();
  Hello strange = hello(7);
  strange.major = kProtocolMajor + 1;
  Hello stale = hello(8);
  stale.peer = Incarnation{1000};
  for (const Hello& refused : {strange, stale}) {
    RawPeer peer = this->peer();
    peer.send(hello_bytes(refused));
    ASSERT_TRUE(turn_until(loop_, [&] { return peer.introduction().has_value(); }));
    EXPECT_TRUE(std::holds_alternative<Refusal>(*peer.introduction()));
    peer.reset();
  }
  RawPeer hasty = peer();
  hasty.send(hello_bytes(strange));
  hasty.reset();
  EXPECT_TRUE(outlasts_the_patience());
  EXPECT_TRUE(serves());
}

TEST_F(GatewayTest, APeerThatIsRefusedIsDroppedWhenItHasTheRefusal) {
  wire.handshake_timeout = std::chrono::minutes{1};
  open();
  Hello strange = hello(7);
  strange.major = kProtocolMajor + 1;
  RawPeer peer = this->peer();
  peer.send(hello_bytes(strange));
  EXPECT_TRUE(turn_until(loop_, [&] { return peer.is_over(); }));
  EXPECT_TRUE(peer.introduction().has_value());
}

TEST_F(GatewayTest, AConnectionThatEndsJustWhenItsPatienceDoesIsLetGoOnce) {
  wire.handshake_timeout = milliseconds{20};
  open();
  for (int i = 0; i < 50; ++i) {
    std::vector<RawPeer> peers;
    for (int k = 0; k < 4; ++k) peers.push_back(peer());
    settle();
    const Instant due = monotonic_now() + wire.handshake_timeout;
    while (monotonic_now() < due) {
    }
    for (RawPeer& peer : peers) peer.reset();
    settle();
  }
  EXPECT_TRUE(serves());
}

// Two connections that say they are the same new life: the first one's message comes while the second one is let in.
TEST_F(GatewayTest, TwoIntroductionsOfOneLifeWithAMessageBetweenAreNoHarm) {
  wire.turn_bytes_max = 1U << 30U;  // All bytes that have come are taken at once.
  open();
  RawPeer first = peer();
  RawPeer second = peer();
  settle();
  std::vector<std::byte> burst = hello_bytes(hello(7));
  // So many that the message is read by itself: the gateway reads 8 KiB at once from a peer that has said little.
  const std::vector<std::byte> heartbeat = heartbeat_bytes(Incarnation{7});
  while (burst.size() <= 8192) burst.insert(burst.end(), heartbeat.begin(), heartbeat.end());
  const std::vector<std::byte> request = request_bytes(Incarnation{7}, 1);
  burst.insert(burst.end(), request.begin(), request.end());
  ASSERT_TRUE(first.send(burst));
  ASSERT_TRUE(second.send(hello_bytes(hello(7))));
  EXPECT_TRUE(turn_until(loop_, [&] { return second.introduction().has_value(); }));
  EXPECT_TRUE(serves());
}

TEST_F(GatewayTest, TheConnectionsOfOneHostHaveALimitAndComeBackWhenTheyEnd) {
  wire.connections_of_host_max = 3;
  link.reconnect_grace = milliseconds{1};
  open();
  RawPeer silent = peer();
  RawPeer client = peer();
  client.send(hello_bytes(hello(7)));
  ASSERT_TRUE(turn_until(loop_, [&] { return client.introduction().has_value(); }));
  RawPeer third = peer();
  RawPeer refused = peer();
  EXPECT_TRUE(turn_until(loop_, [&] { return refused.is_over(); })) << "at once";
  EXPECT_FALSE(third.is_over());
  third.reset();
  settle();
  EXPECT_TRUE(serves());
  client.reset();
  EXPECT_TRUE(turn_until(loop_, [&] { return heard_.size() == 2; })) << "both clients are gone";
  settle();
  std::vector<RawPeer> others;
  for (int i = 0; i < 2; ++i) others.push_back(peer());
  settle();
  for (RawPeer& other : others) EXPECT_FALSE(other.is_over());
}

// One read brings two messages of a client: one that cannot be decoded, and one that can.
TEST_F(GatewayTest, NothingIsHeardOfAPeerAfterItWasGivenUp) {
  open();
  RawPeer peer = this->peer();
  peer.send(hello_bytes(hello(7)));
  ASSERT_TRUE(turn_until(loop_, [&] { return peer.introduction().has_value(); }));
  const auto nonsense = std::make_shared<const FramePayload>(std::vector<std::uint64_t>(4, ~std::uint64_t{0}));
  std::vector<std::byte> burst = frame_bytes(FrameKind::Messages, {Incarnation{7}, 1, 0}, nonsense);
  for (std::uint64_t sequence = 2; sequence < 5; ++sequence) {
    const std::vector<std::byte> request = request_bytes(Incarnation{7}, sequence);
    burst.insert(burst.end(), request.begin(), request.end());
  }
  peer.send(burst);
  EXPECT_TRUE(turn_until(loop_, [&] { return peer.is_over(); }));
  settle();
  ASSERT_EQ(heard_.size(), 1U);
  EXPECT_TRUE(heard_[0].gone);
  EXPECT_TRUE(serves());
}

}  // namespace
}  // namespace penstock::supervisor
