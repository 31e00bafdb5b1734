#include "worker/store/segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

namespace penstock::worker {
namespace {

constexpr std::size_t kSize = 300'000;

Segment filled(char letter) {
  Result<Segment> segment = Segment::create(kSize);
  EXPECT_TRUE(segment);
  std::memset(segment->data(), letter, kSize);
  return std::move(segment).value();
}

Descriptor copy_of(const Descriptor& handle) { return Descriptor{::fcntl(handle.get(), F_DUPFD_CLOEXEC, 3)}; }

struct SocketPair {
  SocketPair() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    here = Descriptor{ends[0]};
    there = Descriptor{ends[1]};
  }
  Descriptor here;
  Descriptor there;
};

std::span<const std::byte> text(const char* words) { return std::as_bytes(std::span{words, std::strlen(words)}); }

TEST(Segment, WhatIsSealedKeepsItsBytesAndTakesNoOthers) {
  Segment segment = filled('a');
  EXPECT_FALSE(segment.sealed());
  ASSERT_TRUE(segment.seal());
  EXPECT_TRUE(segment.sealed());
  ASSERT_EQ(segment.bytes().size(), kSize);
  EXPECT_EQ(static_cast<char>(segment.bytes().back()), 'a');
  EXPECT_EQ(::ftruncate(segment.handle().get(), 10), -1);
  EXPECT_EQ(::ftruncate(segment.handle().get(), 2 * kSize), -1);
  EXPECT_EQ(::pwrite(segment.handle().get(), "b", 1, 0), -1);
  EXPECT_EQ(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, segment.handle().get(), 0), MAP_FAILED);
  EXPECT_TRUE(segment.seal());
}

TEST(Segment, WhoReadsItWhileItIsSealedFindsItsBytesWhereTheyWere) {
  Segment segment = filled('r');
  segment.protect();
  const std::span<const std::byte> before = segment.bytes();
  ASSERT_TRUE(segment.seal());
  EXPECT_EQ(segment.bytes().data(), before.data());
  EXPECT_EQ(static_cast<char>(before.front()), 'r');
  EXPECT_EQ(static_cast<char>(before.back()), 'r');
}

TEST(SegmentDeathTest, WhoWritesToOneThatIsCompleteDiesOfIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Segment segment = filled('w');
  segment.protect();
  EXPECT_DEATH(segment.data()[0] = std::byte{1}, "");
}

TEST(Segment, AnotherProcessReadsTheSamePagesByTheHandleThatItIsSent) {
  Segment segment = filled('x');
  ASSERT_TRUE(segment.seal());
  SocketPair pair;
  const pid_t child = ::fork();  // tidy: allow call: a process that shares nothing but the socket
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::array<std::byte, 16> scratch{};
    ::fcntl(pair.there.get(), F_SETFL, 0);
    Result<Received> received = receive_handles(pair.there, scratch);
    if (!received || received->handles.size() != 1) ::_exit(2);
    Result<Segment> same = Segment::adopt(std::move(received->handles[0]), kSize);
    ::_exit(same && static_cast<char>(same->bytes()[kSize - 1]) == 'x' ? 0 : 3);
  }
  const int handle = segment.handle().get();
  Result<std::size_t> sent = send_handles(pair.here, text("datum"), std::span{&handle, 1});
  ASSERT_TRUE(sent);
  EXPECT_EQ(*sent, 5U);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Segment, WhatARunnerHasLeftUnsealedIsSealedWhenItIsAdopted) {
  Descriptor handle;
  {
    Segment segment = filled('r');
    handle = copy_of(segment.handle());
  }
  Result<Segment> adopted = Segment::adopt(std::move(handle), kSize);
  ASSERT_TRUE(adopted);
  EXPECT_EQ(static_cast<char>(adopted->bytes()[0]), 'r');
  EXPECT_EQ(::pwrite(adopted->handle().get(), "b", 1, 0), -1);
}

TEST(Segment, HandlesThatCouldHurtTheReaderAreRefused) {
  const Segment written = filled('w');  // Still mapped writable here.
  EXPECT_EQ(Segment::adopt(copy_of(written.handle()), kSize).error().code, ErrorCode::InvalidArgument);

  Segment short_one = filled('s');
  ASSERT_TRUE(short_one.seal());
  EXPECT_EQ(Segment::adopt(copy_of(short_one.handle()), kSize + 1).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(Segment::adopt(copy_of(short_one.handle()), 0).error().code, ErrorCode::InvalidArgument);
  EXPECT_TRUE(Segment::adopt(copy_of(short_one.handle()), kSize));

  EXPECT_EQ(Segment::adopt(Descriptor{::open("/dev/zero", O_RDWR | O_CLOEXEC)}, 10).error().code,
            ErrorCode::InvalidArgument);
  EXPECT_EQ(Segment::adopt(Descriptor{}, 10).error().code, ErrorCode::InvalidArgument);
}

TEST(Segment, OneThatNoMemoryCouldEverHoldIsRefused) {
  EXPECT_EQ(Segment::create(std::size_t{1} << 60U).error().code, ErrorCode::ResourceExhausted);
}

TEST(Segment, ACallCarriesNoMoreHandlesThanItsLimit) {
  const SocketPair pair;
  std::vector<int> handles(kHandlesInACallMax + 1, pair.here.get());
  EXPECT_EQ(send_handles(pair.here, text("x"), handles).error().code, ErrorCode::LimitExceeded);
  handles.pop_back();
  ASSERT_TRUE(send_handles(pair.here, text("x"), handles));
  std::array<std::byte, 16> scratch{};
  Result<Received> received = receive_handles(pair.there, scratch);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->handles.size(), kHandlesInACallMax);
  EXPECT_EQ(received->bytes, 1U);
}

TEST(Segment, AnEmptyAClosedAndABrokenSocketAreToldApart) {
  SocketPair pair;
  std::array<std::byte, 16> scratch{};
  EXPECT_EQ(receive_handles(pair.there, scratch).error().code, ErrorCode::WrongState);
  pair.here.close();
  Result<Received> received = receive_handles(pair.there, scratch);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->bytes, 0U);
  EXPECT_EQ(send_handles(pair.there, text("x"), {}).error().code, ErrorCode::Disconnected);
}

}  // namespace
}  // namespace penstock::worker
