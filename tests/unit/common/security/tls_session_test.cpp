#include "common/security/tls_session.hpp"
#include "common/host/clock.hpp"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "common/security/authority.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

using std::chrono::hours;
using Bytes8 = std::vector<std::byte>;

/// A supervisor's authority, and a user with a credential of a role.
struct Cluster {
  explicit Cluster(Role role = Role::Client, std::chrono::seconds life = hours{1})
      : store(scratch.path()), server(*TlsServer::make(*authority.issue(Role::Supervisor, "root", hours{1}))) {
    EXPECT_TRUE(store.save(authority.cluster(), role, *authority.issue(role, "ada", life)));
  }
  std::shared_ptr<const TlsClient> client(PeerRole peer = PeerRole::Client) const {
    return *TlsClient::make(store, peer);
  }

  ScratchDirectory scratch;
  Authority authority = std::move(Authority::make()).value();
  CredentialStore store;
  std::shared_ptr<const TlsServer> server;
};

/// Both sides of one connection.
struct Pair {
  Pair(std::shared_ptr<const TlsServer> server, std::shared_ptr<const TlsClient> client)
      : accepting(std::move(*TlsSession::accept(std::move(server)))),
        connecting(std::move(*TlsSession::connect(std::move(client)))) {}

  /// Carries bytes to and fro until both have ended; the error of the side that refuses first.
  Result<void> shake_hands() {
    Bytes8 to_server;
    bool client_done = false;
    bool server_done = false;
    while (!client_done || !server_done) {
      Bytes8 to_client;
      if (!server_done && !to_server.empty()) {
        const auto step = accepting->shake_hands(std::exchange(to_server, {}), to_client);
        if (!step) return tell_client(to_client), step.error();
        server_done = *step == TlsSession::Handshake::Done;
      }
      if (client_done) continue;
      const auto step = connecting->shake_hands(to_client, to_server);
      if (!step) return step.error();
      client_done = *step == TlsSession::Handshake::Done;
    }
    return {};
  }
  void tell_client(const Bytes8& bytes) {
    if (const Result<void> heard = connecting->hear(bytes); !heard) told = heard.error();
  }

  std::unique_ptr<TlsSession> accepting;
  std::unique_ptr<TlsSession> connecting;
  std::optional<Error> told;  ///< By the accepting side's refusal.
};

TEST(TlsSession, BothSidesKnowTheOther) {
  Cluster cluster;
  Pair pair{cluster.server, cluster.client()};
  const Result<void> done = pair.shake_hands();
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(pair.accepting->peer(), (PeerIdentity{Role::Client, "ada", cluster.authority.cluster()}));
  EXPECT_EQ(pair.connecting->peer(), (PeerIdentity{Role::Supervisor, "root", cluster.authority.cluster()}));
  EXPECT_EQ(pair.accepting->peer_serial(), serial_of(*pair.connecting->own().certificate));
}

