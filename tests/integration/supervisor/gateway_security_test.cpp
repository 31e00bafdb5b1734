// Proofs of identity, over real loopback sockets: every kind of credential by every introduction and message.
#include <gtest/gtest.h>

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <memory>
#include <vector>

#include "common/host/clock.hpp"
#include "common/loop/actor_host.hpp"
#include "common/loop/mail.hpp"
#include "common/net/joining.hpp"
#include "common/security/registrar.hpp"
#include "supervisor/actors/credential_office.hpp"
#include "supervisor/actors/gateway_actor.hpp"
#include "supervisor/actors/supervisor_actor.hpp"
#include "tests/integration/supervisor/caller.hpp"
#include "tests/integration/supervisor/raw_peer.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Heard {
  std::vector<FromClient> from_clients;
  std::size_t from_workers = 0;
  std::size_t lost = 0;
  WorkerHandle gateway;  ///< The sender of a worker's messages, which carries answers.
};

SupervisorHandle::behavior_type recorder(SupervisorHandle::pointer self, Heard* heard) {
  return {[heard](const FromClientMail& mail) {
            heard->from_clients.insert(heard->from_clients.end(), mail.messages->begin(), mail.messages->end());
          },
          [heard](const ClientLostMail&) { ++heard->lost; },
          [self, heard](const FromWorkerMail& mail) {
            heard->from_workers += mail.messages->size();
            heard->gateway = caf::actor_cast<WorkerHandle>(self->current_sender());
          },
          [heard](const WorkerLostMail&) { ++heard->lost; }, [](const WorkerSuspectedMail&) {}};
}

Hello hello(PeerRole role) {
  Hello hello;
  hello.role = role;
  hello.name = "peer";
  hello.host = "here";
  hello.incarnation = Incarnation{77};
  return hello;
}

class GatewaySecurityTest : public testing::Test {
 protected:
  void SetUp() override {
    OfficeOptions office;
    office.directory = scratch_.at("authority");
    office.store = CredentialStore{scratch_.at("config")};
    office.user = "root";
    office.config = config;
    office.on_change = [this] { gateway_->credentials_changed(); };
    auto opened = CredentialOffice::open(loop_, office);
    ASSERT_TRUE(opened.has_value()) << to_string(opened.error());
    office_ = std::move(opened).value();
    GatewayOptions options;
    options.listen = {"127.0.0.1", 0};
    options.wire = wire;
    options.users = users;
    options.incarnation = Incarnation{1000};
    options.security = office_->security();
    options.certify = [this](const Join& join, const PeerStanding& peer) { return office_->certify(join, peer); };
    options.is_revoked = [this](const std::string& serial) { return office_->is_revoked(serial); };
    options.revoked = [this] { return office_->revoked(); };
    options.run_credential = [this](const std::string& user) { return office_->run_credential(user); };
    auto gateway = Gateway::open(actors_.system(), loop_, options, supervisor_);
    ASSERT_TRUE(gateway.has_value());
    gateway_ = std::move(gateway).value();
  }
  ~GatewaySecurityTest() override {
    gateway_ = nullptr;
    heard_.gateway = nullptr;
    end_actor(supervisor_);
  }

  Registrar registrar() const { return std::move(Registrar::open(scratch_.at("authority"))).value(); }
  /// A user with this credential under the name of the supervisor's cluster.
  std::shared_ptr<const TlsClient> user_with(const Credential& credential, PeerRole as) {
    const CredentialStore store{scratch_.at("user-" + std::to_string(++users_))};
    const Role file = as == PeerRole::Worker ? Role::Worker : Role::Client;
    const Registrar ours = registrar();
    const Credential filed{share(credential.key.get()), share(credential.certificate.get()),
                           share(&ours.authority().certificate())};
    EXPECT_TRUE(store.save(office_->cluster(), file, filed));
    return *TlsClient::make(store, as);
  }
  std::shared_ptr<const TlsClient> user_of(Role role, PeerRole as, const std::string& name = "ada") {
    return user_with(*registrar().issue(role, name, hours{1}, calendar_now()), as);
  }
  std::unique_ptr<Caller> call(std::shared_ptr<const TlsClient> tls, const Introduction& introduction) {
    auto caller = std::make_unique<Caller>(loop_, gateway_->port(), std::move(tls), introduction);
    EXPECT_TRUE(turn_until(loop_, [&] { return caller->over(); }));
    return caller;
  }

