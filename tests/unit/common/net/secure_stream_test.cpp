#include "common/net/secure_stream.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "common/security/authority.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::hours;
using Block = std::vector<std::byte>;

/// A cluster with a worker that serves, and a client with a certificate of this life.
struct Cluster {
  explicit Cluster(std::chrono::seconds life = hours{1}) : store(scratch.path()) {
    EXPECT_TRUE(store.save(authority.cluster(), Role::Client, *authority.issue(Role::Client, "ada", life)));
    server = *TlsServer::make(*authority.issue(Role::Worker, "w", hours{1}));
    client = *TlsClient::make(store, PeerRole::Client, Role::Worker);
  }
  ScratchDirectory scratch;
  Authority authority = std::move(Authority::make()).value();
  CredentialStore store;
  std::shared_ptr<const TlsServer> server;
  std::shared_ptr<const TlsClient> client;
};

/// Both ends of a connection within this process; the kernel takes few bytes at once.
struct Pair {
  explicit Pair(const Cluster& cluster) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    for (const int end : ends) EXPECT_EQ(::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kFewBytes, sizeof kFewBytes), 0);
    server = SecureStream{adopt_local(io, Descriptor{ends[0]})};
    client = SecureStream{adopt_local(io, Descriptor{ends[1]})};
    const auto note = [this](std::optional<Result<void>>& into) {
      return [&into](const Result<void>& result) { into = result; };
    };
    server.secure(std::move(*TlsSession::accept(cluster.server)), nullptr, note(server_secured));
    client.secure(std::move(*TlsSession::connect(cluster.client)), nullptr, note(client_secured));
  }
  void run() {
    io.restart();
    io.run();
  }

  static constexpr int kFewBytes = 20000;
  asio::io_context io;
  SecureStream server{io};
  SecureStream client{io};
  std::optional<Result<void>> server_secured;
  std::optional<Result<void>> client_secured;
};

Block bytes(std::size_t size, std::uint32_t seed) {
  Block block(size);
  for (std::size_t i = 0; i < size; ++i) block[i] = static_cast<std::byte>((i * 31 + seed) ^ (i >> 8U));
  return block;
}

/// Writes the block in pieces, one after the other.
void write_all(SecureStream& stream, const Block& block, const std::vector<std::size_t>& sizes, std::size_t at = 0,
               std::size_t step = 0) {
  if (at == block.size()) return;
  const std::size_t size = std::min(block.size() - at, sizes[step % sizes.size()]);
  const std::array<asio::const_buffer, 2> pieces{asio::buffer(block.data() + at, size / 3),
                                                 asio::buffer(block.data() + at + size / 3, size - size / 3)};
  asio::async_write(stream, pieces, [&stream, &block, &sizes, at, step](const error_code& error, std::size_t count) {
    ASSERT_FALSE(error) << error.message();
    write_all(stream, block, sizes, at + count, step + 1);
  });
}

/// Reads as much as the block has room for, some at a time.
void read_all(SecureStream& stream, Block& block, const std::vector<std::size_t>& sizes, std::size_t at = 0,
              std::size_t step = 0) {
  if (at == block.size()) return;
  const std::size_t size = std::min(block.size() - at, sizes[step % sizes.size()]);
  stream.async_read_some(asio::buffer(block.data() + at, size),
                         [&stream, &block, &sizes, at, step](const error_code& error, std::size_t count) {
                           ASSERT_FALSE(error) << error.message();
                           ASSERT_GT(count, 0U);
                           read_all(stream, block, sizes, at + count, step + 1);
                         });
}

