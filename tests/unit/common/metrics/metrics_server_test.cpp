#include "common/metrics/metrics_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <mutex>

#include "common/host/clock.hpp"
#include "common/security/authority.hpp"
#include "common/security/tls_session.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

/// A server with numbers that come at once, or when the test says so.
struct Rig {
  explicit Rig(MetricsConfig config = {}, MetricsServerOptions options = {}) {
    options.config = std::move(config);
    options.listen = {"127.0.0.1", 0};
    options.ask = [this](std::function<void(MetricsServerOptions::Numbers)> answer) {
      const std::lock_guard lock{mutex};
      if (hangs)
        late = std::move(answer);
      else
        answer([samples = samples] { return numbers(samples); });
      ++asked;
    };
    server = std::move(MetricsServer::open(std::move(options))).value();
  }
  static MetricFamilies numbers(std::size_t samples) {
    MetricFamilies all;
    MetricFamily& family = all.gauge("penstock_level", "Level");
    for (std::size_t i = 0; i < samples; ++i) family.add(1, {{"number", std::to_string(i)}});
    return all;
  }

  std::atomic<int> asked{0};
  std::mutex mutex;  ///< Of what follows.
  bool hangs = false;
  std::size_t samples = 1;
  std::function<void(MetricsServerOptions::Numbers)> late;
  std::unique_ptr<MetricsServer> server;
};

/// The digits there; 0: there are none.
std::size_t number_in(std::string_view text, std::size_t at) {
  std::size_t number = 0;
  if (at < text.size()) std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

/// A peer that waits for 10 s at most.
struct Peer {
  explicit Peer(const Rig& rig, std::shared_ptr<const TlsClient> client = nullptr) {
    socket.connect({asio::ip::address_v4::loopback(), rig.server->port()});
    if (client != nullptr) tls = std::move(TlsSession::connect(std::move(client))).value();
  }

  std::vector<std::byte> read_some() {
    std::vector<std::byte> bytes(65536);
    bool came = false;
    socket.async_read_some(asio::buffer(bytes), [&](const error_code&, std::size_t count) {
      came = true;
      bytes.resize(count);
    });
    io.restart();
    io.run_for(std::chrono::seconds{10});
    if (came) return bytes;
    ADD_FAILURE() << "nothing came";
    socket.close();
    io.restart();
    io.run();
    return bytes;
  }
  bool send_bytes(const std::vector<std::byte>& bytes) {
    error_code error;
    asio::write(socket, asio::buffer(bytes), error);
    return !error;
  }
  /// False: a side refuses the other one.
  bool shake_hands() {
    std::vector<std::byte> arrived;
    for (;;) {
      std::vector<std::byte> out;
      const auto step = tls->shake_hands(arrived, out);
      send_bytes(out);
      if (!step) return false;
      if (*step == TlsSession::Handshake::Done) return true;
      arrived = read_some();
      if (arrived.empty()) return false;
    }
  }
  void send(const std::string& plain) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(plain.data());
    std::vector<std::byte> out;
    if (tls == nullptr)
      out.assign(bytes, bytes + plain.size());
    else
      EXPECT_TRUE(tls->write_plain(plain, out));
    send_bytes(out);
  }
  /// False: the server has closed.
  bool receive() {
    const std::vector<std::byte> bytes = read_some();
    if (bytes.empty()) return false;
    if (tls == nullptr) {
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return true;
    }
    std::vector<std::byte> out;
    const Result<bool> goes_on = tls->read_plain(bytes, text, out);
    return goes_on && *goes_on;
  }
  /// The next answer, taken from what has come; empty: the server has closed.
  std::string answer() {
    for (bool goes_on = true;;) {
      const std::size_t head = text.find("\r\n\r\n");
      if (head != std::string::npos) {
        const std::size_t at = text.find("Content-Length: ");
        const std::size_t size = head + 4 + (head_only ? 0 : number_in(text, at + 16));
        if (text.size() >= size) {
          std::string whole = text.substr(0, size);
          text.erase(0, size);
          return whole;
        }
      }
      if (!goes_on) return {};
      goes_on = receive();  // The last bytes may come with the end.
    }
  }
  std::string get(const std::string& path, const std::string& more = {}) {
    send("GET " + path + " HTTP/1.1\r\nHost: a\r\n" + more + "\r\n");
    return answer();
  }
  bool is_closed() {
    while (receive()) continue;
    return true;
  }

  asio::io_context io;
  tcp::socket socket{io};
  std::unique_ptr<TlsSession> tls;
  std::string text;
  bool head_only = false;
};