  SecurityConfig config;
  WireConfig wire;
  UserLimits users;
  ScratchDirectory scratch_;
  Heard heard_;
  Loop loop_{Duration{0}};
  ActorHost actors_{loop_};
  SupervisorHandle supervisor_ = actors_.system().spawn(recorder, &heard_);
  std::unique_ptr<CredentialOffice> office_;
  std::unique_ptr<Gateway> gateway_;
  int users_ = 0;
};

TEST_F(GatewaySecurityTest, TheUserOfTheSupervisorIsWelcomeInBothParts) {
  const CredentialStore own{scratch_.at("config")};
  for (const PeerRole as : {PeerRole::Worker, PeerRole::Client})
    EXPECT_TRUE(call(*TlsClient::make(own, as), hello(as))->welcome());
}

// Every role by every introduction: the allowed cells are welcome, and no others.
TEST_F(GatewaySecurityTest, EachRoleIntroducesItselfAsWhatItIs) {
  for (const Role role : kRoles)
    for (const PeerRole as : {PeerRole::Worker, PeerRole::Client}) {
      const auto caller = call(user_of(role, as), hello(as));
      EXPECT_EQ(caller->welcome(), may_introduce_itself(role, as)) << to_string(role) << " " << static_cast<int>(as);
      EXPECT_TRUE(caller->welcome() || caller->refused() == ErrorCode::PermissionDenied) << to_string(role);
    }
}

TEST_F(GatewaySecurityTest, NoBadCredentialIsWelcomeInAnyPart) {
  const auto now = calendar_now();
  const Registrar ours = registrar();
  const Authority other = std::move(Authority::make()).value();
  for (const PeerRole as : {PeerRole::Worker, PeerRole::Client}) {
    const Role role = as == PeerRole::Worker ? Role::Worker : Role::Client;
    const Credential revoked = *ours.issue(role, "mallory", hours{1}, now);
    ASSERT_TRUE(ours.revoke_user("mallory"));
    ASSERT_TRUE(turn_until(loop_, [&] { return office_->is_revoked(serial_of(*revoked.certificate)); }));
    const std::vector<std::pair<const char*, std::shared_ptr<const TlsClient>>> bad{
        {"none", *TlsClient::make_stranger(office_->cluster())},
        {"plain", nullptr},
        {"another cluster", user_with(*other.issue(role, "ada", hours{1}), as)},
        {"expired", user_with(*ours.issue(role, "ada", hours{1}, now - hours{25}), as)},
        {"not yet valid", user_with(*ours.issue(role, "ada", hours{48}, now + hours{48}), as)},
        {"revoked", user_with(revoked, as)},
    };
    for (const auto& [what, tls] : bad) {
      const Instant begin = monotonic_now();
      const auto caller = call(tls, hello(as));
      EXPECT_FALSE(caller->welcome()) << what;
      EXPECT_LT(monotonic_now() - begin, seconds{1}) << what;
      const ErrorCode expected = tls == nullptr ? ErrorCode::Disconnected : ErrorCode::PermissionDenied;
      EXPECT_EQ(caller->refused(), expected) << what << " " << (caller->end ? to_string(*caller->end) : "");
    }
  }
  EXPECT_TRUE(heard_.from_clients.empty());
  EXPECT_EQ(heard_.from_workers, 0U);
}

