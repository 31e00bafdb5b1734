// A client's link to a supervisor that takes its time: the test is the supervisor, on a loop of its own thread.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "client/src/transport.hpp"
#include "common/host/clock.hpp"
#include "common/loop/loop.hpp"
#include "common/wire/codec.hpp"

namespace penstock::client {
namespace {

/// Takes what it is sent, and acknowledges it only when it is told to.
class SlowSupervisor {
 public:
  explicit SlowSupervisor(const WireConfig& wire) {
    auto opened = Listener::open(loop_, wire, {"127.0.0.1", 0}, {}, [this](std::unique_ptr<Connection> connection) {
      connection_ = std::move(connection);
      connection_->start([this](const FrameHeader& header, std::span<const std::byte>) { take(header); },
                         [](const Error&) {});
    });
    EXPECT_TRUE(opened.has_value());
    listener_ = std::move(opened).value();
    port_ = listener_->port();
    thread_ = std::thread{[this] { loop_.run(); }};
  }
  ~SlowSupervisor() {
    loop_.post([this] {
      connection_.reset();
      listener_.reset();
      loop_.stop();
    });
    thread_.join();
  }
  std::uint16_t port() const { return port_; }
  void acknowledge(std::uint64_t through) {
    loop_.post([this, through] { connection_->send(FrameKind::Heartbeat, {kMe, 0, through}, nullptr); });
  }
  /// Ends as soon as `count` frames with messages have come; false if that takes too long.
  bool heard(std::uint64_t count) {
    const Instant too_late = monotonic_now() + std::chrono::seconds{20};
    while (messages_.load() < count && monotonic_now() < too_late) std::this_thread::yield();
    return messages_.load() >= count;
  }
  std::uint64_t messages() const { return messages_.load(); }

 private:
  static constexpr Incarnation kMe{77};

  void take(const FrameHeader& header) {
    if (header.kind == FrameKind::Messages) ++messages_;
    if (header.kind != FrameKind::Introduction) return;
    Welcome welcome;
    welcome.incarnation = kMe;
    connection_->send(FrameKind::Introduction, {kMe, 0, 0}, encode(Introduction{welcome}));
  }

  Loop loop_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Connection> connection_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> messages_{0};
  std::thread thread_;
};

FromClient chunk_of_bytes(std::size_t bytes) {
  SubmitChunk chunk;
  chunk.graph.templates = {Template{}};
  chunk.graph.template_of = {0};
  chunk.graph.input_offsets = {0, 0};
  chunk.graph.payloads.assign(bytes, 'p');
  chunk.graph.payload_offsets = {0, static_cast<std::uint32_t>(bytes)};
  return chunk;
}

class RemoteTransportTest : public ::testing::Test {
 protected:
  RemoteTransportTest() {
    options.wire.send_buffer_bytes_max = 4 << 20;
    options.link.resend_after = options.link.resend_after_max = std::chrono::minutes{1};
    supervisor = std::make_unique<SlowSupervisor>(options.wire);
    options.supervisors = {{"127.0.0.1", supervisor->port(), {}}};
    options.name = "test";
  }
  void connect() {
    auto connected = connect_remote(options, {[](const ToClient&) {}, nullptr, [](const Error&) {}});
    EXPECT_TRUE(connected.has_value());
    transport = std::move(connected).value();
  }

  RemoteOptions options;
  std::unique_ptr<SlowSupervisor> supervisor;
  std::unique_ptr<Transport> transport;
};

// Fault F20: unacknowledged messages are held; a quarter of the buffer, and one more.
TEST_F(RemoteTransportTest, WhoSendsMuchWaitsUntilSomeOfItHasCome) {
  connect();
  std::atomic<std::uint64_t> sent{0};
  std::thread engine{[&] {
    for (int i = 0; i < 12; ++i) {
      transport->wait_for_room();
      transport->send(chunk_of_bytes(256 << 10));
      ++sent;
    }
  }};
  EXPECT_TRUE(supervisor->heard(4));
  EXPECT_LE(sent.load(), 4U) << "more than 1 MiB is not acknowledged";
  for (std::uint64_t through = 1; through <= 8; ++through) {
    supervisor->acknowledge(through);
    EXPECT_TRUE(supervisor->heard(4 + through));
    EXPECT_LE(sent.load(), 4 + through);
  }
  engine.join();
  EXPECT_EQ(sent.load(), 12U);
}

TEST_F(RemoteTransportTest, WhoWaitsForRoomIsWokenWhenTheWayHasEnded) {
  options.link.supervisor_absence_max = std::chrono::milliseconds{100};
  connect();
  std::atomic<bool> woken{false};
  std::thread engine{[&] {
    for (int i = 0; i < 12; ++i) {
      transport->wait_for_room();
      transport->send(chunk_of_bytes(256 << 10));
    }
    woken = true;
  }};
  EXPECT_TRUE(supervisor->heard(4));
  EXPECT_FALSE(woken.load());
  supervisor.reset();
  engine.join();
  EXPECT_TRUE(woken.load());
}

TEST_F(RemoteTransportTest, WhenWaitsHaveEndedNobodyWaitsForRoomAnyMore) {
  connect();
  std::thread engine{[&] {
    for (int i = 0; i < 12; ++i) {
      transport->wait_for_room();
      transport->send(chunk_of_bytes(256 << 10));
    }
  }};
  EXPECT_TRUE(supervisor->heard(4));
  transport->end_waits();
  engine.join();
}

}  // namespace
}  // namespace penstock::client
