// Connections and links over real loopback sockets, in one thread.
#include "common/net/connection.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/base/rng.hpp"
#include "common/host/clock.hpp"
#include "common/net/peer_link.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ConnectionTest : public ::testing::Test {
 protected:
  /// Runs the loop until `done`, at most ten seconds.
  void run_until(const std::function<bool()>& done) {
    LoopTimer limit{loop};
    bool late = false;
    limit.arm(monotonic_now() + seconds{10}, [&] { late = true; });
    loop.set_worker([&] {
      if (!done() && !late) return false;
      loop.stop();
      return false;
    });
    // A turn of the loop happens only when something does; this keeps it turning.
    LoopTimer turn{loop};
    std::function<void()> again = [&] { turn.arm(monotonic_now() + milliseconds{1}, again); };
    again();
    loop.run();
    ASSERT_FALSE(late) << "the condition did not come true";
    loop.set_worker(nullptr);
  }

  /// A raw client socket connected to the listener.
  int raw_client() {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(listener->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }

  void listen() {
    auto opened = Listener::open(loop, wire, {"127.0.0.1", 0}, {}, [this](std::unique_ptr<Connection> connection) {
      connection->start(
          [this](const FrameHeader& header, std::span<const std::byte> payload) {
            headers.push_back(header);
            payloads.emplace_back(payload.begin(), payload.end());
          },
          [this](const Error& error) { errors.push_back(error); });
      accepted.push_back(std::move(connection));
    });
    ASSERT_TRUE(opened.has_value());
    listener = std::move(opened).value();
  }

  Loop loop;
  WireConfig wire{.frame_bytes_max = 1 << 20, .frame_timeout = milliseconds{200}};
  std::unique_ptr<Listener> listener;
  std::vector<std::unique_ptr<Connection>> accepted;
  std::vector<FrameHeader> headers;
  std::vector<std::vector<std::byte>> payloads;
  std::vector<Error> errors;
};

std::vector<std::byte> frame_bytes(std::uint64_t sequence, std::size_t words) {
  const FramePayload payload{std::vector<std::uint64_t>(words, sequence)};
  const FrameHeaderBytes header = write_header(FrameKind::Messages, {Incarnation{1}, sequence, 0}, payload);
  std::vector<std::byte> bytes(kFrameHeaderBytes + payload.bytes().size());
  std::memcpy(bytes.data(), header.data(), kFrameHeaderBytes);
  std::memcpy(bytes.data() + kFrameHeaderBytes, payload.bytes().data(), payload.bytes().size());
  return bytes;
}

TEST_F(ConnectionTest, FramesOfAllSizesArriveWholeAndInOrder) {
  listen();
  std::unique_ptr<Connection> client;
  Connector connector{loop,
                      wire,
                      {"127.0.0.1", listener->port()},
                      nullptr,
                      seconds{5},
                      [&](Result<std::unique_ptr<Connection>> result) {
                        client = std::move(result).value();
                        client->start([](const FrameHeader&, std::span<const std::byte>) {}, [](const Error&) {});
                        std::uint64_t sequence = 0;
                        for (const std::size_t words : {1U, 2U, 1000U, 32768U, 100000U, 131072U, 1U, 7U}) {
                          ++sequence;
                          client->send(
                              FrameKind::Messages, {Incarnation{1}, sequence, 0},
                              std::make_shared<const FramePayload>(std::vector<std::uint64_t>(words, sequence)));
                        }
                      }};
  run_until([&] { return headers.size() == 8; });
  for (std::size_t i = 0; i < headers.size(); ++i) {
    EXPECT_EQ(headers[i].link.sequence, i + 1);
    std::uint64_t word = 0;
    std::memcpy(&word, payloads[i].data() + payloads[i].size() - 8, 8);
    EXPECT_EQ(word, i + 1);
  }
}

