#include "common/security/record_cipher.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "common/security/authority.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

using std::chrono::hours;
using Direction = RecordCipher::Direction;
using Record = std::vector<std::byte>;

/// Both ends of a connection after its handshake.
struct Ends {
  Ends() {
    const ScratchDirectory scratch;
    const CredentialStore store{scratch.path()};
    const Authority authority = std::move(Authority::make()).value();
    EXPECT_TRUE(store.save(authority.cluster(), Role::Client, *authority.issue(Role::Client, "ada", hours{1})));
    server = std::move(*TlsSession::accept(*TlsServer::make(*authority.issue(Role::Worker, "w", hours{1}))));
    client = std::move(*TlsSession::connect(*TlsClient::make(store, PeerRole::Client, Role::Worker)));
    Record to_server;
    Record to_client;
    EXPECT_TRUE(client->shake_hands({}, to_server));
    EXPECT_TRUE(server->shake_hands(std::exchange(to_server, {}), to_client));
    EXPECT_TRUE(client->shake_hands(to_client, to_server));
    EXPECT_TRUE(server->shake_hands(to_server, to_client));
  }
  std::unique_ptr<RecordCipher> sealer(Direction direction = Direction::TowardsClient) const {
    return std::move(*RecordCipher::of(direction == Direction::TowardsClient ? *server : *client, direction, true));
  }
  std::unique_ptr<RecordCipher> opener(Direction direction = Direction::TowardsClient) const {
    return std::move(*RecordCipher::of(direction == Direction::TowardsClient ? *client : *server, direction, false));
  }
  std::unique_ptr<TlsSession> server;
  std::unique_ptr<TlsSession> client;
};

Record bytes(std::size_t size) {
  Record plain(size);
  for (std::size_t i = 0; i < size; ++i) plain[i] = static_cast<std::byte>(i * 7 + 1);
  return plain;
}

Record seal(RecordCipher& cipher, const Record& plain) {
  Record out(RecordCipher::sealed_bytes(plain.size()));
  const std::span<const std::byte> whole{plain};
  EXPECT_TRUE(cipher.seal({&whole, 1}, out));
  return out;
}

Result<Record> open(RecordCipher& cipher, const Record& record) {
  const std::span head = std::span{record}.first<RecordCipher::kHeadBytes>();
  const Result<std::size_t> size = RecordCipher::plain_bytes(head);
  if (!size) return size.error();
  Record plain(*size);
  const std::span<std::byte> whole{plain};
  const Result<void> opened = cipher.open(head, std::span{record}.subspan(RecordCipher::kHeadBytes), {&whole, 1});
  if (!opened) return opened.error();
  return plain;
}

RC_GTEST_PROP(RecordCipher, WhatIsSealedIsOpenedInOtherPieces, ()) {
  static const Ends ends;
  const auto sealer = ends.sealer();
  const auto opener = ends.opener();
  const std::size_t size = *rc::gen::inRange<std::size_t>(0, 5000);
  const Record plain = bytes(size);
  const std::size_t cut = *rc::gen::inRange<std::size_t>(0, size + 1);
  const std::array<std::span<const std::byte>, 2> pieces{std::span{plain}.first(cut), std::span{plain}.subspan(cut)};
  Record record(RecordCipher::sealed_bytes(size));
  RC_ASSERT(sealer->seal(pieces, record).has_value());
  Record read(size);
  const std::size_t other = *rc::gen::inRange<std::size_t>(0, size + 1);
  const std::array<std::span<std::byte>, 2> targets{std::span{read}.first(other), std::span{read}.subspan(other)};
  RC_ASSERT(opener->open(std::span{record}.first<4>(), std::span{record}.subspan(4), targets).has_value());
  RC_ASSERT(read == plain);
}

TEST(RecordCipher, TheLargestRecordIsTakenAndALargerOneRefused) {
  const Ends ends;
  const auto sealer = ends.sealer();
  const auto opener = ends.opener();
  const Record plain = bytes(RecordCipher::kPlainBytesMax);
  EXPECT_EQ(*open(*opener, seal(*sealer, plain)), plain);
  std::array<std::byte, 4> head{RecordCipher::kMarker, std::byte{65}, std::byte{0}, std::byte{4}};
  EXPECT_EQ(RecordCipher::plain_bytes(head).error().code, ErrorCode::MalformedFrame);
  head = {std::byte{23}, std::byte{3}, std::byte{3}, std::byte{0}};
  EXPECT_EQ(RecordCipher::plain_bytes(head).error().code, ErrorCode::MalformedFrame) << "of TLS";
}

TEST(RecordCipher, NoBitOfARecordCanBeChanged) {
  const Ends ends;
  const Record plain = bytes(40);
  const auto sealer = ends.sealer();
  const Record record = seal(*sealer, plain);
  for (std::size_t at = RecordCipher::kHeadBytes; at < record.size(); ++at) {
    Record changed = record;
    changed[at] ^= std::byte{0x10};
    const auto opener = ends.opener();
    EXPECT_EQ(open(*opener, changed).error().code, ErrorCode::MalformedFrame) << at;
  }
  const auto opener = ends.opener();
  EXPECT_EQ(*open(*opener, record), plain);
}

TEST(RecordCipher, TheLengthIsAuthenticatedToo) {
  const Ends ends;
  const auto sealer = ends.sealer();
  Record record = seal(*sealer, {});
  std::array<std::byte, 4> head{};
  head[0] = RecordCipher::kMarker;
  head[1] = std::byte{1};
  const auto opener = ends.opener();
  EXPECT_FALSE(opener->open(head, std::span{record}.subspan(4), {}));
}

TEST(RecordCipher, ARecordCannotBeRepeatedLeftOutOrTurnedBack) {
  const Ends ends;
  const auto sealer = ends.sealer();
  const Record first = seal(*sealer, bytes(10));
  const Record second = seal(*sealer, bytes(10));
  EXPECT_NE(first, second) << "the same bytes";
  const auto repeats = ends.opener();
  EXPECT_TRUE(open(*repeats, first));
  EXPECT_FALSE(open(*repeats, first));
  const auto skips = ends.opener();
  EXPECT_FALSE(open(*skips, second));
  const auto other_way = ends.opener(Direction::TowardsServer);
  EXPECT_FALSE(open(*other_way, first)) << "it was sent by the other side";
  const Ends elsewhere;
  const auto other_connection = elsewhere.opener();
  EXPECT_FALSE(open(*other_connection, first));
}

}  // namespace
}  // namespace penstock