std::uint16_t status_of(const std::string& answer) { return static_cast<std::uint16_t>(number_in(answer, 9)); }

/// Asks until the server's own counters have that line: they are of the moment before.
void expect_line(const Rig& rig, const std::string& line) {
  const Instant late = monotonic_now() + std::chrono::seconds{10};
  while (monotonic_now() < late)
    if (Peer{rig}.get("/metrics").find(line) != std::string::npos) return;
  ADD_FAILURE() << line << "\n" << Peer{rig}.get("/metrics");
}

MetricsConfig always_fresh() {
  MetricsConfig config;
  config.sample_every = Duration{0};
  return config;
}

TEST(MetricsServer, GivesTheNumbersInBothFormats) {
  const Rig rig;
  Peer peer{rig};
  const std::string plain = peer.get("/metrics");
  EXPECT_EQ(status_of(plain), 200);
  EXPECT_NE(plain.find("Content-Type: text/plain; version=0.0.4"), std::string::npos) << plain;
  EXPECT_NE(plain.find("\npenstock_level{number=\"0\"} 1\n"), std::string::npos) << plain;
  const std::string open = peer.get("/metrics?x=y", "Accept: application/openmetrics-text;version=1.0.0\r\n");
  EXPECT_NE(open.find("Content-Type: application/openmetrics-text; version=1.0.0"), std::string::npos) << open;
  EXPECT_TRUE(open.ends_with("# EOF\n"));
  EXPECT_TRUE(peer.get("/healthz").ends_with("\r\n\r\nok\n"));
}

TEST(MetricsServer, AHeadHasNoBody) {
  const Rig rig;
  Peer peer{rig};
  peer.head_only = true;
  peer.send("HEAD /metrics HTTP/1.1\r\n\r\nHEAD /healthz HTTP/1.1\r\n\r\n");
  EXPECT_EQ(status_of(peer.answer()), 200);
  EXPECT_NE(peer.answer().find("Content-Length: 3\r\n"), std::string::npos);
}

TEST(MetricsServer, RequestsOfOneConnectionAreAnsweredInOrder) {
  const Rig rig;
  Peer peer{rig};
  peer.send("GET /healthz HTTP/1.1\r\n\r\nGET /nothing HTTP/1.1\r\n\r\nGET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_EQ(status_of(peer.answer()), 200);
  EXPECT_EQ(status_of(peer.answer()), 404);
  EXPECT_EQ(status_of(peer.answer()), 200);
  EXPECT_TRUE(peer.is_closed());
}

TEST(MetricsServer, NumbersAreAskedForNowAndThen) {
  MetricsConfig config;
  config.sample_every = std::chrono::hours{1};
  const Rig rig{config};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of(Peer{rig}.get("/metrics")), 200);
  EXPECT_EQ(rig.asked, 1);
  const Rig fresh{always_fresh()};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of(Peer{fresh}.get("/metrics")), 200);
  EXPECT_EQ(fresh.asked, 5);
}

