// The desk against processes of all kinds: sockets of this test.
#include "worker/transfer/handle_desk.hpp"

#include <gtest/gtest.h>

#include "common/net/local_socket.hpp"
#include "tests/unit/worker/transfer/transfer_ends.hpp"
#include "worker/store/segment.hpp"

namespace penstock::worker {
namespace {

constexpr std::size_t kSize = 100'000;

/// A process that comes for handles.
struct Visit {
  explicit Visit(std::uint64_t desk) : socket(std::move(connect_local(desk, present_user())).value()) {}
  void say(const HandleRequest& request) { say_bytes(std::as_bytes(std::span{&request, 1})); }
  void say_bytes(std::span<const std::byte> bytes) { ASSERT_TRUE(send_handles(socket, bytes, {})); }
  /// Whether something, or the end, can be read.
  bool look() {
    Result<Received> received = receive_handles(socket, std::as_writable_bytes(std::span{&reply, 1}));
    if (!received && received.error().code == ErrorCode::WrongState) return false;
    ended = !received || received->bytes == 0;
    handles = received ? std::move(received->handles) : std::vector<Descriptor>{};
    return true;
  }
  Descriptor socket;
  HandleReply reply;
  std::vector<Descriptor> handles;
  bool ended = false;
};

class HandleDeskTest : public ::testing::Test {
 protected:
  void open(const HandleLimits& limits = {}) {
    Result<std::shared_ptr<HandleDesk>> opened = HandleDesk::open(turning.loop, limits);
    ASSERT_TRUE(opened) << to_string(opened.error());
    desk = std::move(opened).value();
  }
  BlobPtr blob(std::size_t bytes = kSize) { return store.allocate(bytes); }
  std::optional<HandleOffer> offer(std::uint32_t subtask, BlobPtr what) { return desk->offer(key(subtask), what); }
  bool answered(Visit& visit) {
    return turning.until([&] { return visit.look(); });
  }
  bool count_is(std::size_t count) {
    return turning.until([&] { return desk->count() == count; });
  }