TEST_F(ConnectionTest, WithinAHostFramesNeedNoPort) {
  auto opened = Listener::open_locally(loop, wire, [this](std::unique_ptr<Connection> connection) {
    connection->start([this](const FrameHeader& header, std::span<const std::byte>) { headers.push_back(header); },
                      [this](const Error& error) { errors.push_back(error); });
    accepted.push_back(std::move(connection));
  });
  ASSERT_TRUE(opened) << to_string(opened.error());
  const HostPort address = (*opened)->address();
  EXPECT_NE(address.local, 0U);
  EXPECT_EQ(address.port, 0);
  std::unique_ptr<Connection> client;
  const auto send = [&](Result<std::unique_ptr<Connection>> result) {
    client = std::move(result).value();
    client->start([](const FrameHeader&, std::span<const std::byte>) {}, [](const Error&) {});
    client->send(FrameKind::Messages, {Incarnation{1}, 7, 0},
                 std::make_shared<const FramePayload>(std::vector<std::uint64_t>(100000, 7)));
  };
  Connector connector{loop, wire, address, nullptr, seconds{5}, send};
  run_until([&] { return headers.size() == 1; });
  EXPECT_EQ(headers[0].link.sequence, 7U);
  client.reset();
  run_until([&] { return errors.size() == 1; });
  EXPECT_EQ(errors[0].code, ErrorCode::Disconnected);
  opened->reset();
  Error refused;
  Connector late{loop,       wire,
                 address,    nullptr,
                 seconds{5}, [&](const Result<std::unique_ptr<Connection>>& result) { refused = result.error(); }};
  run_until([&] { return !refused.message.empty(); });
  EXPECT_EQ(refused.code, ErrorCode::Unreachable);
  EXPECT_EQ(refused.subject, to_string(address));
}

// Fault F20: the frames of one connection are taken in parts, and the others are heard in between.
TEST_F(ConnectionTest, WhoSendsMuchAtOnceIsHeardInTurns) {
  wire.turn_bytes_max = 64 << 10;
  std::string order;  // A letter for each frame, of its sender.
  auto opened = Listener::open(loop, wire, {"127.0.0.1", 0}, {}, [&](std::unique_ptr<Connection> connection) {
    connection->start([&](const FrameHeader& header,
                          std::span<const std::byte>) { order += static_cast<char>('a' + header.link.sequence - 1); },
                      [](const Error&) {});
    accepted.push_back(std::move(connection));
  });
  ASSERT_TRUE(opened.has_value());
  listener = std::move(opened).value();
  const int senders[] = {raw_client(), raw_client()};
  for (std::uint64_t i = 0; i < 2; ++i) {
    std::vector<std::byte> burst;
    for (int count = 0; count < 1000; ++count) {
      const std::vector<std::byte> frame = frame_bytes(i + 1, 1);
      burst.insert(burst.end(), frame.begin(), frame.end());
    }
    ASSERT_EQ(::write(senders[i], burst.data(), burst.size()), static_cast<ssize_t>(burst.size()));
  }
  run_until([&] { return order.size() == 2000; });
  const std::size_t begin = std::max(order.find('a'), order.find('b'));
  const std::size_t end = std::min(order.rfind('a'), order.rfind('b'));
  ASSERT_LT(begin, end);
  std::size_t most = 0;
  for (std::size_t at = begin, next = 0; at < end; at = next) {
    next = std::min(order.find_first_not_of(order[at], at), end);
    most = std::max(most, next - at);
  }
  // A turn is 16 small frames; while the other one's socket is looked at, there may be another one.
  EXPECT_LE(most, 3U * 16U) << order;
  for (const int fd : senders) ::close(fd);
}

// Fault F20: sockets are read until none is ready, and a client that streams a graph is always ready.
TEST_F(ConnectionTest, WhoHasAlwaysMoreLeavesTheActorsTheirTurn) {
  wire.turn_bytes_max = 64 << 10;
  listen();
  const int fd = raw_client();
  run_until([&] { return !accepted.empty(); });
  std::vector<std::byte> burst;
  constexpr std::size_t kFrames = 16;
  for (std::uint64_t i = 1; i <= kFrames; ++i) {
    const std::vector<std::byte> frame = frame_bytes(i, 4096);
    burst.insert(burst.end(), frame.begin(), frame.end());
  }
  ASSERT_EQ(::send(fd, burst.data(), burst.size(), MSG_DONTWAIT), static_cast<ssize_t>(burst.size()))
      << "no room in the socket";
  std::size_t most = 0;
  for (std::size_t before = 0; headers.size() < kFrames && errors.empty(); before = headers.size()) {
    loop.turn();
    most = std::max(most, headers.size() - before);
  }
  EXPECT_TRUE(errors.empty());
  EXPECT_EQ(most, 2U) << "frames of 32 KiB between two turns of the actors";
  ::close(fd);
}