TEST(MetricsServer, WhatCannotBeServedHasAStatus) {
  MetricsConfig config = always_fresh();
  config.header_bytes_max = 256;
  const Rig rig{config};
  const auto status = [&](const std::string& text, bool closes) {
    Peer peer{rig};
    peer.send(text);
    const std::uint16_t found = status_of(peer.answer());
    EXPECT_TRUE(!closes || peer.is_closed()) << text;
    return found;
  };
  EXPECT_EQ(status("DELETE /metrics HTTP/1.1\r\n\r\n", false), 405);
  EXPECT_EQ(status("GET / HTTP/1.1\r\n\r\n", false), 404);
  EXPECT_EQ(status("GET /metrics/ HTTP/1.1\r\n\r\n", false), 404);
  EXPECT_EQ(status("@@@ no request\r\n\r\n", true), 400);
  EXPECT_EQ(status("POST /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\n", true), 413);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n", true), 431);
  EXPECT_EQ(status("GET / HTTP/2.0\r\n\r\n", true), 505);
  expect_line(rig, "penstock_metrics_refusals_total{reason=\"request\"} 4\n");
  expect_line(rig, "penstock_metrics_answers_total{status=\"404\"} 2\n");
}

TEST(MetricsServer, HalfARequestIsAnsweredInTimeAndClosed) {
  MetricsConfig config = always_fresh();
  config.request_timeout = milliseconds{500};
  const Rig rig{config};
  Peer silent{rig};
  Peer slow{rig};
  slow.send("GET /metrics HTTP/1.1\r\nHo");
  EXPECT_EQ(status_of(slow.answer()), 408);
  EXPECT_TRUE(slow.is_closed());
  EXPECT_EQ(status_of(silent.answer()), 408);
  EXPECT_TRUE(silent.is_closed());
  // The second request of a connection, too.
  Peer second{rig};
  EXPECT_EQ(status_of(second.get("/healthz")), 200);
  second.send("G");
  EXPECT_EQ(status_of(second.answer()), 408);
  expect_line(rig, "penstock_metrics_refusals_total{reason=\"request_timeout\"} 3\n");
}

TEST(MetricsServer, AnIdleConnectionIsClosed) {
  MetricsConfig config = always_fresh();
  config.idle_timeout = milliseconds{50};
  const Rig rig{config};
  Peer peer{rig};
  EXPECT_EQ(status_of(peer.get("/healthz")), 200);
  EXPECT_TRUE(peer.is_closed());
  EXPECT_EQ(peer.text, "");
}

TEST(MetricsServer, APeerThatDoesNotReadIsCutOffAndOthersAreServed) {
  MetricsConfig config = always_fresh();
  config.response_timeout = milliseconds{200};
  Rig rig{config};
  rig.samples = 400'000;  // More than sockets hold.
  Peer slow{rig};
  slow.send("GET /metrics HTTP/1.1\r\n\r\n");
  while (rig.asked == 0) EXPECT_EQ(status_of(Peer{rig}.get("/nothing")), 404);
  {
    const std::lock_guard lock{rig.mutex};
    rig.samples = 1;
  }
  expect_line(rig, "penstock_metrics_refusals_total{reason=\"response_timeout\"} 1\n");
  EXPECT_EQ(slow.answer(), "") << "the whole answer came";
}

TEST(MetricsServer, APeerThatOnlyConnectsKeepsNobodyAway) {
  MetricsConfig config = always_fresh();
  config.connections_max = 2;
  const Rig rig{config};
  Peer first{rig};
  EXPECT_EQ(status_of(first.get("/healthz")), 200);
  Peer idle{rig};
  EXPECT_EQ(status_of(Peer{rig}.get("/healthz")), 200);  // In the place of the idle one.
  EXPECT_TRUE(idle.is_closed());
  EXPECT_EQ(status_of(first.get("/healthz")), 200);
}

TEST(MetricsServer, ConnectionsBeyondTheMostAreClosed) {
  MetricsConfig config = always_fresh();
  config.connections_max = 2;
  const Rig rig{config};
  Peer first{rig};
  Peer second{rig};
  EXPECT_EQ(status_of(first.get("/healthz")), 200);
  EXPECT_EQ(status_of(second.get("/healthz")), 200);
  EXPECT_TRUE(Peer{rig}.is_closed());
  EXPECT_NE(first.get("/metrics").find("penstock_metrics_refusals_total{reason=\"connections\"} 1\n"),
            std::string::npos);
}