TEST_F(GatewaySecurityTest, TheOwnerOfAJobIsTheUserOfTheCertificate) {
  const auto caller = call(user_of(Role::Client, PeerRole::Client, "bob"), hello(PeerRole::Client));
  ASSERT_TRUE(caller->welcome());
  SubmitChunk chunk;
  chunk.first = true;
  chunk.spec.owner = "root";
  SubmitAgain again;
  again.spec.owner = "root";
  AdminRequest request{5, "jobs", {}, "root@host"};
  const std::vector<FromClient> messages{chunk, again, request};
  caller->send(FrameKind::Messages, encode(std::span{messages}));
  ASSERT_TRUE(turn_until(loop_, [&] { return heard_.from_clients.size() == 3; }));
  EXPECT_EQ(std::get<SubmitChunk>(heard_.from_clients[0]).spec.owner, "bob");
  EXPECT_EQ(std::get<SubmitAgain>(heard_.from_clients[1]).spec.owner, "bob");
  EXPECT_EQ(std::get<AdminRequest>(heard_.from_clients[2]).who, "bob@host");
}

TEST_F(GatewaySecurityTest, AnOrderWithoutTheRightIsAnsweredAndGoesNoFurther) {
  const AdminRequest drain{9, "drain", {"w1"}, "x@y"};
  const std::vector<FromClient> messages{drain};
  const auto client = call(user_of(Role::Client, PeerRole::Client), hello(PeerRole::Client));
  client->send(FrameKind::Messages, encode(std::span{messages}));
  ASSERT_TRUE(turn_until(loop_, [&] { return !client->told.empty(); }));
  EXPECT_EQ(std::get<AdminAnswer>(client->told[0]).request, 9U);
  EXPECT_EQ(std::get<AdminAnswer>(client->told[0]).refusal.code, ErrorCode::PermissionDenied);
  EXPECT_TRUE(heard_.from_clients.empty());
}

TEST_F(GatewaySecurityTest, AnOperatorSteers) {
  const std::vector<FromClient> messages{AdminRequest{9, "drain", {"w1"}, "x@y"}};
  const auto steers = call(user_of(Role::Operator, PeerRole::Client), hello(PeerRole::Client));
  steers->send(FrameKind::Messages, encode(std::span{messages}));
  EXPECT_TRUE(turn_until(loop_, [&] { return heard_.from_clients.size() == 1; }));
}

TEST_F(GatewaySecurityTest, AWorkerSubmitsNothingOfItsOwn) {
  const auto worker = call(user_of(Role::Worker, PeerRole::Client), hello(PeerRole::Client));
  ASSERT_TRUE(worker->welcome()) << "its runs submit";
  SubmitChunk chunk;
  chunk.submission = 3;
  chunk.first = chunk.last = true;
  const std::vector<FromClient> messages{chunk};
  worker->send(FrameKind::Messages, encode(std::span{messages}));
  ASSERT_TRUE(turn_until(loop_, [&] { return !worker->told.empty(); }));
  EXPECT_EQ(std::get<SubmitReply>(worker->told[0]).refusal.code, ErrorCode::PermissionDenied);
  EXPECT_TRUE(heard_.from_clients.empty());
}

class GatewayRateTest : public GatewaySecurityTest {
 protected:
  GatewayRateTest() {
    users.requests_per_second = 1;
    users.requests_burst = 3;
  }
  /// A request of each kind, and what is none.
  static std::vector<FromClient> three_requests() {
    SubmitChunk first;
    first.submission = 1;
    first.first = true;
    SubmitChunk rest;
    rest.submission = 1;
    const JobIdentity known{1, 1};
    return {first,
            rest,
            rest,
            SubmitAgain{2},
            AttachJob{3, {}, known},
            ReleaseJob{JobId{1}, known},
            UnfollowJob{JobId{1}, known}};
  }
};