  Turning turning;
  ObjectStore store{StoreOptions{4096, 1000, {}, {}, {}}};
  std::shared_ptr<HandleDesk> desk;
};

TEST_F(HandleDeskTest, WhoHasATicketGetsTheVeryMemoryUntilItGivesItBack) {
  open();
  const BlobPtr datum = blob();
  const auto offered = offer(1, datum);
  ASSERT_TRUE(offered);
  Visit visit{offered->desk};
  visit.say({.ticket = offered->ticket});
  ASSERT_TRUE(answered(visit));
  EXPECT_EQ(visit.reply.status, TransferStatus::Here);
  EXPECT_EQ(visit.reply.bytes, kSize);
  ASSERT_EQ(visit.handles.size(), 1U);
  const Result<Segment> same = Segment::adopt(std::move(visit.handles[0]), kSize);
  ASSERT_TRUE(same);
  EXPECT_EQ(file_at(same->bytes().data()), file_at(datum->bytes().data()));
  ASSERT_EQ(desk->mapped().size(), 1U);
  EXPECT_EQ(desk->mapped()[0].key, key(1));
  EXPECT_EQ(desk->mapped()[0].blob, datum);
  visit.say({.wish = HandleWish::GiveBack, .ticket = offered->ticket});
  EXPECT_TRUE(count_is(0));
  EXPECT_TRUE(desk->mapped().empty());
  visit.say({.wish = HandleWish::GiveBack, .ticket = offered->ticket});  // Once more: as after a fork.
  visit.say({.ticket = offered->ticket});
  ASSERT_TRUE(answered(visit));
  EXPECT_EQ(visit.reply.status, TransferStatus::Gone) << "a ticket is good for once";
  EXPECT_TRUE(visit.handles.empty());
}

// kill -9 of a client: the kernel closes its end.
TEST_F(HandleDeskTest, WithItsConnectionAllThatAProcessHasIsGivenBack) {
  open();
  const BlobPtr datum = blob();
  const auto first = offer(1, datum);
  const auto second = offer(2, blob());
  const auto others = offer(1, datum);
  ASSERT_TRUE(first && second && others);
  Visit stays{others->desk};
  stays.say({.ticket = others->ticket});
  ASSERT_TRUE(answered(stays));
  {
    Visit dies{first->desk};
    dies.say({.ticket = first->ticket});
    dies.say({.ticket = second->ticket});
    ASSERT_TRUE(answered(dies));
    ASSERT_TRUE(answered(dies));
    EXPECT_EQ(desk->count(), 3U);
    EXPECT_EQ(desk->mapped().size(), 2U) << "one of them twice";
  }
  EXPECT_TRUE(count_is(1));
  EXPECT_EQ(desk->mapped().size(), 1U);
}

TEST_F(HandleDeskTest, WhatNobodyComesForIsNoLongerOffered) {
  HandleLimits limits;
  limits.wait_max = milliseconds{20};
  open(limits);
  const auto taken = offer(1, blob());
  const auto left = offer(2, blob());
  ASSERT_TRUE(taken && left);
  Visit visit{taken->desk};
  visit.say({.ticket = taken->ticket});
  ASSERT_TRUE(answered(visit));
  EXPECT_TRUE(count_is(1));
  const auto again = offer(3, blob());
  ASSERT_TRUE(again);
  EXPECT_TRUE(count_is(1)) << "the one that was taken stays";
  visit.say({.ticket = left->ticket});
  ASSERT_TRUE(answered(visit));
  EXPECT_EQ(visit.reply.status, TransferStatus::Gone);
}

TEST_F(HandleDeskTest, NoMoreIsMappedThanTheLimitsSayAndADatumCountsOnce) {
  HandleLimits limits;
  limits.bytes_max = 2 * kSize;
  limits.handles_max = 3;
  open(limits);
  const BlobPtr datum = blob();
  EXPECT_TRUE(offer(1, datum));
  EXPECT_FALSE(offer(2, blob(kSize + 1)));
  EXPECT_TRUE(offer(2, blob(kSize)));
  EXPECT_FALSE(offer(3, blob(4096)));
  EXPECT_TRUE(offer(1, datum));
  EXPECT_FALSE(offer(1, datum)) << "three are out";
}

TEST_F(HandleDeskTest, PlainMemoryIsNotOffered) {
  open();
  EXPECT_FALSE(offer(1, blob(4095)));
  EXPECT_TRUE(offer(1, blob(4096)));
}

TEST_F(HandleDeskTest, WhoTalksNonsenseIsSentAwayAndHasNothingAnyMore) {
  open();
  const HandleRequest good;
  const std::vector<HandleRequest> nonsense{{.magic = 0}, {.wish = HandleWish{0}}, {.wish = HandleWish{3}}};
  for (const HandleRequest& request : nonsense) {
    const auto offered = offer(1, blob());
    Visit visit{offered->desk};
    visit.say({.ticket = offered->ticket});
    ASSERT_TRUE(answered(visit));
    visit.say(request);
    ASSERT_TRUE(answered(visit));
    EXPECT_TRUE(visit.ended);
    EXPECT_TRUE(count_is(0));
  }
  Visit generous{offer(1, blob())->desk};
  const int handle = generous.socket.get();
  ASSERT_TRUE(send_handles(generous.socket, std::as_bytes(std::span{&good, 1}), std::span{&handle, 1}));
  ASSERT_TRUE(answered(generous));
  EXPECT_TRUE(generous.ended) << "nobody sends handles to it";
  Visit slow{offer(1, blob())->desk};  // A part of a request is none: it waits for the rest, and others are served.
  slow.say_bytes(std::as_bytes(std::span{&good, 1}).first(7));
  const auto offered = offer(2, blob());
  Visit quick{offered->desk};
  quick.say({.ticket = offered->ticket});
  ASSERT_TRUE(answered(quick));
  EXPECT_FALSE(slow.look());
  slow.say_bytes(std::as_bytes(std::span{&good, 1}).subspan(7));
  EXPECT_TRUE(answered(slow));
  EXPECT_FALSE(slow.ended);
}

TEST_F(HandleDeskTest, MoreVisitorsThanItServesAreSentAway) {
  HandleLimits limits;
  limits.visitors_max = 1;
  open(limits);
  const auto offered = offer(1, blob());
  Visit first{offered->desk};
  first.say({.ticket = 0});
  ASSERT_TRUE(answered(first));
  Visit second{offered->desk};
  ASSERT_TRUE(answered(second));
  EXPECT_TRUE(second.ended);
  first.say({.ticket = offered->ticket});
  ASSERT_TRUE(answered(first));
  EXPECT_EQ(first.handles.size(), 1U);
}

// A client that asks and asks and never reads.
TEST_F(HandleDeskTest, WhoReadsNoAnswersIsSentAway) {
  open();
  const auto offered = offer(1, blob());
  Visit visit{offered->desk};
  const HandleRequest request{.ticket = 99};
  ASSERT_TRUE(turning.until([&] {
    const Result<std::size_t> sent = send_handles(visit.socket, std::as_bytes(std::span{&request, 1}), {});
    return !sent;
  }));
}

}  // namespace
}  // namespace penstock::worker
