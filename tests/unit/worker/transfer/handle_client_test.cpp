// The client of a desk against desks of all kinds: sockets of this test.
#include "worker/transfer/handle_client.hpp"

#include <gtest/gtest.h>

#include "common/net/local_socket.hpp"
#include "tests/unit/worker/transfer/transfer_ends.hpp"
#include "worker/store/segment.hpp"
#include "worker/transfer/handle_desk.hpp"

namespace penstock::worker {
namespace {

constexpr std::size_t kSize = 50'000;

struct Mapped {
  bool told = false;
  std::shared_ptr<Blob> blob;
  HandleClient::OnBlob take() {
    return [this](std::shared_ptr<Blob> got) {
      EXPECT_FALSE(told) << "answered twice";
      told = true;
      blob = std::move(got);
    };
  }
};

Segment sealed(std::size_t bytes = kSize) {
  Segment segment = std::move(Segment::create(bytes)).value();
  segment.data()[0] = std::byte{7};
  EXPECT_TRUE(segment.seal());
  return segment;
}

/// A desk that says what a test wants.
class FalseDesk {
 public:
  explicit FalseDesk(Turning& turning) : turning_(turning), listener_(std::move(listen_locally()).value()) {}
  HandleOffer offer(std::uint64_t ticket) const { return {listener_.name, ticket}; }
  /// Has been asked for one more.
  bool asked() {
    return turning_.until([&] {
      if (!socket_) {
        Result<Descriptor> accepted = accept_local(listener_.socket, present_user());
        if (accepted) socket_ = std::move(accepted).value();
      }
      return socket_ && receive_handles(socket_, std::as_writable_bytes(std::span{&request_, 1})).has_value();
    });
  }
  const HandleRequest& request() const { return request_; }
  void say(const HandleReply& reply, std::vector<int> handles = {}) {
    ASSERT_TRUE(send_handles(socket_, std::as_bytes(std::span{&reply, 1}), handles));
  }
  void close() { socket_ = {}; }