TEST(MetricsServer, AProcessThatHangsIsUnhealthyAndAskedOnce) {
  MetricsConfig config = always_fresh();
  config.answer_timeout = milliseconds{50};
  Rig rig{config};
  rig.hangs = true;
  EXPECT_EQ(status_of(Peer{rig}.get("/healthz")), 503);
  EXPECT_EQ(status_of(Peer{rig}.get("/metrics")), 503);
  EXPECT_EQ(rig.asked, 1);
  {
    const std::lock_guard lock{rig.mutex};
    rig.hangs = false;
    rig.late([] { return Rig::numbers(1); });
  }
  // The late answer may be the one that comes, so the next question may be the second.
  std::uint16_t status = 0;
  const Instant late = monotonic_now() + std::chrono::seconds{10};
  while (monotonic_now() < late && status != 200) status = status_of(Peer{rig}.get("/healthz"));
  EXPECT_EQ(status, 200);
}

TEST(MetricsServer, EndsWhileQuestionsAreOpen) {
  auto rig = std::make_unique<Rig>();
  rig->hangs = true;
  Peer waits{*rig};
  waits.send("GET /metrics HTTP/1.1\r\n\r\n");
  while (rig->asked == 0) EXPECT_EQ(status_of(Peer{*rig}.get("/nothing")), 404);
  const auto late = rig->late;
  rig->server.reset();
  EXPECT_TRUE(waits.is_closed());
  late([] { return Rig::numbers(1); });
}

TEST(MetricsServer, WithoutTlsItIsForThisHost) {
  const auto open = [](bool open_to_all) {
    MetricsServerOptions options;
    options.listen = {"0.0.0.0", 0};
    options.open_to_all = open_to_all;
    return MetricsServer::open(std::move(options)).has_value();
  };
  EXPECT_FALSE(open(false));
  EXPECT_TRUE(open(true));
}

TEST(MetricsServer, AnAddressThatIsTakenIsNamed) {
  const Rig rig;
  MetricsServerOptions options;
  options.listen = {"127.0.0.1", rig.server->port()};
  const auto opened = MetricsServer::open(std::move(options));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::AddressInUse);
}

/// A server of a cluster with TLS.
struct SecuredRig {
  explicit SecuredRig(MetricsConfig config = {}) {
    MetricsServerOptions options;
    options.tls = [server = *TlsServer::make(*authority.issue(Role::Supervisor, "root", std::chrono::hours{1}))] {
      return server;
    };
    options.revoked = revoked;
    rig = std::make_unique<Rig>(std::move(config), std::move(options));
  }
  /// A peer with a certificate of that role of that authority.
  std::unique_ptr<Peer> peer(Role role, const Authority& issuer) {
    const ScratchDirectory& place = *places.emplace_back(std::make_unique<ScratchDirectory>());
    const CredentialStore store{place.path()};
    Result<Credential> credential = issuer.issue(role, "ada", std::chrono::hours{1});
    serial = serial_of(*credential->certificate);
    EXPECT_TRUE(store.save(authority.cluster(), role, *credential));
    // Where the authority is another one, the peer trusts this server nevertheless: the server is to refuse.
    const PeerRole as = role == Role::Worker ? PeerRole::Worker : PeerRole::Client;
    return std::make_unique<Peer>(*rig, *TlsClient::make(store, as));
  }

  Authority authority = std::move(Authority::make()).value();
  std::shared_ptr<RevokedSerials> revoked = std::make_shared<RevokedSerials>();
  std::vector<std::unique_ptr<ScratchDirectory>> places;
  std::string serial;  ///< Of the last peer.
  std::unique_ptr<Rig> rig;
};

