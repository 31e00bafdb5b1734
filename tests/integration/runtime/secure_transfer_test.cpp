// Transfers between processes that prove that they belong to one cluster.
#include <gtest/gtest.h>

#include <array>
#include <list>
#include <optional>
#include <string>

#include "common/security/authority.hpp"
#include "common/security/tls_session.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/worker/transfer/transfer_ends.hpp"

namespace penstock::worker {
namespace {

using std::chrono::hours;

struct Cluster {
  explicit Cluster(Role role = Role::Worker, PeerRole as = PeerRole::Worker) {
    EXPECT_TRUE(store.save(authority.cluster(), role, *authority.issue(role, "ada", hours{1})));
    client = *TlsClient::make(store, as, Role::Worker);
    const auto server = *TlsServer::make(*authority.issue(Role::Worker, "w", hours{1}));
    security.settings = [server] { return server; };
  }
  ScratchDirectory scratch;
  Authority authority = std::move(Authority::make()).value();
  CredentialStore store{scratch.path(), scratch.path()};
  std::shared_ptr<const TlsClient> client;
  ListenSecurity security;
};

/// Of the job that the data belong to.
constexpr JobIdentity kIdentity{7, 8};

/// A server and a client on one loop, so that what a client sends behind its handshake has always come with it.
struct Transfer {
  Transfer(const ListenSecurity& security, std::shared_ptr<const TlsClient> tls, Packing packing = Packing::Never,
           std::shared_ptr<const RevokedSerials> revoked = nullptr) {
    ServerLimits served;
    served.security = security;
    served.revoked = std::move(revoked);
    served.packing = packing;
    server = std::move(DataServer::open(turning.loop, local(0), here, served)).value();
    TransferLimits asked = limits();
    asked.tls = std::move(tls);
    asked.packing = packing;
    client = std::make_unique<DataClient>(turning.loop, there, asked);
    here.name_job(key(1).producer.job, kIdentity);
  }
  Answer fetch(std::uint32_t subtask, const JobIdentity& identity = kIdentity) {
    Answer answer;
    client->fetch(local(server->port()), key(subtask), 0, answer.take(), identity);
    EXPECT_TRUE(turning.until([&] { return answer.told; }));
    return answer;
  }
  Turning turning;
  ObjectStore here;
  ObjectStore there;
  std::unique_ptr<DataServer> server;
  std::unique_ptr<DataClient> client;
};

/// A network between the two that keeps what passes.
class Tap {
 public:
  Tap(Turning& turning, std::uint16_t target) : near_(turning.loop.io()), far_(turning.loop.io()) {
    acceptor_.emplace(turning.loop.io(), tcp::endpoint{asio::ip::address_v4::loopback(), 0});
    acceptor_->async_accept(near_, [this, target](const auto& error) {
      if (error) return;
      far_.connect({asio::ip::address_v4::loopback(), target});
      pump(near_, far_, buffers_[0]);
      pump(far_, near_, buffers_[1]);
    });
  }
  std::uint16_t port() const { return acceptor_->local_endpoint().port(); }
  std::string seen;