 private:
  Turning& turning_;
  const LocalListener listener_;
  Descriptor socket_;
  HandleRequest request_;
};

HandleReply here(std::uint64_t ticket) { return {.status = TransferStatus::Here, .ticket = ticket, .bytes = kSize}; }

TEST(HandleClient, WhatIsMappedIsReadWhereItLiesAndGivenBackWhenNobodyReadsItAnyMore) {
  Turning turning;
  FalseDesk desk{turning};
  HandleClient client{turning.loop, MappedFor::Reader, seconds{10}};
  const Segment segment = sealed();
  Mapped mapped;
  client.fetch(desk.offer(5), kSize, mapped.take());
  ASSERT_TRUE(desk.asked());
  EXPECT_EQ(desk.request().wish, HandleWish::Take);
  EXPECT_EQ(desk.request().ticket, 5U);
  desk.say(here(5), {segment.handle().get()});
  ASSERT_TRUE(turning.until([&] { return mapped.told; }));
  ASSERT_NE(mapped.blob, nullptr);
  EXPECT_EQ(mapped.blob->bytes().size(), kSize);
  EXPECT_EQ(mapped.blob->bytes()[0], std::byte{7});
  EXPECT_EQ(mapped.blob->segment(), nullptr) << "a reader keeps no descriptor";
  std::thread{[&] { mapped.blob.reset(); }}.join();  // On any thread.
  ASSERT_TRUE(desk.asked());
  EXPECT_EQ(desk.request().wish, HandleWish::GiveBack);
  EXPECT_EQ(desk.request().ticket, 5U);
}

TEST(HandleClient, AStoreGivesTheTicketBackAtOnceAndKeepsTheHandle) {
  Turning turning;
  FalseDesk desk{turning};
  HandleClient client{turning.loop, MappedFor::Store, seconds{10}};
  const Segment segment = sealed();
  Mapped mapped;
  client.fetch(desk.offer(5), kSize, mapped.take());
  ASSERT_TRUE(desk.asked());
  desk.say(here(5), {segment.handle().get()});
  ASSERT_TRUE(desk.asked());
  EXPECT_EQ(desk.request().wish, HandleWish::GiveBack);
  ASSERT_NE(mapped.blob, nullptr);
  EXPECT_NE(mapped.blob->segment(), nullptr) << "so it can be handed on";
}

TEST(HandleClient, WhatADeskSaysThatIsNoAnswerIsNotBelieved) {
  const Segment whole = sealed();
  const Segment small = sealed(kSize - 1);
  const Segment open_one = std::move(Segment::create(kSize)).value();  // Its writer still has it mapped.
  const int handle = whole.handle().get();
  HandleReply other_size = here(1);
  other_size.bytes = kSize + 1;
  HandleReply other_magic = here(1);
  other_magic.magic = 0;
  const HandleReply gone{.status = TransferStatus::Gone, .ticket = 1};
  const std::vector<std::pair<HandleReply, std::vector<int>>> answers{{here(2), {handle}},
                                                                      {other_size, {handle}},
                                                                      {other_magic, {handle}},
                                                                      {here(1), {}},
                                                                      {gone, {}},
                                                                      {gone, {handle}},
                                                                      {here(1), {handle, handle}},
                                                                      {here(1), {small.handle().get()}},
                                                                      {here(1), {open_one.handle().get()}}};
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Turning turning;
    FalseDesk desk{turning};
    HandleClient client{turning.loop, MappedFor::Reader, seconds{10}};
    Mapped mapped;
    client.fetch(desk.offer(1), kSize, mapped.take());
    ASSERT_TRUE(desk.asked());
    desk.say(answers[i].first, answers[i].second);
    ASSERT_TRUE(turning.until([&] { return mapped.told; })) << i;
    EXPECT_EQ(mapped.blob, nullptr) << i;
  }
}

TEST(HandleClient, ADeskThatIsGoneOrHangsUpOrSaysNothingMeansACopy) {
  Turning turning;
  HandleClient client{turning.loop, MappedFor::Reader, milliseconds{50}};
  Mapped nobody;
  const std::uint64_t over = listen_locally()->name;
  client.fetch({over, 1}, kSize, nobody.take());
  EXPECT_TRUE(nobody.told);
  FalseDesk desk{turning};
  Mapped first;
  Mapped second;
  client.fetch(desk.offer(1), kSize, first.take());
  client.fetch(desk.offer(2), kSize, second.take());
  ASSERT_TRUE(desk.asked());
  desk.close();
  ASSERT_TRUE(turning.until([&] { return first.told && second.told; }));
  Mapped silent;
  client.fetch(desk.offer(3), kSize, silent.take());
  ASSERT_TRUE(desk.asked()) << "on a connection of its own";
  ASSERT_TRUE(turning.until([&] { return silent.told; }));
  EXPECT_EQ(nobody.blob, nullptr);
  EXPECT_EQ(first.blob, nullptr);
  EXPECT_EQ(second.blob, nullptr);
  EXPECT_EQ(silent.blob, nullptr);
}

// kill -9 of a worker while its results are being read.
TEST(HandleClient, WhatIsMappedOutlivesItsDeskAndItsClient) {
  Turning turning;
  ObjectStore store{StoreOptions{4096, 10, {}, {}, {}}};
  auto client = std::make_unique<HandleClient>(turning.loop, MappedFor::Reader, seconds{10});
  Mapped mapped;
  const auto data = content(kSize);
  {
    auto desk = HandleDesk::open(turning.loop, {});
    ASSERT_TRUE(desk);
    put(store, 1, data);
    client->fetch(*(*desk)->offer(key(1), store.find(key(1))), kSize, mapped.take());
    ASSERT_TRUE(turning.until([&] { return mapped.told; }));
  }
  store.drop(key(1));
  put(store, 2, content(kSize + 1));  // Memory that is needed again is not what is mapped.
  client.reset();
  while (turning.loop.turn()) {
  }
  ASSERT_NE(mapped.blob, nullptr);
  EXPECT_EQ(std::memcmp(mapped.blob->bytes().data(), data.data(), kSize), 0);
}

TEST(HandleClient, AfterItsEndNobodyIsTold) {
  Turning turning;
  FalseDesk desk{turning};
  Mapped mapped;
  {
    HandleClient client{turning.loop, MappedFor::Reader, milliseconds{1}};
    client.fetch(desk.offer(1), kSize, mapped.take());
    ASSERT_TRUE(desk.asked());
  }
  desk.close();
  while (turning.loop.turn()) {
  }
  EXPECT_FALSE(mapped.told);
}

}  // namespace
}  // namespace penstock::worker