RC_GTEST_PROP(SecureStream, BothDirectionsCarryWhatIsWrittenInWhateverPieces, ()) {
  static const Cluster cluster;
  Pair pair{cluster};
  pair.run();
  RC_ASSERT(pair.server_secured->has_value() && pair.client_secured->has_value());
  const auto sizes = [] {
    return *rc::gen::nonEmpty(rc::gen::container<std::vector<std::size_t>>(
        rc::gen::oneOf(rc::gen::inRange<std::size_t>(1, 400), rc::gen::inRange<std::size_t>(400, 70'000),
                       rc::gen::inRange<std::size_t>(70'000, 600'000))));
  };
  const std::array written{bytes(*rc::gen::inRange<std::size_t>(1, 900'000), 1),
                           bytes(*rc::gen::inRange<std::size_t>(1, 900'000), 2)};
  std::array read{Block(written[0].size()), Block(written[1].size())};
  const std::array all{sizes(), sizes(), sizes(), sizes()};
  write_all(pair.client, written[0], all[0]);
  read_all(pair.server, read[0], all[1]);
  write_all(pair.server, written[1], all[2]);
  read_all(pair.client, read[1], all[3]);
  pair.run();
  RC_ASSERT(read == written);
}

TEST(SecureStream, AHandshakeThatIsGivenUpEndsWithAnError) {
  const Cluster cluster;
  Pair pair{cluster};
  pair.client.close();
  EXPECT_FALSE(pair.client_secured.has_value()) << "from a turn of its own";
  pair.run();
  ASSERT_TRUE(pair.client_secured.has_value());
  EXPECT_EQ(pair.client_secured->error().code, ErrorCode::Disconnected);
  ASSERT_TRUE(pair.server_secured.has_value());
  EXPECT_FALSE(pair.server_secured->has_value());
}

TEST(SecureStream, TheEndOfTheObjectEndsItsHandshakeWithoutAWord) {
  const Cluster cluster;
  Pair pair{cluster};
  pair.client = SecureStream{pair.io};
  pair.run();
  EXPECT_FALSE(pair.client_secured.has_value());
}

// Its owner is the handler's, as a connection is.
TEST(SecureStream, AReadThatIsUnderWayWhenItsLoopGoesKeepsNothing) {
  const Cluster cluster;
  std::weak_ptr<SecureStream> stream;
  std::array<std::byte, 10> buffer;
  {
    Pair pair{cluster};
    pair.run();
    const auto owner = std::make_shared<SecureStream>(std::move(pair.client));
    owner->async_read_some(asio::buffer(buffer), [owner](const error_code&, std::size_t) {});
    stream = owner;
  }
  EXPECT_TRUE(stream.expired());
}

TEST(SecureStream, ARefusalAfterTheHandshakeIsHeard) {
  const Cluster cluster{std::chrono::seconds{-1}};  // The certificate has expired when it is shown.
  Pair pair{cluster};
  pair.run();
  ASSERT_TRUE(pair.server_secured.has_value() && !pair.server_secured->has_value());
  ASSERT_TRUE(pair.client_secured.has_value());
  ASSERT_TRUE(pair.client_secured->has_value()) << "in TLS 1.3 the client has ended its handshake by then";
  std::array<std::byte, 16> room{};
  std::optional<error_code> failed;
  pair.client.async_read_some(asio::buffer(room), [&](const error_code& error, std::size_t) { failed = error; });
  pair.run();
  ASSERT_TRUE(failed.has_value() && *failed);
  EXPECT_EQ(pair.client.reason(*failed).code, ErrorCode::PermissionDenied);
  EXPECT_NE(to_string(pair.client.reason(*failed)).find("has expired"), std::string::npos);
}

TEST(SecureStream, BytesThatAreNoRecordEndIt) {
  static const Cluster cluster;
  for (const std::string& garbage :
       {std::string(100, 'x'), std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x'),
        std::string{"\x70\xff\xff\xff"}}) {
    Pair pair{cluster};
    pair.run();
    std::array<std::byte, 16> room{};
    std::optional<error_code> failed;
    pair.server.async_read_some(asio::buffer(room), [&](const error_code& error, std::size_t) { failed = error; });
    error_code ignored;
    pair.client.socket().write_some(asio::buffer(garbage), ignored);
    pair.run();
    ASSERT_TRUE(failed.has_value() && *failed) << garbage.size();
    EXPECT_EQ(pair.server.reason(*failed).code, ErrorCode::MalformedFrame);
  }
}

}  // namespace
}  // namespace penstock