TEST_F(GatewayRateTest, RequestsAboveTheRateOfTheUserAreRefusedForATime) {
  const auto ada = call(user_of(Role::Client, PeerRole::Client), hello(PeerRole::Client));
  ada->say(three_requests());
  ASSERT_TRUE(turn_until(loop_, [&] { return heard_.from_clients.size() == 7; })) << "at the limit";
  SubmitChunk chunk;
  chunk.submission = 4;
  chunk.first = true;
  ada->say(std::vector<FromClient>{chunk, SubmitAgain{5}, AttachJob{6}, AdminRequest{7, "jobs", {}, ""}});
  ASSERT_TRUE(turn_until(loop_, [&] { return ada->told.size() == 4; }));
  const auto& submit = std::get<SubmitReply>(ada->told[0]);
  EXPECT_EQ(submit.submission, 4U);
  EXPECT_EQ(submit.refusal.code, ErrorCode::LimitExceeded);
  EXPECT_EQ(submit.refusal.subject, "user 'ada'");
  EXPECT_GT(submit.retry_after, Duration{0});
  EXPECT_LE(submit.retry_after, seconds{1});
  EXPECT_GT(std::get<SubmitReply>(ada->told[1]).retry_after, submit.retry_after) << "each has its time";
  EXPECT_GT(std::get<AttachReply>(ada->told[2]).retry_after, seconds{1});
  EXPECT_GT(std::get<AdminAnswer>(ada->told[3]).retry_after, seconds{2});
  EXPECT_EQ(heard_.from_clients.size(), 7U);
  Hello other = hello(PeerRole::Client);
  other.incarnation = Incarnation{78};
  const auto bob = call(user_of(Role::Client, PeerRole::Client, "bob"), other);
  bob->say(three_requests());
  EXPECT_TRUE(turn_until(loop_, [&] { return heard_.from_clients.size() == 14; })) << "another user";
}

TEST_F(GatewayRateTest, OperatorsHaveNoRate) {
  const auto steers = call(user_of(Role::Operator, PeerRole::Client), hello(PeerRole::Client));
  steers->say(three_requests());
  steers->say(three_requests());
  EXPECT_TRUE(turn_until(loop_, [&] { return heard_.from_clients.size() == 14; }));
}

TEST_F(GatewaySecurityTest, ALinkIsResumedByItsOwnerAlone) {
  auto first = call(user_of(Role::Client, PeerRole::Client, "ada"), hello(PeerRole::Client));
  ASSERT_TRUE(first->welcome());
  first.reset();
  Hello again = hello(PeerRole::Client);
  again.peer = Incarnation{1000};
  const auto thief = call(user_of(Role::Client, PeerRole::Client, "mallory"), again);
  EXPECT_EQ(thief->refused(), ErrorCode::PermissionDenied);
  EXPECT_TRUE(call(user_of(Role::Client, PeerRole::Client, "ada"), again)->welcome());
}

TEST_F(GatewaySecurityTest, ARevokedPeerLosesItsOpenConnectionWithinASecond) {
  const auto caller = call(user_of(Role::Client, PeerRole::Client, "bob"), hello(PeerRole::Client));
  ASSERT_TRUE(caller->welcome());
  ASSERT_TRUE(registrar().revoke_user("bob"));
  const Instant begin = monotonic_now();
  ASSERT_TRUE(turn_until(loop_, [&] { return caller->end.has_value() && heard_.lost == 1; }));
  EXPECT_LT(monotonic_now() - begin, seconds{1});
}

