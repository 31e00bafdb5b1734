// Data that are mapped where they lie instead of being copied, and copies where that cannot be.
#include <gtest/gtest.h>

#include "common/net/local_socket.hpp"
#include "tests/unit/worker/transfer/transfer_ends.hpp"
#include "worker/transfer/transfer_thread.hpp"

namespace penstock::worker {
namespace {

constexpr std::size_t kLarge = 300'000;

TransferLimits mapping(MappedFor whom = MappedFor::Store) {
  TransferLimits limited = limits();
  limited.maps = true;
  limited.mapped_for = whom;
  return limited;
}

bool same_memory(const BlobPtr& one, const BlobPtr& other) {
  const std::uint64_t file = file_at(one->bytes().data());
  return file != 0 && file == file_at(other->bytes().data());
}

class MappedTransfer : public ::testing::Test {
 protected:
  void open(const ServerLimits& server_limits = {}) {
    auto opened = DataServer::open(turning.loop, local(0), there, server_limits);
    ASSERT_TRUE(opened);
    server = std::move(opened).value();
  }
  std::shared_ptr<Blob> fetch(DataClient& client, std::uint32_t subtask) {
    Answer answer;
    client.fetch(local(server->port()), key(subtask), 0, answer.take());
    EXPECT_TRUE(turning.until([&] { return answer.told; }));
    EXPECT_NE(answer.blob, nullptr) << to_string(answer.error);
    return answer.blob;
  }
  static bool is(const BlobPtr& blob, const std::vector<std::byte>& data) {
    return blob != nullptr && blob->bytes().size() == data.size() &&
           std::memcmp(blob->bytes().data(), data.data(), data.size()) == 0;
  }