TEST_F(ConnectionTest, WhatStandsForMoreThanItSaysCountsAsMuch) {
  wire.turn_bytes_max = 64 << 10;
  std::size_t heard = 0;
  auto opened = Listener::open(loop, wire, {"127.0.0.1", 0}, {}, [&](std::unique_ptr<Connection> connection) {
    Connection* reader = connection.get();
    accepted.push_back(std::move(connection));
    reader->start(
        [&, reader](const FrameHeader&, std::span<const std::byte>) {
          ++heard;
          reader->weigh(64 << 10);
        },
        [](const Error&) {});
  });
  ASSERT_TRUE(opened.has_value());
  listener = std::move(opened).value();
  const int fd = raw_client();
  run_until([&] { return !accepted.empty(); });
  std::vector<std::byte> burst;
  constexpr std::size_t kFrames = 8;
  for (std::uint64_t i = 1; i <= kFrames; ++i) {
    const std::vector<std::byte> frame = frame_bytes(i, 1);
    burst.insert(burst.end(), frame.begin(), frame.end());
  }
  ASSERT_EQ(::write(fd, burst.data(), burst.size()), static_cast<ssize_t>(burst.size()));
  std::size_t most = 0;
  for (std::size_t before = 0; heard < kFrames; before = heard) {
    loop.turn();
    most = std::max(most, heard - before);
  }
  EXPECT_EQ(most, 1U) << "small frames, each of which is a turn's worth, between two turns of the actors";
  ::close(fd);
}

// The gateway starts a connection, reads the introduction, and hands it to a link. Two reads at once would shuffle
// bytes.
TEST_F(ConnectionTest, AConnectionThatIsHandedOnReadsEveryByteOnce) {
  std::vector<std::uint64_t> sequences;
  auto opened = Listener::open(loop, wire, {"127.0.0.1", 0}, {}, [&](std::unique_ptr<Connection> connection) {
    Connection* handed_on = connection.get();
    accepted.push_back(std::move(connection));
    const auto to_second = [&](const FrameHeader& header, std::span<const std::byte>) {
      sequences.push_back(header.link.sequence);
    };
    const auto to_first = [&, handed_on, to_second](const FrameHeader& header, std::span<const std::byte>) {
      sequences.push_back(header.link.sequence);
      handed_on->start(to_second, [&](const Error& error) { errors.push_back(error); });
    };
    handed_on->start(to_first, [&](const Error& error) { errors.push_back(error); });
  });
  ASSERT_TRUE(opened.has_value());
  listener = std::move(opened).value();
  const int fd = raw_client();
  std::uint64_t sent = 0;
  constexpr std::uint64_t kFrames = 40;
  run_until([&] {
    // One after the other, so that reads wait in between; large ones, so that a frame takes several reads.
    if (sent < kFrames && sequences.size() == sent) {
      ++sent;
      const std::vector<std::byte> bytes = frame_bytes(sent, 100 * sent);
      EXPECT_EQ(::send(fd, bytes.data(), bytes.size() / 2, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size() / 2));
      EXPECT_EQ(::send(fd, bytes.data() + bytes.size() / 2, bytes.size() - bytes.size() / 2, MSG_NOSIGNAL),
                static_cast<ssize_t>(bytes.size() - bytes.size() / 2));
    }
    return sequences.size() == kFrames || !errors.empty();
  });
  ASSERT_TRUE(errors.empty()) << to_string(errors.front());
  for (std::uint64_t i = 0; i < kFrames; ++i) EXPECT_EQ(sequences[i], i + 1);
  ::close(fd);
}

TEST_F(ConnectionTest, WhoIsHandedAConnectionThatIsOverIsTold) {
  listen();
  const int fd = raw_client();
  run_until([&] { return !accepted.empty(); });
  ::close(fd);
  run_until([&] { return errors.size() == 1; });
  std::vector<Error> told;
  accepted[0]->start([](const FrameHeader&, std::span<const std::byte>) {},
                     [&](const Error& error) { told.push_back(error); });
  run_until([&] { return !told.empty(); });
  EXPECT_EQ(told[0].code, ErrorCode::Disconnected);
  EXPECT_EQ(errors.size(), 1U);
}

TEST_F(ConnectionTest, AConnectionThatClosesAfterItsLastFrameTellsItsOwner) {
  listen();
  const int fd = raw_client();
  run_until([&] { return !accepted.empty(); });
  accepted[0]->send(FrameKind::Heartbeat, {Incarnation{1}, 0, 0}, nullptr);
  accepted[0]->close_after_sending();
  run_until([&] { return errors.size() == 1; });
  std::byte byte{};
  EXPECT_EQ(::recv(fd, &byte, 1, 0), 1) << "the frame";
  ::close(fd);
}