TEST_F(GatewaySecurityTest, AWorkerHearsWithinASecondWhatIsRevoked) {
  const auto worker = call(user_of(Role::Worker, PeerRole::Worker, "host"), hello(PeerRole::Worker));
  ASSERT_TRUE(worker->welcome());
  const Credential bob = *registrar().issue(Role::Client, "bob", hours{1}, calendar_now());
  ASSERT_TRUE(registrar().revoke_user("bob"));
  const Instant begin = monotonic_now();
  const auto has_heard = [&](const Caller& caller) {
    return std::any_of(caller.notices.begin(), caller.notices.end(), [&](const SecurityNotice& notice) {
      return std::find(notice.revoked.begin(), notice.revoked.end(), serial_of(*bob.certificate)) !=
             notice.revoked.end();
    });
  };
  ASSERT_TRUE(turn_until(loop_, [&] { return has_heard(*worker); }));
  EXPECT_LT(monotonic_now() - begin, seconds{1});
  // And so does one that connects later, or again.
  Hello again = hello(PeerRole::Worker);
  again.name = "another";
  again.incarnation = Incarnation{78};
  const auto other = call(user_of(Role::Worker, PeerRole::Worker, "host"), again);
  EXPECT_TRUE(turn_until(loop_, [&] { return has_heard(*other); }));
  const auto client = call(user_of(Role::Client, PeerRole::Client), hello(PeerRole::Client));
  EXPECT_TRUE(client->notices.empty());
}

TEST_F(GatewaySecurityTest, AWorkerHasTheCredentialOfAUsersRunsBeforeTheirWork) {
  Hello introduction = hello(PeerRole::Worker);
  introduction.starts_as_users = true;
  const auto worker = call(user_of(Role::Worker, PeerRole::Worker, "host"), introduction);
  ASSERT_TRUE(worker->welcome());
  AssignBatch batch;
  batch.owner = "ada";
  worker->say(std::vector<FromWorker>{ExplainAnswer{}});
  ASSERT_TRUE(turn_until(loop_, [&] { return heard_.from_workers == 1; }));
  const ToWorkerMail mail{introduction.incarnation, std::make_shared<const std::vector<ToWorker>>(1, batch)};
  caf::anon_send(heard_.gateway, mail);
  ASSERT_TRUE(turn_until(loop_, [&] { return worker->orders.size() == 1; }));
  EXPECT_EQ(worker->first_order_after, 1U);
  ASSERT_EQ(worker->notices.size(), 1U);
  ASSERT_EQ(worker->notices[0].credentials.size(), 1U);
  EXPECT_EQ(worker->notices[0].credentials[0].user, "ada");
  const Result<Credential> told = read_credential(worker->notices[0].credentials[0].pem, "told");
  ASSERT_TRUE(told);
  EXPECT_EQ(identity_of(*told->certificate)->role, Role::Run);
  EXPECT_EQ(identity_of(*told->certificate)->user, "ada");
  caf::anon_send(heard_.gateway, mail);
  ASSERT_TRUE(turn_until(loop_, [&] { return worker->orders.size() == 2; }));
  EXPECT_EQ(worker->notices.size(), 1U);
}

class ShortLivedTest : public GatewaySecurityTest {
 protected:
  ShortLivedTest() { config.certificate_life = seconds{2}; }
};

TEST_F(ShortLivedTest, ACredentialOfRunsIsReplacedAtHalfOfItsLife) {
  Hello introduction = hello(PeerRole::Worker);
  introduction.starts_as_users = true;
  const auto worker = call(user_of(Role::Worker, PeerRole::Worker, "host"), introduction);
  worker->say(std::vector<FromWorker>{ExplainAnswer{}});
  ASSERT_TRUE(turn_until(loop_, [&] { return heard_.from_workers == 1; }));
  AssignBatch batch;
  batch.owner = "ada";
  caf::anon_send(heard_.gateway,
                 ToWorkerMail{introduction.incarnation, std::make_shared<const std::vector<ToWorker>>(1, batch)});
  ASSERT_TRUE(turn_until(loop_, [&] { return worker->notices.size() == 2; })) << "without further work";
  const RunCredential& first = worker->notices[0].credentials.at(0);
  const RunCredential& second = worker->notices[1].credentials.at(0);
  EXPECT_EQ(second.user, "ada");
  EXPECT_NE(second.pem, first.pem);
}

