#include "common/security/stored_server.hpp"
#include "common/host/clock.hpp"

#include <gtest/gtest.h>

#include "common/security/authority.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

using std::chrono::hours;

/// Connects to a supervisor of the cluster, so that `client` knows it.
void connect(const Authority& authority, const std::shared_ptr<const TlsClient>& client) {
  const auto server =
      std::move(*TlsSession::accept(*TlsServer::make(*authority.issue(Role::Supervisor, "root", hours{1}))));
  const auto session = std::move(*TlsSession::connect(client));
  std::vector<std::byte> to_server;
  std::vector<std::byte> to_client;
  ASSERT_TRUE(session->shake_hands({}, to_server));
  ASSERT_TRUE(server->shake_hands(to_server, to_client));
  to_server.clear();
  ASSERT_TRUE(session->shake_hands(to_client, to_server));
}

TEST(StoredServer, ItServesWithTheCredentialOfTheClusterThatThisProcessJoined) {
  const ScratchDirectory scratch;
  const CredentialStore store{scratch.path()};
  const Authority authority = std::move(Authority::make()).value();
  const auto client = *TlsClient::make(store, PeerRole::Worker);
  StoredServer server{client};
  const CalendarTime now = calendar_now();
  EXPECT_EQ(server.settings(now), nullptr) << "it has joined none";
  ASSERT_TRUE(store.save(authority.cluster(), Role::Worker, *authority.issue(Role::Worker, "ada", hours{2})));
  connect(authority, client);
  const auto first = server.settings(now);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(server.settings(now), first);
  ASSERT_TRUE(store.save(authority.cluster(), Role::Worker, *authority.issue(Role::Worker, "ada", hours{4})));
  EXPECT_EQ(server.settings(now), first) << "the first one is good for a while";
  const auto second = server.settings(now + hours{1});
  EXPECT_NE(second, first) << "renewed by now";
  EXPECT_EQ(server.settings(now + hours{1}), second);
}

}  // namespace
}  // namespace penstock
