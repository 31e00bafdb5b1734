#include "common/net/runner_channel.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <numeric>
#include <thread>

#include "common/host/memory_segment.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t kLimit = 1U << 20U;
using Wait = RunnerChannel::Wait;

class RunnerChannelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<SocketPair> pair = open_socket_pair();
    ASSERT_TRUE(pair);
    raw = pair->theirs.get();
    ours = std::make_unique<RunnerChannel>(std::move(pair->ours), kLimit);
    theirs = std::make_unique<RunnerChannel>(std::move(pair->theirs), kLimit);
  }
  static std::vector<std::uint64_t> words(std::size_t count) {
    std::vector<std::uint64_t> all(count);
    std::iota(all.begin(), all.end(), 1);
    return all;
  }
  static bool same(std::span<const std::byte> bytes, const std::vector<std::uint64_t>& expected) {
    return bytes.size() == expected.size() * 8 &&
           (bytes.empty() || std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0);
  }
  /// Sends bytes that are no message of ours.
  void send_raw(const void* data, std::size_t size) { ASSERT_EQ(::write(raw, data, size), static_cast<ssize_t>(size)); }

  std::unique_ptr<RunnerChannel> ours;
  std::unique_ptr<RunnerChannel> theirs;
  int raw = -1;
};

TEST_F(RunnerChannelTest, MessagesOfAnyLengthArriveInOrder) {
  const std::vector<std::size_t> lengths{0, 1, 7, 8191, 8192, 20000, 3, 100000, 1};
  std::thread sender{[&] {
    for (const std::size_t length : lengths) EXPECT_TRUE(theirs->send(words(length)));
  }};
  for (const std::size_t length : lengths) {
    const auto message = ours->receive(Wait::Yes);
    ASSERT_TRUE(message && message->has_value());
    EXPECT_TRUE(same((*message)->bytes, words(length))) << length;
  }
  sender.join();
}

// The child's present run lies there while it waits for an answer about its slot.
TEST_F(RunnerChannelTest, BytesThatWereHandedOverStayAsTheyAreWhateverIsReceivedLater) {
  ASSERT_TRUE(theirs->send(words(300)));
  ASSERT_TRUE(theirs->send(words(5)));  // Read ahead with the first.
  const auto first = ours->receive(Wait::Yes);
  ASSERT_TRUE(first && first->has_value());
  const std::vector<std::uint64_t> kept = ours->hand_over_bytes();
  const auto second = ours->receive(Wait::Yes);
  ASSERT_TRUE(second && second->has_value());
  EXPECT_TRUE(same((*second)->bytes, words(5)));
  ASSERT_TRUE(theirs->send(words(400)));
  const auto third = ours->receive(Wait::Yes);
  ASSERT_TRUE(third && third->has_value());
  EXPECT_TRUE(same((*third)->bytes, words(400)));
  EXPECT_TRUE(same((*first)->bytes, words(300)));
}

TEST_F(RunnerChannelTest, NothingThereIsNoMessage) {
  const auto message = ours->receive(Wait::No);
  ASSERT_TRUE(message);
  EXPECT_FALSE(message->has_value());
}

TEST_F(RunnerChannelTest, SegmentsArriveWithTheirMessages) {
  Result<MemorySegment> segment = MemorySegment::make(3);
  ASSERT_TRUE(segment);
  std::memcpy(segment->data(), "abc", 3);
  ASSERT_TRUE(segment->seal());
  const int number = segment->descriptor().get();
  ASSERT_TRUE(theirs->send(words(2)));
  ASSERT_TRUE(theirs->send(words(1), std::array{number, number}));
  ASSERT_TRUE(theirs->send(words(3), std::array{number}));
  for (const std::size_t expected : {0U, 2U, 1U}) {
    auto message = ours->receive(Wait::No);
    ASSERT_TRUE(message && message->has_value());
    ASSERT_EQ((*message)->descriptors.size(), expected);
    for (Descriptor& descriptor : (*message)->descriptors) {
      const Result<MemorySegment> mapped = MemorySegment::map(std::move(descriptor), 3);
      ASSERT_TRUE(mapped);
      EXPECT_EQ(std::memcmp(mapped->bytes().data(), "abc", 3), 0);
    }
  }
}

// The bytes behind a message were charged to the next run, as the beginning of its message.
TEST_F(RunnerChannelTest, WhatWasReadBehindAMessageIsKnown) {
  const std::array<std::uint32_t, 6> message{0x52534e50, 8, 0, 0, 7, 0};
  std::array<std::uint32_t, 7> more{};
  std::copy(message.begin(), message.end(), more.begin());
  more.back() = 0x52534e50;
  for (const std::size_t behind : {0U, 4U}) {
    send_raw(more.data(), message.size() * 4 + behind);
    const auto received = ours->receive(Wait::Yes);
    ASSERT_TRUE(received && received->has_value());
    EXPECT_EQ(ours->has_read_ahead(), behind > 0);
  }
}

TEST_F(RunnerChannelTest, GarbageIsRefused) {
  send_raw("this is no message at all", 25);
  const auto message = ours->receive(Wait::No);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, ErrorCode::MalformedFrame);
}

TEST_F(RunnerChannelTest, AMessageBeyondTheLimitIsRefusedBeforeItIsRead) {
  const std::uint32_t header[4] = {0x52534e50, kLimit + 8, 0, 0};
  send_raw(header, sizeof header);
  EXPECT_FALSE(ours->receive(Wait::No));
}

TEST_F(RunnerChannelTest, TheLongestMessageArrives) {
  std::thread sender{[&] { EXPECT_TRUE(theirs->send(words(kLimit / 8))); }};
  const auto message = ours->receive(Wait::Yes);
  sender.join();
  ASSERT_TRUE(message && message->has_value());
  EXPECT_EQ((*message)->bytes.size(), kLimit);
}

TEST_F(RunnerChannelTest, AMessageThatPromisesSegmentsItDoesNotHaveIsRefused) {
  const std::uint32_t header[4] = {0x52534e50, 0, 1, 0};
  send_raw(header, sizeof header);
  EXPECT_FALSE(ours->receive(Wait::No));
}

TEST_F(RunnerChannelTest, AClosedSocketIsADisconnect) {
  theirs.reset();
  const auto message = ours->receive(Wait::Yes);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, ErrorCode::Disconnected);
  EXPECT_FALSE(ours->send(words(1)));
}

}  // namespace
}  // namespace penstock
