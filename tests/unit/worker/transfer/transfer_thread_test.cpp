// Transfers over real sockets on one loop, with servers that lie, cut and fall silent.
#include <gtest/gtest.h>

#include <list>

#include "tests/unit/worker/transfer/transfer_ends.hpp"
#include "worker/transfer/chunk_packing.hpp"
#include "worker/transfer/transfer_thread.hpp"

namespace penstock::worker {
namespace {

TEST(Transfer, DataOfEverySizeArriveWhole) {
  Turning turning;
  ObjectStore here;
  ObjectStore there{StoreOptions{4096, 10, {}, {}}};
  auto server = DataServer::open(turning.loop, local(0), there);
  ASSERT_TRUE(server);
  DataClient client{turning.loop, here, limits()};
  std::uint32_t subtask = 0;
  for (const std::size_t size : {std::size_t{1}, std::size_t{kChunk - 1}, std::size_t{kChunk}, std::size_t{kChunk + 1},
                                 std::size_t{1'000'000}}) {
    const auto data = content(size);
    put(there, ++subtask, data);
    Answer answer;
    client.fetch(local((*server)->port()), key(subtask), 0, answer.take());
    ASSERT_TRUE(turning.until([&] { return answer.told; }));
    EXPECT_TRUE(answer.is(data)) << size << " " << to_string(answer.error);
  }
  Answer answer;
  client.fetch(local((*server)->port()), key(99), 0, answer.take());
  ASSERT_TRUE(turning.until([&] { return answer.told; }));
  EXPECT_EQ(answer.error.code, ErrorCode::NotFound);
}

// Issue 21, point 2: a state that was put back uses numbers of jobs again.
TEST(Transfer, ADatumOfAnotherJobOfThatNumberIsNotThere) {
  Turning turning;
  ObjectStore here;
  ObjectStore there;
  auto server = DataServer::open(turning.loop, local(0), there);
  ASSERT_TRUE(server);
  const auto data = content(2 * kChunk);
  put(there, 1, data);
  there.name_job(key(1).producer.job, {1, 2});
  for (const Packing packing : {Packing::Never, Packing::Always}) {
    TransferLimits wanted = limits();
    wanted.packing = packing;
    DataClient client{turning.loop, here, wanted};
    for (const JobIdentity identity : {JobIdentity{1, 2}, JobIdentity{3, 4}, JobIdentity{}}) {
      Answer answer;
      client.fetch(local((*server)->port()), key(1), 0, answer.take(), identity);
      ASSERT_TRUE(turning.until([&] { return answer.told; }));
      EXPECT_EQ(answer.is(data), identity.high != 3) << to_string(answer.error);
      if (identity.high == 3) {
        EXPECT_EQ(answer.error.code, ErrorCode::NotFound);
      }
    }
  }
  there.name_job(key(1).producer.job, {});
  EXPECT_FALSE(there.is_another(key(1).producer.job, {3, 4}));
}

// Yesterday's server.
TEST(Transfer, AServerThatKnowsNoIdentitiesIsAskedWithoutFromThenOn) {
  const auto data = content(2 * kChunk);
  Liar liar{[&](tcp::socket& socket, const TransferRequest& request, int) {
    if (request.format == kTransferFormat) return say_chunks(socket, request, data, 100);
    const TransferReply refusal{.status = TransferStatus::Refused};
    say(socket, &refusal, sizeof refusal);
    socket.close();
  }};
  Turning turning;
  ObjectStore here;
  TransferLimits plain = limits();
  plain.packing = Packing::Never;
  plain.cuts_max = 0;  // A refusal of the format is no cut.
  DataClient client{turning.loop, here, plain};
  for (std::uint32_t i = 1; i <= 2; ++i) {
    Answer answer;
    client.fetch(liar.address(), key(i), 0, answer.take(), {1, 2});
    ASSERT_TRUE(turning.until([&] { return answer.told; }));
    EXPECT_TRUE(answer.is(data)) << to_string(answer.error);
  }
  EXPECT_EQ(liar.formats(),
            (std::vector<std::uint32_t>{kTransferFormat | kWithIdentity, kTransferFormat, kTransferFormat}));
}

TEST(Transfer, MoreThanTheStreamsAreServedByPriority) {
  Turning turning;
  ObjectStore here;
  ObjectStore there;
  auto server = DataServer::open(turning.loop, local(0), there);
  ASSERT_TRUE(server);
  TransferLimits patient = limits();  // Eight at once take their time on a busy machine.
  patient.pace.silence_max = patient.reply_max = std::chrono::seconds{20};
  DataClient client{turning.loop, here, patient};
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < 8; ++i) {
    put(there, i, content(200'000));
    client.fetch(local((*server)->port()), key(i), i, [&order, i](std::shared_ptr<Blob> blob, const Error&) {
      EXPECT_NE(blob, nullptr);
      order.push_back(i);
    });
  }
  ASSERT_TRUE(turning.until([&] { return order.size() == 8; }));
  // The first two were alone; then the others in pairs, the most urgent first.
  for (std::size_t pair = 1; pair < 4; ++pair)
    for (std::size_t k = 0; k < 2; ++k) EXPECT_GE(order[pair * 2 + k], 8 - 2 * pair) << pair;
}

TEST(Transfer, ACutTransferGoesOnFromItsLastWholeChunk) {
  Turning turning;
  ObjectStore here;
  const auto data = content(5 * kChunk + 100);
  Liar server{[&](tcp::socket& socket, const TransferRequest& request, int visit) {
    say_chunks(socket, request, data, visit == 0 ? 2 : visit == 1 ? 3 : 100);
    if (visit < 2) say(socket, data.data(), 1000);  // And a part of the next.
    if (visit < 2) socket.close();
  }};
  DataClient client{turning.loop, here, limits()};
  Answer answer;
  client.fetch(server.address(), key(1), 0, answer.take());
  ASSERT_TRUE(turning.until([&] { return answer.told; }));
  EXPECT_TRUE(answer.is(data)) << to_string(answer.error);
  EXPECT_EQ(server.offsets(), (std::vector<std::uint64_t>{0, 2 * kChunk, 5 * kChunk}));
}

// Fault F41: never wrong data. Once it may be the network; twice it is the copy.
TEST(Transfer, AChunkThatFailsItsChecksumIsAskedForOnceMore) {
  Turning turning;
  ObjectStore here;
  const auto data = content(4 * kChunk);
  for (const bool heals : {true, false}) {
    Liar server{[&](tcp::socket& socket, const TransferRequest& request, int visit) {
      say_chunks(socket, request, data, 100, heals && visit > 0 ? ~std::size_t{0} : 2);
    }};
    DataClient client{turning.loop, here, limits()};
    Answer answer;
    client.fetch(server.address(), key(1), 0, answer.take());
    ASSERT_TRUE(turning.until([&] { return answer.told; }));
    EXPECT_EQ(answer.is(data), heals);
    EXPECT_EQ(server.offsets(), (std::vector<std::uint64_t>{0, 2 * kChunk}));
    if (!heals) {
      EXPECT_EQ(answer.error.code, ErrorCode::NotFound);
    }
  }
}

TEST(Transfer, AServerThatOnlyCutsIsGivenUp) {
  Turning turning;
  ObjectStore here;
  Liar server{[&](tcp::socket& socket, const TransferRequest&, int) { socket.close(); }};
  DataClient client{turning.loop, here, limits()};
  Answer answer;
  client.fetch(server.address(), key(1), 0, answer.take());
  ASSERT_TRUE(turning.until([&] { return answer.told; }));
  EXPECT_EQ(answer.error.code, ErrorCode::Unreachable);
  EXPECT_EQ(server.offsets().size(), limits().cuts_max + 1);
}

TEST(Transfer, AServerThatFallsSilentOrTalksNonsenseIsGivenUp) {
  Turning turning;
  ObjectStore here;
  for (const bool silent : {true, false}) {
    Liar server{[&](tcp::socket& socket, const TransferRequest&, int) {
      const std::string nonsense(100, 'x');
      if (!silent) say(socket, nonsense.data(), nonsense.size());
    }};
    DataClient client{turning.loop, here, limits()};
    Answer answer;
    client.fetch(server.address(), key(1), 0, answer.take());
    ASSERT_TRUE(turning.until([&] { return answer.told; }));
    EXPECT_EQ(answer.error.code, ErrorCode::Unreachable);
  }
  Answer answer;
  DataClient client{turning.loop, here, limits()};
  client.fetch(local(1), key(1), 0, answer.take());
  ASSERT_TRUE(turning.until([&] { return answer.told; }));
  EXPECT_EQ(answer.error.code, ErrorCode::Unreachable);
}

TEST(Transfer, ACancelEndsItAndAnAbandonAnswersAtOnce) {
  Turning turning;
  ObjectStore here;
  const auto data = content(3 * kChunk);
  std::atomic<int> asked{0};
  Liar server{[&](tcp::socket& socket, const TransferRequest& request, int) {
    ++asked;
    say_chunks(socket, request, data, 1);
  }};
  TransferLimits patient = limits();
  patient.pace.silence_max = patient.reply_max = seconds{60};
  patient.streams_max = 1;
  DataClient client{turning.loop, here, patient};
  Answer cancelled;
  client.fetch(server.address(), key(1), 0, cancelled.take());
  ASSERT_TRUE(turning.until([&] { return asked == 1; }));
  client.cancel(key(1));
  Answer waiting;
  client.fetch(server.address(), key(2), 0, waiting.take());
  ASSERT_TRUE(turning.until([&] { return asked == 2; }));  // The only stream is free again.
  EXPECT_FALSE(waiting.told);
  client.abandon(server.address());
  EXPECT_TRUE(waiting.told);
  EXPECT_EQ(waiting.error.code, ErrorCode::NotFound);
  EXPECT_FALSE(cancelled.told);
}

/// The most memory that this process had at once, since the last `forget_peak`.
std::size_t peak_bytes() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (std::istringstream words{line}; line.starts_with("VmHWM:")) {
      std::string name;
      std::size_t kib = 0;
      words >> name >> kib;
      return kib * 1024;
    }
  return 0;
}

void forget_peak() { std::ofstream{"/proc/self/clear_refs"} << 5; }

TEST(Transfer, MemoryGrowsWithTheBytesThatCameAndNotWithTheSizeThatAServerClaims) {
  Turning turning;
  ObjectStore here;
  const auto data = content(kChunk);
  Liar server{[&](tcp::socket& socket, const TransferRequest& request, int) {
    TransferReply reply;
    reply.status = TransferStatus::Here;
    reply.bytes = std::uint64_t{2} << 30U;
    say(socket, &reply, sizeof reply);
    const TransferChunk chunk{chunk_hash(data, request.offset)};
    say(socket, &chunk, sizeof chunk);
    say(socket, data.data(), data.size());  // And no more.
  }};
  TransferLimits impatient = limits();
  impatient.pace.bytes_min = std::size_t{1} << 20U;
  DataClient client{turning.loop, here, impatient};
  forget_peak();
  const std::size_t before = peak_bytes();
  Answer answer;
  client.fetch(server.address(), key(1), 0, answer.take());
  // Each connection brings one chunk, so the transfer would go on.
  ASSERT_TRUE(turning.until([&] { return server.offsets().size() == 5; }));
  EXPECT_LT(peak_bytes() - before, std::size_t{64} << 20U);
  client.cancel(key(1));
}

TEST(Transfer, WhenAServerCannotBeReachedAllThatWaitsForItIsAnswered) {
  Turning turning;
  ObjectStore here;
  // Its queue is full, so it drops what would connect, as a cut network does.
  tcp::acceptor full{turning.loop.io(), tcp::endpoint{asio::ip::address_v4::loopback(), 0}};
  full.listen(0);
  std::list<tcp::socket> queued;
  for (int i = 0; i < 4; ++i)
    queued.emplace_back(turning.loop.io()).async_connect(full.local_endpoint(), [](const auto&) {});
  TransferLimits one_line = limits();
  one_line.streams_max = 1;
  DataClient client{turning.loop, here, one_line};
  std::uint32_t told = 0;
  for (std::uint32_t i = 0; i < 5; ++i)
    client.fetch(local(full.local_endpoint().port()), key(i), 0, [&](const std::shared_ptr<Blob>&, const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::Unreachable);
      ++told;
    });
  ASSERT_TRUE(turning.until([&] { return told > 0; }));
  EXPECT_EQ(told, 5U);
}

TEST(Transfer, ARequestThatIsNoneIsRefused) {
  Turning turning;
  ObjectStore store;
  auto server = DataServer::open(turning.loop, local(0), store);
  ASSERT_TRUE(server);
  for (const std::uint32_t chunk_bytes : {0U, 1U, 4097U, 1U << 31U}) {
    tcp::socket socket{turning.loop.io()};
    socket.connect({asio::ip::address_v4::loopback(), (*server)->port()});
    TransferRequest request;
    request.chunk_bytes = chunk_bytes;
    request.offset = 4096;
    say(socket, &request, sizeof request);
    TransferReply reply;
    std::optional<boost::system::error_code> end;
    std::size_t got = 0;
    asio::async_read(socket, asio::buffer(&reply, sizeof reply), [&](auto, std::size_t size) {
      got = size;
      asio::async_read(socket, asio::buffer(&reply.magic, 1), [&](auto error, std::size_t) { end = error; });
    });
    ASSERT_TRUE(turning.until([&] { return end.has_value(); }));
    EXPECT_EQ(got, sizeof reply);
    EXPECT_EQ(reply.status, TransferStatus::Refused);
    EXPECT_EQ(*end, asio::error::eof);
  }
}

// ---- Compressed chunks ----

constexpr std::uint32_t kLargeChunk = 64 << 10;

std::vector<std::byte> repeating(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i / 50 % 11);
  return data;
}