TEST(SecuredMetrics, TheRoleDecides) {
  SecuredRig secured;
  for (const Role role : {Role::Metrics, Role::Operator, Role::Admin, Role::Client, Role::Worker}) {
    const auto peer = secured.peer(role, secured.authority);
    ASSERT_TRUE(peer->shake_hands()) << to_string(role);
    EXPECT_EQ(status_of(peer->get("/metrics")), may_read_metrics(role) ? 200 : 403) << to_string(role);
    const auto again = may_read_metrics(role) ? nullptr : secured.peer(role, secured.authority);
    if (again != nullptr) {
      EXPECT_TRUE(peer->is_closed()) << "one without the right keeps no connection";
    }
    Peer& next = again == nullptr ? *peer : *again;
    ASSERT_TRUE(again == nullptr || next.shake_hands());
    EXPECT_EQ(status_of(next.get("/healthz")), 200);
  }
  EXPECT_TRUE(may_read_metrics(Role::Metrics));
  EXPECT_FALSE(may_read_metrics(Role::Client));
  EXPECT_FALSE(may_read_metrics(Role::Worker));
}

TEST(SecuredMetrics, APeerWithoutACertificateSeesOnlyTheHealth) {
  const SecuredRig secured;
  Peer peer{*secured.rig, *TlsClient::make_stranger(secured.authority.cluster())};
  ASSERT_TRUE(peer.shake_hands());
  EXPECT_EQ(status_of(peer.get("/healthz")), 200);
  EXPECT_TRUE(peer.is_closed()) << "it could keep all connections that there may be";
  Peer another{*secured.rig, *TlsClient::make_stranger(secured.authority.cluster())};
  ASSERT_TRUE(another.shake_hands());
  EXPECT_EQ(status_of(another.get("/metrics")), 403);
}

TEST(SecuredMetrics, ACertificateOfAnotherClusterIsRefused) {
  SecuredRig secured;
  const Authority other = std::move(Authority::make()).value();
  ScratchDirectory place;
  const CredentialStore store{place.path()};
  // The key and certificate of the other cluster, with this one's authority beside them: as a thief would have it.
  Credential stolen = std::move(other.issue(Role::Metrics, "ada", std::chrono::hours{1})).value();
  stolen.authority = std::move(secured.authority.issue(Role::Metrics, "x", std::chrono::hours{1})->authority);
  ASSERT_TRUE(store.save(secured.authority.cluster(), Role::Metrics, stolen));
  Peer peer{*secured.rig, *TlsClient::make(store, PeerRole::Client)};
  // A client of TLS 1.3 is done before the server has looked.
  if (peer.shake_hands()) {
    EXPECT_EQ(peer.get("/metrics"), "");
  }
  const auto admin = secured.peer(Role::Admin, secured.authority);
  ASSERT_TRUE(admin->shake_hands());
  EXPECT_NE(admin->get("/metrics").find("penstock_metrics_refusals_total{reason=\"handshake\"} 1\n"),
            std::string::npos);
}

TEST(SecuredMetrics, ARevokedCertificateIsRefusedOnAnOpenConnection) {
  SecuredRig secured;
  const auto peer = secured.peer(Role::Metrics, secured.authority);
  ASSERT_TRUE(peer->shake_hands());
  EXPECT_EQ(status_of(peer->get("/metrics")), 200);
  secured.revoked->add({secured.serial});
  EXPECT_EQ(status_of(peer->get("/metrics")), 403);
}

TEST(SecuredMetrics, PlainBytesAndHalfAHandshakeAreCutOff) {
  MetricsConfig config;
  config.request_timeout = milliseconds{50};
  const SecuredRig secured{config};
  Peer plain{*secured.rig};
  plain.send("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(plain.is_closed());
  Peer half{*secured.rig};
  half.send("\x16\x03\x01");
  EXPECT_TRUE(half.is_closed());
}

}  // namespace
}  // namespace penstock