 private:
  void pump(tcp::socket& from, tcp::socket& to, std::array<char, 65536>& buffer) {
    from.async_read_some(asio::buffer(buffer), [&](const boost::system::error_code& error, std::size_t count) {
      if (error) return;
      seen.append(buffer.data(), count);
      asio::write(to, asio::buffer(buffer.data(), count));
      pump(from, to, buffer);
    });
  }
  std::optional<tcp::acceptor> acceptor_;
  tcp::socket near_;
  tcp::socket far_;
  std::array<std::array<char, 65536>, 2> buffers_{};
};

TEST(SecureTransfer, ANetworkSeesNothingOfIt) {
  const std::string text = "a datum that no network may read";
  std::vector<std::byte> data;
  while (data.size() < 200'000)
    for (const char letter : text) data.push_back(static_cast<std::byte>(letter));
  const Cluster cluster;
  for (const bool secured : {false, true}) {
    Transfer transfer{secured ? cluster.security : ListenSecurity{}, secured ? cluster.client : nullptr};
    put(transfer.here, 1, data);
    Tap tap{transfer.turning, transfer.server->port()};
    Answer answer;
    transfer.client->fetch(local(tap.port()), key(1), 0, answer.take(), kIdentity);
    ASSERT_TRUE(transfer.turning.until([&] { return answer.told; }));
    EXPECT_TRUE(answer.is(data));
    EXPECT_GT(tap.seen.size(), data.size());
    EXPECT_EQ(tap.seen.find(text) != std::string::npos, !secured);
    transfer.client.reset();
    transfer.server.reset();
  }
}

TEST(SecureTransfer, DataOfEverySizeArriveAsTheyAre) {
  const Cluster cluster;
  for (const Packing packing : {Packing::Never, Packing::Always}) {
    Transfer transfer{cluster.security, cluster.client, packing};
    std::uint32_t subtask = 0;
    for (const std::size_t size : {1UL, kChunk - 1UL, kChunk + 0UL, kChunk + 1UL, 700'000UL}) {
      const std::vector<std::byte> data = content(size);
      put(transfer.here, ++subtask, data);
      EXPECT_TRUE(transfer.fetch(subtask).is(data)) << size;
    }
    const std::vector<std::byte> even(300'000, std::byte{7});
    put(transfer.here, ++subtask, even);
    EXPECT_TRUE(transfer.fetch(subtask).is(even)) << "one that packs well";
    EXPECT_EQ(transfer.fetch(99).error.code, ErrorCode::NotFound);
  }
}

TEST(SecureTransfer, ChunksLargerThanARecordArrive) {
  const Cluster cluster;
  Transfer transfer{cluster.security, cluster.client};
  TransferLimits asked = limits();
  asked.tls = cluster.client;
  asked.chunk_bytes = 1U << 20U;
  transfer.client = std::make_unique<DataClient>(transfer.turning.loop, transfer.there, asked);
  const std::vector<std::byte> data = content(3'500'001);
  put(transfer.here, 1, data);
  EXPECT_TRUE(transfer.fetch(1).is(data));
}

/// A server that takes connections, and never answers.
class SilentServer {
 public:
  explicit SilentServer(Turning& turning) : turning_(turning) {
    acceptor_.emplace(turning.loop.io(), tcp::endpoint{asio::ip::address_v4::loopback(), 0});
    acceptor_->non_blocking(true);
  }
  HostPort address() const { return local(acceptor_->local_endpoint().port()); }
  /// Another connection has come, and the first bytes of its handshake.
  bool is_asked() {
    tcp::socket& peer = peers_.emplace_back(turning_.loop.io());
    const bool came = turning_.until([&] {
      boost::system::error_code none;
      acceptor_->accept(peer, none);
      return !none;
    });
    return came && turning_.until([&] { return peer.available() > 0; });
  }
  void close() { acceptor_.reset(); }

 private:
  Turning& turning_;
  std::optional<tcp::acceptor> acceptor_;
  std::list<tcp::socket> peers_;
};

// Chaos case W01 found it: each such connection stayed, and after the last one no request went out any more.
TEST(SecureTransfer, ARequestThatIsCancelledInTheHandshakeLeavesItsConnectionToOthers) {
  const Cluster cluster;
  Transfer transfer{cluster.security, cluster.client};
  SilentServer silent{transfer.turning};
  const HostPort address = silent.address();
  Answer cancelled;
  for (std::uint32_t i = 0; i < limits().streams_max; ++i) {
    transfer.client->fetch(address, key(1), 0, cancelled.take());
    ASSERT_TRUE(silent.is_asked());
    transfer.client->cancel(key(1));
  }
  silent.close();
  ServerLimits served;
  served.security = cluster.security;
  const auto server = std::move(DataServer::open(transfer.turning.loop, address, transfer.here, served)).value();
  put(transfer.here, 2, content(100));
  Answer answer;
  transfer.client->fetch(address, key(2), 0, answer.take(), kIdentity);
  ASSERT_TRUE(transfer.turning.until([&] { return answer.told; }));
  EXPECT_TRUE(answer.is(content(100))) << to_string(answer.error);
  EXPECT_FALSE(cancelled.told);
  transfer.client.reset();
}

TEST(SecureTransfer, ARequestThatIsCancelledInTheHandshakeFailsNoOther) {
  const Cluster cluster;
  Transfer transfer{cluster.security, cluster.client};
  TransferLimits one = limits();
  one.tls = cluster.client;
  one.streams_max = 1;
  transfer.client = std::make_unique<DataClient>(transfer.turning.loop, transfer.there, one);
  SilentServer silent{transfer.turning};
  Answer cancelled;
  Answer waits;
  transfer.client->fetch(silent.address(), key(1), 0, cancelled.take());
  transfer.client->fetch(silent.address(), key(2), 0, waits.take());
  ASSERT_TRUE(silent.is_asked());
  transfer.client->cancel(key(1));
  EXPECT_TRUE(silent.is_asked()) << "the other request has a connection of its own";
  EXPECT_FALSE(waits.told);
  transfer.client.reset();
}

TEST(SecureTransfer, AServerThatIsSilentInTheHandshakeIsGivenUp) {
  const Cluster cluster;
  Transfer transfer{cluster.security, cluster.client};
  SilentServer silent{transfer.turning};
  Answer answer;
  transfer.client->fetch(silent.address(), key(1), 0, answer.take());
  ASSERT_TRUE(transfer.turning.until([&] { return answer.told; }));
  EXPECT_EQ(answer.error.code, ErrorCode::Unreachable) << to_string(answer.error);
}

// The connection is open, and its owner was served.
TEST(SecureTransfer, ARevokedReaderIsServedNoLonger) {
  const Cluster cluster;
  const auto revoked = std::make_shared<RevokedSerials>();
  Transfer transfer{cluster.security, cluster.client, Packing::Never, revoked};
  const std::vector<std::byte> data = content(100'000);
  for (const std::uint32_t subtask : {1, 2, 3}) put(transfer.here, subtask, data);
  revoked->add({"00"});
  EXPECT_TRUE(transfer.fetch(1).is(data));
  revoked->add({serial_of(*cluster.store.load(cluster.authority.cluster(), Role::Worker)->certificate)});
  EXPECT_FALSE(transfer.fetch(2).is(data)) << "by the open connection";
  EXPECT_FALSE(transfer.fetch(3).is(data)) << "by another";
}

TEST(SecureTransfer, TheIdentityOfAJobIsWhatItsDataAreReadBy) {
  for (const auto& [role, peer] :
       {std::pair{Role::Worker, PeerRole::Worker}, {Role::Run, PeerRole::Client}, {Role::Client, PeerRole::Client}}) {
    const Cluster cluster{role, peer};
    Transfer transfer{cluster.security, cluster.client};
    put(transfer.here, 1, content(1000));
    EXPECT_EQ(transfer.fetch(1, {}).error.code, ErrorCode::NotFound) << "a number can be guessed";
    EXPECT_EQ(transfer.fetch(1, {7, 9}).error.code, ErrorCode::NotFound);
    EXPECT_TRUE(transfer.fetch(1).is(content(1000)));
    transfer.here.name_job(key(1).producer.job, {});
    EXPECT_EQ(transfer.fetch(1).error.code, ErrorCode::NotFound) << "of a job without a name there";
  }
}

TEST(SecureTransfer, OperatorsAreServed) {
  for (const Role role : {Role::Operator, Role::Admin}) {
    const Cluster cluster{role, PeerRole::Client};
    Transfer transfer{cluster.security, cluster.client};
    put(transfer.here, 1, content(100));
    EXPECT_TRUE(transfer.fetch(1, {}).is(content(100)));
  }
}

TEST(SecureTransfer, NobodyElseIs) {
  const Cluster cluster;
  const Cluster other;
  const auto refused = [&](std::shared_ptr<const TlsClient> tls) {
    Transfer transfer{cluster.security, std::move(tls)};
    put(transfer.here, 1, content(100));
    const Answer answer = transfer.fetch(1);
    EXPECT_EQ(answer.blob, nullptr);
    return answer.error.code;
  };
  EXPECT_EQ(refused(other.client), ErrorCode::Unreachable);
  EXPECT_EQ(refused(nullptr), ErrorCode::Unreachable) << "plain";
  const Cluster metrics{Role::Metrics, PeerRole::Client};
  Transfer transfer{metrics.security, *TlsClient::make_stranger(metrics.authority.cluster())};
  put(transfer.here, 1, content(100));
  EXPECT_EQ(transfer.fetch(1).blob, nullptr) << "a stranger, who trusts supervisors alone";
}

TEST(SecureTransfer, APlainServerIsNotTrusted) {
  const Cluster cluster;
  Transfer transfer{ListenSecurity{}, cluster.client};
  put(transfer.here, 1, content(100));
  EXPECT_EQ(transfer.fetch(1).blob, nullptr);
}

TEST(SecureTransfer, AServerThatHasJoinedNoClusterYetServesNobody) {
  const Cluster cluster;
  ListenSecurity none;
  none.settings = [] { return std::shared_ptr<const TlsServer>{}; };
  Transfer transfer{none, cluster.client};
  put(transfer.here, 1, content(100));
  EXPECT_EQ(transfer.fetch(1).blob, nullptr);
}

}  // namespace
}  // namespace penstock::worker