// A link is without a connection, and not silent, when its connection carries a stranger's frames.
TEST_F(ConnectionTest, ALinkLetsAConnectionGoThatCarriesFramesOfAnother) {
  PeerLink link{loop, LinkConfig{}, Incarnation{1}, Incarnation{2}};
  std::vector<Error> detached;
  link.set_handlers([](std::span<const std::byte>) {}, [](const std::string&) {},
                    [&](const Error& error) { detached.push_back(error); });
  auto opened = Listener::open(loop, wire, {"127.0.0.1", 0}, {}, [&](std::unique_ptr<Connection> connection) {
    link.attach(std::move(connection), false, 0);
  });
  ASSERT_TRUE(opened.has_value());
  listener = std::move(opened).value();
  const int fd = raw_client();
  const std::vector<std::byte> frame = frame_bytes(1, 1);  // Of sender 1.
  ASSERT_EQ(::write(fd, frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
  run_until([&] { return !detached.empty(); });
  EXPECT_FALSE(link.core().attached());
  ::close(fd);
}

// Fault F17: bytes that come one by one are put together.
TEST_F(ConnectionTest, OneByteWritesAreParsed) {
  listen();
  const int fd = raw_client();
  const std::vector<std::byte> bytes = frame_bytes(1, 3);
  std::size_t sent = 0;
  run_until([&] {
    if (sent < bytes.size()) sent += static_cast<std::size_t>(::send(fd, bytes.data() + sent, 1, MSG_NOSIGNAL));
    return headers.size() == 1;
  });
  EXPECT_TRUE(errors.empty());
  ::close(fd);
}

// Faults F18, F19: random bytes, an absurd length and half a frame end that connection, and only that one.
TEST_F(ConnectionTest, HostilePeersAreCutOffAndOthersAreNotDisturbed) {
  listen();
  const int good = raw_client();
  const auto send_all = [](int fd, const std::vector<std::byte>& bytes) {
    ASSERT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  };
  Rng rng{7};
  std::vector<int> hostile;
  for (int i = 0; i < 20; ++i) {
    std::vector<std::byte> bytes(200);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.next());
    hostile.push_back(raw_client());
    send_all(hostile.back(), bytes);
  }
  std::vector<std::byte> absurd = frame_bytes(1, 1);
  const std::uint32_t length = 0xfffffff8;
  std::memcpy(absurd.data() + 8, &length, 4);
  hostile.push_back(raw_client());
  send_all(hostile.back(), absurd);
  std::vector<std::byte> damaged = frame_bytes(1, 4);
  damaged[60] ^= std::byte{1};
  hostile.push_back(raw_client());
  send_all(hostile.back(), damaged);
  std::vector<std::byte> half = frame_bytes(1, 100);
  half.resize(100);
  hostile.push_back(raw_client());
  send_all(hostile.back(), half);
  run_until([&] { return errors.size() == hostile.size(); });
  send_all(good, frame_bytes(5, 2));
  run_until([&] { return headers.size() == 1; });
  EXPECT_EQ(headers[0].link.sequence, 5U);
  for (const int fd : hostile) ::close(fd);
  ::close(good);
}

// A stream that is read as fast as it comes ends in the middle of a frame each time, and of another one.
TEST_F(ConnectionTest, EachFrameHasATimeOfItsOwnToBecomeWhole) {
  wire.frame_timeout = milliseconds{50};
  listen();
  const int fd = raw_client();
  const Instant begin = monotonic_now();
  std::vector<std::byte> rest;
  std::size_t sent = 0;
  while (monotonic_now() < begin + 4 * wire.frame_timeout) {
    const std::vector<std::byte> frame = frame_bytes(++sent, 8);
    rest.insert(rest.end(), frame.begin(), frame.begin() + 40);
    ASSERT_EQ(::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL), static_cast<ssize_t>(rest.size()));
    rest.assign(frame.begin() + 40, frame.end());
    run_until([&] { return headers.size() == sent - 1; });
    ASSERT_TRUE(errors.empty()) << to_string(errors[0]);
  }
  // But it must be.
  run_until([&] { return !errors.empty(); });
  EXPECT_NE(errors[0].message.find("half a frame"), std::string::npos) << to_string(errors[0]);
  ::close(fd);
}

TEST_F(ConnectionTest, APortInUseIsNamed) {
  listen();
  const auto second =
      Listener::open(loop, wire, {"127.0.0.1", listener->port()}, {}, [](std::unique_ptr<Connection>) {});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::AddressInUse);
}

TEST_F(ConnectionTest, NobodyThereIsAnErrorWithTheWayOut) {
  std::optional<Error> error;
  Connector connector{loop,    wire,       {"127.0.0.1", 1},
                      nullptr, seconds{5}, [&](Result<std::unique_ptr<Connection>> result) {
                        error = result.error(); }};
  run_until([&] { return error.has_value(); });
  EXPECT_EQ(error->code, ErrorCode::Unreachable);
  EXPECT_NE(error->remedy.find("penstock supervisor"), std::string::npos);
}