TEST(TlsSession, RecordsOfTlsCarryDataToOtherPrograms) {
  Cluster cluster;
  Pair pair{cluster.server, cluster.client()};
  ASSERT_TRUE(pair.shake_hands());
  const std::string large(100'000, 'x');
  Bytes8 sealed;
  ASSERT_TRUE(pair.connecting->write_plain("GET", sealed));
  ASSERT_TRUE(pair.connecting->write_plain(large, sealed));
  std::string plain;
  Bytes8 answers;
  // In pieces as a network may give them.
  for (std::size_t at = 0; at < sealed.size(); at += 1000) {
    const auto piece = std::span{sealed}.subspan(at, std::min<std::size_t>(1000, sealed.size() - at));
    ASSERT_TRUE(*pair.accepting->read_plain(piece, plain, answers));
  }
  EXPECT_EQ(plain, "GET" + large);
  Bytes8 end;
  pair.connecting->say_end(end);
  EXPECT_FALSE(*pair.accepting->read_plain(end, plain, answers)) << "the stream has ended";
}

TEST(TlsSession, DamagedDataOfAStreamIsRefused) {
  Cluster cluster;
  Pair pair{cluster.server, cluster.client()};
  ASSERT_TRUE(pair.shake_hands());
  Bytes8 sealed;
  ASSERT_TRUE(pair.connecting->write_plain("GET / HTTP/1.1", sealed));
  sealed.back() ^= std::byte{1};
  std::string plain;
  Bytes8 answers;
  EXPECT_FALSE(pair.accepting->read_plain(sealed, plain, answers).has_value());
  EXPECT_EQ(plain, "");
}

TEST(TlsSession, WhatComesBehindTheHandshakeIsLeft) {
  Cluster cluster;
  Pair pair{cluster.server, cluster.client()};
  Bytes8 to_server;
  ASSERT_TRUE(pair.connecting->shake_hands({}, to_server));
  Bytes8 to_client;
  ASSERT_TRUE(pair.accepting->shake_hands(std::exchange(to_server, {}), to_client));
  ASSERT_EQ(*pair.connecting->shake_hands(to_client, to_server), TlsSession::Handshake::Done);
  const Bytes8 record{std::byte{0x70}, std::byte{1}, std::byte{2}};
  to_server.insert(to_server.end(), record.begin(), record.end());
  ASSERT_EQ(*pair.accepting->shake_hands(to_server, to_client), TlsSession::Handshake::Done);
  EXPECT_EQ(pair.accepting->take_unread(), record);
  EXPECT_TRUE(pair.accepting->take_unread().empty());
}

TEST(TlsSession, AfterTheHandshakeOnlyARefusalIsHeard) {
  Cluster cluster;
  Pair pair{cluster.server, cluster.client()};
  ASSERT_TRUE(pair.shake_hands());
  Bytes8 garbage(40, std::byte{1});
  garbage[0] = std::byte{23};
  garbage[1] = garbage[2] = std::byte{3};
  garbage[3] = std::byte{0};
  garbage[4] = std::byte{35};
  EXPECT_EQ(pair.accepting->hear(garbage).error().code, ErrorCode::MalformedFrame);
}

TEST(TlsSession, BothHaveOneSecretAndAnotherConnectionAnother) {
  Cluster cluster;
  Pair one{cluster.server, cluster.client()};
  Pair two{cluster.server, cluster.client()};
  ASSERT_TRUE(one.shake_hands());
  ASSERT_TRUE(two.shake_hands());
  const auto secret = *one.accepting->export_secret("data", 32);
  EXPECT_EQ(secret, *one.connecting->export_secret("data", 32));
  EXPECT_NE(secret, *one.connecting->export_secret("other", 32));
  EXPECT_NE(secret, *two.connecting->export_secret("data", 32));
}

TEST(TlsSession, AUserWithoutACredentialIsToldHowToGetOne) {
  Cluster cluster;
  Cluster other;
  Pair pair{cluster.server, other.client()};
  const Result<void> done = pair.shake_hands();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::PermissionDenied);
  EXPECT_NE(done.error().message.find(cluster.authority.cluster().substr(0, 12)), std::string::npos);
  EXPECT_NE(done.error().remedy.find("penstock token create --role client"), std::string::npos);
}

/// The server's refusal of a client with this credential under the name of the server's cluster.
Pair refused_with(const Cluster& cluster, const Credential& shown, Error& refusal) {
  const ScratchDirectory place;
  const CredentialStore store{place.path()};
  const Credential filed{share(shown.key.get()), share(shown.certificate.get()),
                         share(&cluster.authority.certificate())};
  EXPECT_TRUE(store.save(cluster.authority.cluster(), Role::Client, filed));
  Pair pair{cluster.server, *TlsClient::make(store, PeerRole::Client)};
  const Result<void> done = pair.shake_hands();
  EXPECT_FALSE(done);
  if (!done) refusal = done.error();
  EXPECT_EQ(refusal.code, ErrorCode::PermissionDenied);
  EXPECT_TRUE(pair.told.has_value()) << "the client hears of it";
  if (pair.told) {
    EXPECT_EQ(pair.told->code, ErrorCode::PermissionDenied) << to_string(*pair.told);
  }
  EXPECT_FALSE(pair.accepting->peer().has_value());
  return pair;
}

TEST(TlsSession, AnExpiredCertificateIsRefused) {
  const Cluster cluster;
  Error why;
  const Pair pair = refused_with(cluster, *cluster.authority.issue(Role::Client, "ada", std::chrono::seconds{-1}), why);
  EXPECT_NE(why.message.find("has expired"), std::string::npos);
  EXPECT_NE(pair.told->message.find("has expired"), std::string::npos);
}