TransferLimits packing(Packing packing) {
  TransferLimits limited = limits();
  limited.chunk_bytes = kLargeChunk;
  limited.packing = packing;
  return limited;
}

/// The answer of a server of the test's own for one chunk; the test may change the answer before.
struct PackedAnswer {
  PackedChunk head;
  std::vector<std::byte> bytes;
};

/// Of the chunk at the request's offset, compressed.
PackedAnswer packed_answer(const std::vector<std::byte>& data, std::uint64_t at) {
  const std::size_t size = std::min<std::size_t>(kLargeChunk, data.size() - at);
  const std::span<const std::byte> part = std::span{data}.subspan(at, size);
  std::vector<std::byte> scratch;
  const auto packed = pack_chunk(part, scratch);
  PackedAnswer answer;
  answer.bytes.assign(packed.begin(), packed.end());
  answer.head = {chunk_hash(packed, at), chunk_hash(part, at), static_cast<std::uint32_t>(packed.size()), 1};
  return answer;
}

TEST(PackedTransfer, WhateverShrinksOrNotArrivesWhole) {
  for (const Packing asks : {Packing::Always, Packing::WherePays, Packing::Never}) {
    for (const Packing gives : {Packing::Always, Packing::WherePays, Packing::Never}) {
      Turning turning;
      ObjectStore here;
      ObjectStore there;
      auto server = DataServer::open(turning.loop, local(0), there, {.packing = gives});
      ASSERT_TRUE(server);
      DataClient client{turning.loop, here, packing(asks)};
      auto mixed = repeating(500'000);
      const auto noise = content(200'000);
      std::copy(noise.begin(), noise.end(), mixed.begin() + 150'000);
      std::uint32_t subtask = 0;
      for (const auto& data : {repeating(1), repeating(kLargeChunk), repeating(kLargeChunk * 3 + 1), mixed}) {
        put(there, ++subtask, data);
        Answer answer;
        client.fetch(local((*server)->port()), key(subtask), 0, answer.take());
        ASSERT_TRUE(turning.until([&] { return answer.told; }));
        EXPECT_TRUE(answer.is(data)) << data.size() << " " << to_string(answer.error);
      }
    }
  }
}

TEST(PackedTransfer, LessTravelsThanIsThere) {
  Turning turning;
  ObjectStore store;
  const auto data = repeating(kLargeChunk);
  put(store, 1, data);
  auto server = DataServer::open(turning.loop, local(0), store, {.packing = Packing::Always});
  ASSERT_TRUE(server);
  tcp::socket socket{turning.loop.io()};
  socket.connect({asio::ip::address_v4::loopback(), (*server)->port()});
  TransferRequest request;
  request.format = kPackedFormat;
  request.job = 3;
  request.subtask = 1;
  request.output = 1;
  request.chunk_bytes = kLargeChunk;
  say(socket, &request, sizeof request);
  TransferReply reply;
  PackedChunk head;
  bool came = false;
  const std::array<asio::mutable_buffer, 2> buffers{asio::buffer(&reply, sizeof reply),
                                                    asio::buffer(&head, sizeof head)};
  asio::async_read(socket, buffers, [&](auto, std::size_t) { came = true; });
  ASSERT_TRUE(turning.until([&] { return came; }));
  EXPECT_EQ(reply.bytes, data.size());
  EXPECT_EQ(head.compressed, 1U);
  EXPECT_LT(head.sent_bytes, data.size() / 4);
  EXPECT_EQ(head.datum_hash, chunk_hash(data, 0));
}

TEST(PackedTransfer, WithinAHostNothingIsAskedForUnlessWanted) {
  for (const Packing asks : {Packing::WherePays, Packing::Always}) {
    Turning turning;
    ObjectStore here;
    const auto data = repeating(100);
    Liar server{[&](tcp::socket& socket, const TransferRequest& request, int) {
      if (request.format == kTransferFormat) return say_chunks(socket, request, data, 1);
      const TransferReply refusal{.status = TransferStatus::Refused};
      say(socket, &refusal, sizeof refusal);
      socket.close();
    }};
    DataClient client{turning.loop, here, packing(asks)};
    Answer answer;
    client.fetch(server.address(), key(1), 0, answer.take());
    ASSERT_TRUE(turning.until([&] { return answer.told; }));
    EXPECT_TRUE(answer.is(data));
    const std::vector<std::uint32_t> refused_first{kPackedFormat, kTransferFormat};
    EXPECT_EQ(server.formats(), asks == Packing::Always ? refused_first : std::vector<std::uint32_t>{kTransferFormat});
  }
}

// Yesterday's server answers a format that it does not know with a refusal and closes.
TEST(PackedTransfer, AServerThatKnowsNoCompressionIsAskedWithoutFromThenOn) {
  Turning turning;
  ObjectStore here;
  const auto data = repeating(kLargeChunk);
  Liar server{[&](tcp::socket& socket, const TransferRequest& request, int) {
    TransferReply reply;
    reply.status = request.format == kTransferFormat ? TransferStatus::Here : TransferStatus::Refused;
    reply.bytes = request.format == kTransferFormat ? data.size() : 0;
    say(socket, &reply, sizeof reply);
    if (request.format != kTransferFormat) return socket.close();
    const TransferChunk chunk{chunk_hash(data, 0)};
    say(socket, &chunk, sizeof chunk);
    say(socket, data.data(), data.size());
  }};
  TransferLimits impatient = packing(Packing::Always);
  impatient.cuts_max = 0;  // A refusal of the format is no cut.
  DataClient client{turning.loop, here, impatient};
  for (std::uint32_t i = 1; i <= 3; ++i) {
    Answer answer;
    client.fetch(server.address(), key(i), 0, answer.take());
    ASSERT_TRUE(turning.until([&] { return answer.told; }));
    EXPECT_TRUE(answer.is(data)) << to_string(answer.error);
  }
  EXPECT_EQ(server.formats(),
            (std::vector<std::uint32_t>{kPackedFormat, kTransferFormat, kTransferFormat, kTransferFormat}));
}

/// One datum of one compressed chunk, about which the server lies at first, and each time unless it `heals`.
void lie_about(const std::function<void(PackedAnswer&)>& lie, bool heals, ErrorCode expected) {
  Turning turning;
  ObjectStore here;
  const auto data = repeating(kLargeChunk);
  Liar server{[&](tcp::socket& socket, const TransferRequest&, int visit) {
    TransferReply reply;
    reply.status = TransferStatus::Here;
    reply.bytes = data.size();
    say(socket, &reply, sizeof reply);
    PackedAnswer answer = packed_answer(data, 0);
    if (visit == 0 || !heals) lie(answer);
    say(socket, &answer.head, sizeof answer.head);
    say(socket, answer.bytes.data(), answer.bytes.size());
  }};
  DataClient client{turning.loop, here, packing(Packing::Always)};
  Answer answer;
  client.fetch(server.address(), key(1), 0, answer.take());
  ASSERT_TRUE(turning.until([&] { return answer.told; }));
  EXPECT_EQ(answer.is(data), heals);
  EXPECT_EQ(heals, answer.blob != nullptr);
  if (!heals) {
    EXPECT_EQ(answer.error.code, expected) << to_string(answer.error);
  }
}

TEST(PackedTransfer, WhatIsSentIsCheckedBeforeItIsUnpackedAndWhatHasBecomeOfItAfter) {
  for (const bool heals : {true, false}) {
    lie_about([](PackedAnswer& answer) { answer.bytes[9] ^= std::byte{1}; }, heals, ErrorCode::NotFound);
    lie_about([](PackedAnswer& answer) { answer.head.datum_hash ^= 1U; }, heals, ErrorCode::NotFound);
    lie_about(
        [](PackedAnswer& answer) {
          answer.bytes.assign(answer.bytes.size(), std::byte{0xff});
          answer.head.sent_hash = chunk_hash(answer.bytes, 0);
        },
        heals, ErrorCode::NotFound);
  }
}

TEST(PackedTransfer, SizesThatCannotBeAreRefusedBeforeAnythingIsReadForThem) {
  for (const bool heals : {true, false}) {
    for (const std::uint32_t size : {0U, kLargeChunk, kLargeChunk + 1, UINT32_MAX})
      lie_about([&](PackedAnswer& answer) { answer.head.sent_bytes = size; }, heals, ErrorCode::Unreachable);
    lie_about([](PackedAnswer& answer) { answer.head.compressed = 0; }, heals, ErrorCode::Unreachable);
    lie_about([](PackedAnswer& answer) { answer.head.compressed = 2; }, heals, ErrorCode::Unreachable);
  }
}

TEST(Transfer, ADatumThatIsOnDiskIsSentFromThere) {
  Turning turning;
  ObjectStore here;
  ObjectStore there;
  auto server = DataServer::open(turning.loop, local(0), there);
  ASSERT_TRUE(server);
  const auto data = content(100'000);
  put(there, 1, data);
  std::atomic<bool> spilled{false};
  there.spill(key(1), [&](const Result<void>& done) { spilled = done.has_value(); });
  ASSERT_TRUE(turning.until([&] { return spilled.load(); }));
  there.release(key(1));
  DataClient client{turning.loop, here, limits()};
  Answer answer;
  client.fetch(local((*server)->port()), key(1), 0, answer.take());
  ASSERT_TRUE(turning.until([&] { return answer.told; }));
  EXPECT_TRUE(answer.is(data));
  EXPECT_EQ(there.find(key(1)), nullptr);
  there.quiesce();
}

TEST(Transfer, OnItsOwnThreadItAnswersOnTheOwnersAndOnlyWhatIsStillWanted) {
  Turning turning;
  ObjectStore here;
  ObjectStore there;
  auto one = TransferThread::open(turning.loop, here, {local(0), limits()});
  auto other = TransferThread::open(turning.loop, there, {local(0), limits()});
  ASSERT_TRUE(one && other);
  const auto data = content(500'000);
  put(there, 1, data);
  put(there, 2, data);
  Answer wanted;
  Answer cancelled;
  (*one)->fetch(local((*other)->port()), key(2), 0, cancelled.take());
  (*one)->cancel(key(2));
  (*one)->fetch(local((*other)->port()), key(1), 0,
                [&, take = wanted.take()](std::shared_ptr<Blob> blob, const Error& error) {
                  EXPECT_TRUE(turning.loop.in_loop_thread());
                  take(std::move(blob), error);
                });
  ASSERT_TRUE(turning.until([&] { return wanted.told; }));
  EXPECT_TRUE(wanted.is(data));
  EXPECT_FALSE(cancelled.told);
  Answer late;
  (*one)->fetch(local((*other)->port()), key(2), 0, late.take());
  (*one).reset();
  while (turning.loop.turn()) {
  }
  EXPECT_FALSE(late.told);
}

}  // namespace
}  // namespace penstock::worker