TEST_F(GatewaySecurityTest, ARemovedUserThatIsGivenWorkAgainHasAnotherCredentialOfRuns) {
  const auto before = office_->run_credential("ada");
  ASSERT_TRUE(before);
  EXPECT_EQ(*office_->run_credential("ada"), *before);
  const std::string serial = serial_of(*read_credential((*before)->pem, "before")->certificate);
  ASSERT_TRUE(registrar().revoke_user("ada"));
  ASSERT_TRUE(turn_until(loop_, [&] { return office_->is_revoked(serial); }));
  const auto after = office_->run_credential("ada");
  ASSERT_TRUE(after);
  EXPECT_NE((*after)->pem, (*before)->pem);
}

TEST_F(GatewaySecurityTest, ATokenLeadsToACertificateOnce) {
  const Result<TokenText> token =
      registrar().create_token(Role::Worker, "", std::chrono::minutes{1}, 10, calendar_now());
  ASSERT_TRUE(token);
  JoinOptions join;
  join.supervisor = {"127.0.0.1", gateway_->port()};
  join.tls = *TlsClient::make_stranger(office_->cluster());
  join.token = to_string(*token);
  join.user = "ada";
  const auto joined = [&] {
    std::optional<Result<Credential>> result;
    const Joining joining{loop_, join, [&](Result<Credential> done) { result = std::move(done); }};
    EXPECT_TRUE(turn_until(loop_, [&] { return result.has_value(); }));
    return std::move(*result);
  };
  const Result<Credential> first = joined();
  ASSERT_TRUE(first) << to_string(first.error());
  EXPECT_EQ(identity_of(*first->certificate)->user, "ada");
  EXPECT_TRUE(call(user_with(*first, PeerRole::Worker), hello(PeerRole::Worker))->welcome());
  EXPECT_EQ(joined().error().code, ErrorCode::PermissionDenied);
  join.token.clear();
  EXPECT_EQ(joined().error().code, ErrorCode::PermissionDenied) << "without a token and without a certificate";
  join.tls = user_with(*first, PeerRole::Worker);
  const Result<Credential> renewed = joined();
  ASSERT_TRUE(renewed) << to_string(renewed.error());
  EXPECT_NE(serial_of(*renewed->certificate), serial_of(*first->certificate));
}

TEST_F(GatewaySecurityTest, GarbageAndHalfAHandshakeLeaveOthersUndisturbed) {
  RawPeer half{gateway_->port()};
  RawPeer garbage{gateway_->port()};
  const std::string text = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  garbage.send(std::as_bytes(std::span{text}));
  std::vector<std::byte> large(1 << 20, std::byte{0x16});
  RawPeer flood{gateway_->port()};
  flood.send(large);
  EXPECT_TRUE(turn_until(loop_, [&] { return garbage.is_over() && flood.is_over(); }));
  EXPECT_FALSE(half.is_over());
  EXPECT_TRUE(call(user_of(Role::Client, PeerRole::Client), hello(PeerRole::Client))->welcome());
}

class FullHandshakePoolTest : public GatewaySecurityTest {
 protected:
  FullHandshakePoolTest() { config.handshakes_max = 1; }
};

TEST_F(FullHandshakePoolTest, HandshakesBeyondThePoolAreShedAndLaterOnesServed) {
  std::vector<std::unique_ptr<Caller>> callers;
  const auto tls = user_of(Role::Client, PeerRole::Client);
  for (std::uint64_t i = 0; i < 20; ++i) {
    Hello each = hello(PeerRole::Client);
    each.incarnation = Incarnation{100 + i};
    callers.push_back(std::make_unique<Caller>(loop_, gateway_->port(), tls, each));
  }
  const auto all_over = [&] {
    return std::all_of(callers.begin(), callers.end(), [](const auto& caller) { return caller->over(); });
  };
  ASSERT_TRUE(turn_until(loop_, all_over));
  EXPECT_TRUE(call(tls, hello(PeerRole::Client))->welcome());
}

}  // namespace
}  // namespace penstock::supervisor