TEST(TlsSession, ACertificateThatIsNotValidYetIsRefused) {
  const Cluster cluster;
  const CalendarTime later = calendar_now() + hours{48};
  Error why;
  refused_with(cluster, *cluster.authority.issue(Role::Client, "ada", hours{72}, later), why);
  EXPECT_NE(why.message.find("not valid yet"), std::string::npos) << to_string(why);
}

TEST(TlsSession, ACertificateOfAnotherAuthorityIsRefused) {
  const Cluster cluster;
  const Cluster other;
  Error why;
  refused_with(cluster, *other.authority.issue(Role::Client, "ada", hours{1}), why);
  EXPECT_NE(why.message.find("another cluster"), std::string::npos);
}

TEST(TlsSession, TheCertificateOfASupervisorIsNoClients) {
  const Cluster cluster;
  Error why;
  refused_with(cluster, *cluster.authority.issue(Role::Supervisor, "root", hours{1}), why);
  EXPECT_NE(why.message.find("another role"), std::string::npos);
}

TEST(TlsSession, AClientCannotPoseAsTheSupervisor) {
  Cluster cluster;
  Pair pair{*TlsServer::make(*cluster.authority.issue(Role::Client, "mallory", hours{1})), cluster.client()};
  const Result<void> done = pair.shake_hands();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::PermissionDenied);
  EXPECT_NE(done.error().message.find("is no supervisor"), std::string::npos) << to_string(done.error());
}

// Actors of Python accept with the certificates of their users.
TEST(TlsSession, ACertificateOfAUserServesPeersThatAskForItsRole) {
  Cluster cluster;
  for (const Role role : {Role::Client, Role::Operator, Role::Admin, Role::Metrics}) {
    const auto server = *TlsServer::make(*cluster.authority.issue(role, "ada", hours{1}));
    Pair pair{server, *TlsClient::make(cluster.store, PeerRole::Client, role)};
    EXPECT_EQ(bool{pair.shake_hands()}, role != Role::Metrics) << to_string(role);
  }
}

TEST(TlsSession, AWorkerServesDataAndCannotPoseAsTheSupervisor) {
  Cluster cluster;
  const auto server = *TlsServer::make(*cluster.authority.issue(Role::Worker, "ada", hours{1}));
  Pair as_supervisor{server, cluster.client()};
  EXPECT_EQ(as_supervisor.shake_hands().error().code, ErrorCode::PermissionDenied);
  Pair as_worker{server, *TlsClient::make(cluster.store, PeerRole::Client, Role::Worker)};
  EXPECT_TRUE(as_worker.shake_hands());
  Pair other_way{cluster.server, *TlsClient::make(cluster.store, PeerRole::Client, Role::Worker)};
  EXPECT_EQ(other_way.shake_hands().error().code, ErrorCode::PermissionDenied);
}

TEST(TlsSession, AStrangerHasNoIdentityAndKnowsTheServersClusterByItsPin) {
  Cluster cluster;
  Pair pair{cluster.server, *TlsClient::make_stranger(cluster.authority.cluster())};
  ASSERT_TRUE(pair.shake_hands());
  EXPECT_FALSE(pair.accepting->peer().has_value());
  EXPECT_EQ(pair.connecting->peer()->role, Role::Supervisor);
  Pair wrong{cluster.server, *TlsClient::make_stranger(std::string(40, 'a'))};
  EXPECT_EQ(wrong.shake_hands().error().code, ErrorCode::PermissionDenied);
}

TEST(TlsSession, PlainBytesAndGarbageAreRefused) {
  Cluster cluster;
  for (const std::string& text :
       {std::string{"GET / HTTP/1.1\r\n\r\n"}, std::string(1000, '\0'), std::string(1000, '\xff')}) {
    const auto session = std::move(*TlsSession::accept(cluster.server));
    Bytes8 answer;
    const auto step = session->shake_hands(std::as_bytes(std::span{text}), answer);
    ASSERT_FALSE(step) << text;
    EXPECT_EQ(step.error().code, ErrorCode::MalformedFrame);
  }
}

}  // namespace
}  // namespace penstock