TEST(HostPort, IsReadAndRefusedPrecisely) {
  EXPECT_EQ(parse_host_port("1.2.3.4:80", "x").value(), (HostPort{"1.2.3.4", 80}));
  EXPECT_EQ(parse_host_port("[::1]:80", "x").value(), (HostPort{"::1", 80}));
  EXPECT_EQ(parse_host_port("7465", "x").value(), (HostPort{"x", 7465}));
  const HostPort within{"", 0, "", 0xabcdef};
  EXPECT_EQ(to_string(within), "local:0000000000abcdef");
  EXPECT_EQ(parse_host_port("local:0000000000abcdef", "x").value(), within);
  EXPECT_EQ(parse_host_port("local:7465", "x").value(), (HostPort{"local", 7465})) << "a host of that name";
  for (const char* wrong : {"local:0000000000000000", "local:00000000000000xy", "local:-000000000000001"})
    EXPECT_FALSE(parse_host_port(wrong, "x").has_value()) << wrong;
  for (const char* wrong : {"", ":", "a:", ":80", "a:b", "a:65536", "a:-1", "a:1 "})
    EXPECT_FALSE(parse_host_port(wrong, "x").has_value()) << wrong;
}

TEST(HostPort, AFileHasTheAddressOfASupervisorThatMayMove) {
  const ScratchDirectory scratch;
  const std::string path = scratch.at("address");
  const Result<HostPort> there = parse_supervisor_address("@" + path, "x");
  ASSERT_TRUE(there.has_value());
  EXPECT_EQ(to_string(*there), "@" + path);
  EXPECT_EQ(look_up(*there).error().code, ErrorCode::Unreachable) << "it is not there yet";
  scratch.write("address", "10.0.0.1:80\n");
  EXPECT_EQ(look_up(*there).value(), (HostPort{"10.0.0.1", 80}));
  scratch.write("address", "10.0.0.2:81\n");
  EXPECT_EQ(look_up(*there).value(), (HostPort{"10.0.0.2", 81}));
  scratch.write("address", "nothing of the kind\n");
  EXPECT_EQ(look_up(*there).error().code, ErrorCode::Unreachable);
  EXPECT_EQ(parse_supervisor_address("7465", "x").value(), (HostPort{"x", 7465}));
  EXPECT_FALSE(parse_supervisor_address("@", "x").has_value());
}

/// Two links; the connection between them is cut again and again.
TEST_F(ConnectionTest, ALinkDeliversEverythingOnceThoughItsConnectionBreaks) {
  const LinkConfig config{.reconnect_grace = seconds{5}};
  PeerLink server{loop, config, Incarnation{1}, Incarnation{2}};
  PeerLink client{loop, config, Incarnation{2}, Incarnation{1}};
  std::vector<std::uint64_t> received;
  server.set_handlers(
      [&](std::span<const std::byte> bytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), 8);
        received.push_back(word);
      },
      [](const std::string& reason) { FAIL() << reason; }, [](const Error&) {});
  std::unique_ptr<Connection> pending;
  bool first = true;
  auto opened = Listener::open(loop, wire, {"127.0.0.1", 0}, {}, [&](std::unique_ptr<Connection> connection) {
    server.attach(std::move(connection), !first, client.core().received_through());
  });
  ASSERT_TRUE(opened.has_value());
  listener = std::move(opened).value();
  std::unique_ptr<Connector> connector;
  const std::function<void()> connect = [&] {
    connector = std::make_unique<Connector>(loop, wire, HostPort{"127.0.0.1", listener->port()}, nullptr, seconds{5},
                                            [&](Result<std::unique_ptr<Connection>> result) {
                                              client.attach(std::move(result).value(), !first,
                                                            server.core().received_through());
                                              first = false;
                                            });
  };
  client.set_handlers([](std::span<const std::byte>) {}, [](const std::string& reason) { FAIL() << reason; },
                      [](const Error&) {});
  connect();
  std::uint64_t sent = 0;
  constexpr std::uint64_t kMessages = 5000;
  run_until([&] {
    for (int burst = 0; burst < 20 && sent < kMessages && !first; ++burst) {
      ++sent;
      client.send(std::make_shared<const FramePayload>(std::vector<std::uint64_t>(1 + sent % 300, sent)));
    }
    if (sent % 500 == 0 && sent > 0 && sent < kMessages && client.core().attached()) connect();
    return received.size() >= kMessages;
  });
  ASSERT_EQ(received.size(), kMessages);
  for (std::uint64_t i = 0; i < kMessages; ++i) ASSERT_EQ(received[i], i + 1);
}

}  // namespace
}  // namespace penstock