  Turning turning;
  ObjectStore here;
  ObjectStore there;
  std::unique_ptr<DataServer> server;
};

TEST_F(MappedTransfer, ALargeDatumOfThisHostIsNotCopiedAndASmallOneIs) {
  open();
  const auto large = content(kLarge);
  const auto small = content(1000);
  put(there, 1, large);
  put(there, 2, small);
  DataClient client{turning.loop, here, mapping()};
  for (int i = 0; i < 2; ++i) {
    const auto got = fetch(client, 1);
    EXPECT_TRUE(is(got, large));
    EXPECT_TRUE(same_memory(got, there.find(key(1))));
    EXPECT_TRUE(is(fetch(client, 2), small));
  }
  EXPECT_TRUE(turning.until([&] { return server->desk()->count() == 0; })) << "they count here, and not there";
  DataClient copying{turning.loop, here, limits()};
  const auto copy = fetch(copying, 1);
  EXPECT_TRUE(is(copy, large));
  EXPECT_FALSE(same_memory(copy, there.find(key(1))));
}

TEST_F(MappedTransfer, WhatAReaderHasCountsAtItsWorkerUntilItLetsGo) {
  open();
  const auto data = content(kLarge);
  put(there, 1, data);
  DataClient client{turning.loop, here, mapping(MappedFor::Reader)};
  auto first = fetch(client, 1);
  auto second = fetch(client, 1);
  EXPECT_EQ(server->desk()->count(), 2U);
  there.drop(key(1));
  put(there, 1, content(kLarge));  // Made once more, in other memory.
  EXPECT_TRUE(is(first, data));
  first.reset();
  EXPECT_TRUE(turning.until([&] { return server->desk()->count() == 1; }));
  EXPECT_TRUE(is(second, data));
  second.reset();
  EXPECT_TRUE(turning.until([&] { return server->desk()->count() == 0; }));
}

TEST_F(MappedTransfer, BeyondTheLimitsEverythingComesAsACopy) {
  ServerLimits small;
  small.handles.bytes_max = kLarge;
  open(small);
  const auto data = content(kLarge);
  put(there, 1, data);
  put(there, 2, data);
  DataClient client{turning.loop, here, mapping(MappedFor::Reader)};
  auto mapped = fetch(client, 1);
  const auto copy = fetch(client, 2);
  EXPECT_EQ(server->desk()->count(), 1U);
  EXPECT_TRUE(is(mapped, data) && is(copy, data));
  mapped.reset();
  ASSERT_TRUE(turning.until([&] { return server->desk()->count() == 0; }));
  mapped = fetch(client, 2);
  EXPECT_EQ(server->desk()->count(), 1U);
}

TEST_F(MappedTransfer, WithoutADeskEverythingComesAsACopy) {
  for (const bool bytes : {true, false}) {
    ServerLimits none;
    (bytes ? none.handles.bytes_max : none.handles.handles_max) = 0;
    open(none);
    EXPECT_EQ(server->desk(), nullptr);
    const auto data = content(kLarge);
    put(there, 1, data);
    DataClient client{turning.loop, here, mapping()};
    EXPECT_TRUE(is(fetch(client, 1), data));
  }
}

TEST_F(MappedTransfer, WhatIsOnDiskIsBroughtToMemoryForWhoeverMapsItAndForNobodyElse) {
  open();
  const auto data = content(kLarge);
  put(there, 1, data);
  std::atomic<bool> spilled{false};
  there.spill(key(1), [&](const Result<void>& done) { spilled = done.has_value(); });
  ASSERT_TRUE(turning.until([&] { return spilled.load(); }));
  there.release(key(1));
  DataClient client{turning.loop, here, mapping(MappedFor::Reader)};
  auto mapped = fetch(client, 1);
  EXPECT_TRUE(is(mapped, data));
  ASSERT_EQ(server->desk()->mapped().size(), 1U);
  EXPECT_EQ(there.find(key(1)), nullptr);
  mapped.reset();
  EXPECT_TRUE(turning.until([&] { return server->desk()->count() == 0; }));
  there.quiesce();
}

// A server that offers what cannot be fetched: one behind a tunnel, of another user, or that lies.
TEST_F(MappedTransfer, WhatCannotBeFetchedComesAsACopyOnTheSameConnection) {
  const auto data = content(3 * kChunk);
  Liar liar{[&](tcp::socket& socket, const TransferRequest& request, int) {
    if (request.format == kTransferFormat) return say_chunks(socket, request, data, 100);
    const TransferReply offered{.status = TransferStatus::Offered, .bytes = data.size()};
    const HandleOffer offer{12345, 1};
    say(socket, &offered, sizeof offered);
    say(socket, &offer, sizeof offer);
  }};
  DataClient client{turning.loop, here, mapping()};
  Answer answer;
  client.fetch(liar.address(), key(1), 0, answer.take());
  ASSERT_TRUE(turning.until([&] { return answer.told; }));
  EXPECT_TRUE(answer.is(data)) << to_string(answer.error);
  EXPECT_EQ(liar.formats(), (std::vector<std::uint32_t>{kHandleFormat, kTransferFormat}));
}

TEST_F(MappedTransfer, AnOfferThatNobodyAskedForIsMalformed) {
  Liar liar{[&](tcp::socket& socket, const TransferRequest&, int) {
    const TransferReply offered{.status = TransferStatus::Offered, .bytes = kLarge};
    say(socket, &offered, sizeof offered);
  }};
  DataClient client{turning.loop, here, limits()};
  Answer answer;
  client.fetch(liar.address(), key(1), 0, answer.take());
  ASSERT_TRUE(turning.until([&] { return answer.told; }));
  EXPECT_EQ(answer.blob, nullptr);
}

// Yesterday's server.
TEST_F(MappedTransfer, AServerThatKnowsNoHandlesIsAskedWithoutFromThenOn) {
  const auto data = content(2 * kChunk);
  Liar liar{[&](tcp::socket& socket, const TransferRequest& request, int) {
    if (request.format == kTransferFormat) return say_chunks(socket, request, data, 100);
    const TransferReply refusal{.status = TransferStatus::Refused};
    say(socket, &refusal, sizeof refusal);
    socket.close();
  }};
  TransferLimits impatient = mapping();
  impatient.cuts_max = 0;  // A refusal of the format is no cut.
  DataClient client{turning.loop, here, impatient};
  for (std::uint32_t i = 1; i <= 2; ++i) {
    Answer answer;
    client.fetch(liar.address(), key(i), 0, answer.take());
    ASSERT_TRUE(turning.until([&] { return answer.told; }));
    EXPECT_TRUE(answer.is(data)) << to_string(answer.error);
  }
  EXPECT_EQ(liar.formats(), (std::vector<std::uint32_t>{kHandleFormat, kTransferFormat, kTransferFormat}));
}

// A desk that has stopped, as a process that is being debugged.
TEST_F(MappedTransfer, ACancelWhileTheHandleIsOnItsWayTellsNobodyAndTheNextOneIsServed) {
  const Result<LocalListener> desk = listen_locally();
  ASSERT_TRUE(desk);
  const auto data = content(2 * kChunk);
  Liar liar{[&](tcp::socket& socket, const TransferRequest& request, int) {
    if (request.subtask == 2) return say_chunks(socket, request, data, 100);
    const TransferReply offered{.status = TransferStatus::Offered, .bytes = kLarge};
    const HandleOffer offer{desk->name, 1};
    say(socket, &offered, sizeof offered);
    say(socket, &offer, sizeof offer);
  }};
  TransferLimits one_line = mapping(MappedFor::Reader);
  one_line.streams_max = 1;
  one_line.handle_wait_max = milliseconds{50};
  DataClient client{turning.loop, here, one_line};
  Answer cancelled;
  client.fetch(liar.address(), key(1), 0, cancelled.take());
  Result<Descriptor> visitor = Error{};
  ASSERT_TRUE(turning.until([&] {
    visitor = accept_local(desk->socket, present_user());
    return visitor.has_value();
  }));
  client.cancel(key(1));
  Answer next;
  client.fetch(liar.address(), key(2), 0, next.take());
  ASSERT_TRUE(turning.until([&] { return next.told; }));
  EXPECT_TRUE(next.is(data)) << to_string(next.error);
  EXPECT_FALSE(cancelled.told);
}

TEST_F(MappedTransfer, TheOwnerOfADataPlaneIsToldWhatOthersHaveMapped) {
  TransferOptions options{local(0), mapping(MappedFor::Reader), {}};
  auto reader = TransferThread::open(turning.loop, here, options);
  auto holder = TransferThread::open(turning.loop, there, options);
  ASSERT_TRUE(reader && holder);
  const auto look = [&] {
    std::optional<MappedElsewhere> seen;
    (*holder)->look_at_mapped([&](const MappedElsewhere& mapped) { seen = mapped; });
    EXPECT_TRUE(turning.until([&] { return seen.has_value(); }));
    return seen.value_or(MappedElsewhere{});
  };
  EXPECT_TRUE(look().here.empty());
  put(there, 1, content(kLarge));
  Answer answer;
  (*reader)->fetch(local((*holder)->port()), key(1), 0, answer.take());
  ASSERT_TRUE(turning.until([&] { return answer.told; }));
  EXPECT_EQ(look().here, std::vector<DataKey>{key(1)});
  EXPECT_EQ(look().beyond, Bytes{0});
  there.drop(key(1));
  EXPECT_TRUE(look().here.empty());
  EXPECT_EQ(look().beyond, Bytes{kLarge});
  put(there, 1, content(kLarge));
  EXPECT_EQ(look().beyond, Bytes{kLarge}) << "made again, it is another one";
  answer.blob.reset();
  EXPECT_TRUE(turning.until([&] { return look().beyond.is_zero(); }));
}

}  // namespace
}  // namespace penstock::worker
