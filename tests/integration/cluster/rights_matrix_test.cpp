// Every message by every role with every credential about one's own and others' jobs, against a real supervisor: all
// cells but those that the manual allows are refused, and a job of another user looks like one that does not exist.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <map>

#include "client/src/transport.hpp"
#include "common/host/clock.hpp"
#include "common/json/json_text.hpp"
#include "common/security/registrar.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/every_message.hpp"
#include "tests/integration/supervisor/caller.hpp"

namespace penstock {
namespace {

using std::chrono::hours;

constexpr std::uint64_t kAsked = 1;
constexpr std::uint64_t kSentinel = 2;

Hello hello(PeerRole role, const std::string& name = "peer") {
  static std::uint64_t incarnations = 1000;
  Hello hello;
  hello.role = role;
  hello.name = name;
  hello.host = "here";
  hello.incarnation = Incarnation{++incarnations};
  return hello;
}

/// One subtask that sleeps for longer than any test, or ends at once and leaves an output.
Graph graph_of(bool ends) {
  Graph graph;
  graph.templates.resize(1);
  graph.templates[0].runner = ends ? RunnerKind::Native : RunnerKind::Command;
  graph.templates[0].program = ends ? "literal" : "sleep";
  if (!ends) graph.templates[0].arguments = {"1000"};
  graph.template_of = {0};
  graph.input_offsets = {0, 0};
  graph.payloads = ends ? "a secret of its owner" : "";
  graph.payload_offsets = {0, static_cast<std::uint32_t>(graph.payloads.size())};
  return graph;
}

bool is_refusal(const std::string& answer) { return answer.starts_with(to_string(ErrorCode::PermissionDenied)); }
bool is_unknown(const std::string& answer) {
  return answer.starts_with(to_string(ErrorCode::NotFound)) || answer.starts_with(to_string(ErrorCode::UnknownGraph));
}

/// A cluster with a policy and one worker, of which ada has two jobs: one that runs, and one that has left a result.
class RightsMatrix : public testing::Test {
 protected:
  void SetUp() override {
    // No host of the tests has accounts of these users.
    cluster_.start_worker(
        "w1", {"--slots", "4", "--no-gpus", "--set", "worker.run_as=worker", "--set", "worker.accept_users=[\"*\"]"});
    ASSERT_TRUE(cluster_.wait_for_workers(1));
    hers_runs_ = submit("ada", "of-ada-runs", false);
    hers_done_ = submit("ada", "of-ada-done", true);
    ASSERT_TRUE(wait_until([&] { return look(hers_runs_).find("\"assigned\": 1") != std::string::npos; }))
        << look(hers_runs_);
  }

  Registrar registrar() const {
    return std::move(Registrar::open(cluster_.path_of("penstock/supervisor/authority"))).value();
  }
  std::string name_of_cluster() const { return registrar().authority().cluster(); }
  /// A user with this credential under the name of the cluster.
  std::shared_ptr<const TlsClient> user_with(const Credential& credential, PeerRole as) {
    const CredentialStore store{scratch_.at("user-" + std::to_string(++users_))};
    const Registrar ours = registrar();
    const Credential filed{share(credential.key.get()), share(credential.certificate.get()),
                           share(&ours.authority().certificate())};
    EXPECT_TRUE(store.save(ours.authority().cluster(), as == PeerRole::Worker ? Role::Worker : Role::Client, filed));
    return *TlsClient::make(store, as);
  }
  std::shared_ptr<const TlsClient> user_of(Role role, PeerRole as, const std::string& name = "mallory") {
    return user_with(*registrar().issue(role, name, hours{1}, calendar_now()), as);
  }
  std::unique_ptr<Caller> call(std::shared_ptr<const TlsClient> tls, const Introduction& introduction,
                               FramePayloadPtr next = nullptr) {
    auto caller = std::make_unique<Caller>(loop_, cluster_.port(), std::move(tls), introduction, std::move(next));
    EXPECT_TRUE(turn_until(loop_, [&] { return caller->over(); }));
    return caller;
  }

  client::Session& session_of(const std::string& user) {
    std::unique_ptr<client::Session>& session = sessions_[user];
    if (session != nullptr) return *session;
    client::RemoteOptions options;
    options.supervisors = {{"127.0.0.1", cluster_.port()}};
    options.tls = user_of(Role::Client, PeerRole::Client, user);
    session = std::make_unique<client::Session>();
    session->start(*client::connect_remote(options, session->handlers()));
    return *session;
  }
  /// A job of the user: one that sleeps, or one that has ended and left a result.
  Subject submit(const std::string& user, const std::string& name, bool ends) {
    JobSpec spec;
    spec.name = name;
    const auto submitted = session_of(user).submit(spec, graph_of(ends));
    EXPECT_TRUE(submitted) << to_string(submitted.error());
    if (!submitted) return {};
    if (ends) {
      EXPECT_EQ(*session_of(user).wait(submitted->job, std::chrono::seconds{20}), JobState::Succeeded);
    }
    return {submitted->job, name, session_of(user).identity_of(submitted->job)};
  }
  /// All that an administrator is told of a job, but times.
  std::string look(const Subject& job) {
    if (admin_ == nullptr) admin_ = cluster_.connect();
    const Result<Value> told = admin_->ask("job", {to_string(job.id)});
    if (!told) return to_string(told.error());
    Value::Record fields;
    for (const auto& [name, value] : *told->record())
      if (name != "elapsed_s" && name != "time_left_s") fields.emplace_back(name, value);
    return to_json(Value{fields});
  }

  std::string all_of(const std::string& command) {
    const Result<Value> told = admin_->ask(command, {"--all"});
    std::string names;
    for (const Value& row : *told->list()) names += *row["name"].text() + " ";
    return names;
  }

  /// The answer to a message of a client.
  std::string ask(const std::shared_ptr<const TlsClient>& tls, const FromClient& message, const Subject& job) {
    const auto caller = call(tls, hello(PeerRole::Client));
    EXPECT_TRUE(caller->welcome());
    if (!caller->welcome()) return "not welcome";
    caller->say(std::vector<FromClient>{numbered(message, kAsked), AdminRequest{kSentinel, "job", {"unheard"}, ""}});
    const auto has = [&](std::uint64_t number) { return !answer_to(caller->told, number, job).empty(); };
    EXPECT_TRUE(turn_until(loop_, [&] {
      return caller->end || (has(kSentinel) && (!is_answered(message) || has(kAsked)));
    })) << name_of(message);
    return answer_to(caller->told, kAsked, job);
  }

  ScratchDirectory scratch_;
  ClusterProcesses cluster_{{"--config", scratch_.write("policy.toml",
                                                        "[[policy.pool]]\nname = \"all\"\n"
                                                        "preset = \"priority\"\n")}};
  Loop loop_{Duration{0}};
  int users_ = 0;
  std::map<std::string, std::unique_ptr<client::Session>> sessions_;  ///< Results stay for as long as one follows.
  std::unique_ptr<client::Session> admin_;
  Subject hers_runs_;
  Subject hers_done_;
  const Subject unknown_{JobId{4'000'000'000}, "of-nobody"};
};

/// The job as a stranger names it: the identity is a guess.
Subject guessed(const Subject& job) { return {job.id, job.name}; }

TEST_F(RightsMatrix, AJobOfAnotherUserLooksLikeNoneInEveryMessageOfAClient) {
  for (const Role role : {Role::Client, Role::Worker}) {
    const auto mallory = user_of(role, PeerRole::Client);
    for (const Subject& hers : {hers_runs_, hers_done_}) {
      const std::string before = look(hers);
      const std::vector<FromClient> foreign = every_client_message(guessed(hers));
      const std::vector<FromClient> unknown = every_client_message(unknown_);
      ASSERT_EQ(foreign.size(), unknown.size());
      for (std::size_t i = 0; i < foreign.size(); ++i) {
        // The audit shows a user's own orders: it is asked by a user without any.
        const auto tls = name_of(foreign[i]) == "audit" ? user_of(role, PeerRole::Client, "idle") : mallory;
        const std::string answer = ask(tls, foreign[i], hers);
        const std::string cell = std::string{to_string(role)} + ": " + name_of(foreign[i]);
        EXPECT_EQ(is_refusal(answer), is_answered(foreign[i]) && !manual_allows(role, foreign[i])) << cell << answer;
        // Otherwise it names no job, and the cluster has moved on between the two.
        if (!(foreign[i] == unknown[i])) {
          EXPECT_EQ(answer, ask(tls, unknown[i], unknown_)) << cell;
        }
        EXPECT_EQ(answer.find("of-ada"), std::string::npos) << cell << answer;
      }
      EXPECT_EQ(look(hers), before) << to_string(role);
    }
  }
}

TEST_F(RightsMatrix, AUserMayDoWithItsOwnJobWhatTheManualSays) {
  const auto tls = user_of(Role::Client, PeerRole::Client);
  const std::size_t count = every_client_message(unknown_).size();
  for (std::size_t i = 0; i < count; ++i)
    for (const bool ends : {false, true}) {
      const Subject mine = submit("mallory", "mine-" + std::to_string(2 * i + (ends ? 1 : 0)), ends);
      const FromClient message = every_client_message(mine)[i];
      const std::string answer = ask(tls, message, mine);
      EXPECT_EQ(is_refusal(answer), is_answered(message) && !manual_allows(Role::Client, message)) << name_of(message);
      EXPECT_FALSE(is_unknown(answer)) << name_of(message) << answer;
      if (!ends) static_cast<void>(admin_->ask("cancel", {to_string(mine.id)}));
    }
}

TEST_F(RightsMatrix, OperatorsMayDoEverythingWithJobsOfOthers) {
  for (const Role role : {Role::Operator, Role::Admin}) {
    const auto tls = user_of(role, PeerRole::Client);
    const std::size_t count = every_client_message(unknown_).size();
    for (std::size_t i = 0; i < count; ++i) {
      const bool ends = !name_of(every_client_message(unknown_)[i]).starts_with("move");
      const Subject bobs = submit("bob", std::string{to_string(role)} + "-of-bob-" + std::to_string(i), ends);
      const FromClient message = every_client_message(bobs)[i];
      const std::string answer = ask(tls, message, bobs);
      EXPECT_FALSE(is_refusal(answer)) << name_of(message) << answer;
      // The next job has to run.
      static_cast<void>(admin_->ask("undrain", {"w1"}));
      static_cast<void>(admin_->ask("cancel", {to_string(bobs.id)}));
      // Data are borrowed among the jobs of one owner.
      EXPECT_TRUE(!is_unknown(answer) || std::holds_alternative<SubmitChunk>(message)) << name_of(message) << answer;
    }
  }
}

/// The certificates that do not count, and connections without one.
struct Bad {
  std::string what;
  std::shared_ptr<const TlsClient> tls;
};

class BadCredentials : public RightsMatrix {
 protected:
  static std::shared_ptr<const TlsClient> of_version(std::shared_ptr<const TlsClient> tls, int version) {
    SSL_CTX_set_security_level(&tls->context(), 0);
    SSL_CTX_set_min_proto_version(&tls->context(), version);
    SSL_CTX_set_max_proto_version(&tls->context(), version);
    return tls;
  }
  std::vector<Bad> all(PeerRole as) {
    const Role role = as == PeerRole::Worker ? Role::Worker : Role::Client;
    const Registrar ours = registrar();
    const Authority other = std::move(Authority::make()).value();
    const auto now = calendar_now();
    const std::string gone = as == PeerRole::Worker ? "gone-worker" : "gone-client";
    const Credential revoked = *ours.issue(role, gone, hours{1}, now);
    EXPECT_TRUE(ours.revoke_user(gone));
    EXPECT_TRUE(wait_until([&] { return !call(user_with(revoked, as), hello(as))->welcome(); }));
    std::vector<Bad> bad{{"none", *TlsClient::make_stranger(ours.authority().cluster())},
                         {"plain", nullptr},
                         {"another cluster", user_with(*other.issue(role, "mallory", hours{1}), as)},
                         {"expired", user_with(*ours.issue(role, "mallory", hours{1}, now - hours{25}), as)},
                         {"not yet valid", user_with(*ours.issue(role, "mallory", hours{48}, now + hours{48}), as)},
                         {"revoked", user_with(revoked, as)},
                         {"TLS 1.2", of_version(user_of(role, as), TLS1_2_VERSION)},
                         {"TLS 1.1", of_version(user_of(role, as), TLS1_1_VERSION)}};
    for (const Role wrong : kRoles)
      if (wrong == Role::Supervisor || wrong == Role::Metrics || (as == PeerRole::Worker && wrong != Role::Worker))
        bad.push_back({"the role " + std::string{to_string(wrong)}, user_of(wrong, as)});
    return bad;
  }
  void expect_refused(const Bad& bad, const Introduction& introduction, const FramePayloadPtr& next,
                      const std::string& cell) {
    const auto caller = call(bad.tls, introduction, next);
    EXPECT_FALSE(caller->welcome()) << bad.what << ": " << cell;
    EXPECT_FALSE(caller->answer && std::holds_alternative<Joined>(*caller->answer)) << bad.what << ": " << cell;
    EXPECT_TRUE(caller->told.empty()) << bad.what << ": " << cell;
  }
};

TEST_F(BadCredentials, LeadToNothingInAnyMessage) {
  const std::string before = look(hers_runs_) + look(hers_done_);
  for (const Bad& bad : all(PeerRole::Client))
    for (const FromClient& message : every_client_message(hers_done_))
      expect_refused(bad, hello(PeerRole::Client), encode(std::span{&message, 1}), name_of(message));
  for (const Bad& bad : all(PeerRole::Worker))
    for (const FromWorker& message : every_worker_message(hers_runs_, "w1"))
      expect_refused(bad, hello(PeerRole::Worker), encode(std::span{&message, 1}), std::to_string(message.index()));
  EXPECT_EQ(look(hers_runs_) + look(hers_done_), before);
  EXPECT_EQ(all_of("workers"), "w1 ");
  EXPECT_EQ(all_of("jobs"), "of-ada-runs of-ada-done ");
}

TEST_F(BadCredentials, LeadToNoCertificate) {
  Joined given{"certificate", "authority"};
  for (const PeerRole as : {PeerRole::Worker, PeerRole::Client})
    for (const Bad& bad : all(as))
      for (const std::string& token : {std::string{}, "penstock-" + name_of_cluster() + "-0badc0de-0badc0de"})
        if (!bad.what.starts_with("the role") || !token.empty())  // A certificate may be renewed in its role.
          expect_refused(bad, Join{kProtocolMajor, token, "no key", "root"}, nullptr, "join");
  for (const Introduction& odd : {Introduction{Welcome{}}, Introduction{Refusal{}}, Introduction{given}})
    expect_refused({"a client", user_of(Role::Client, PeerRole::Client)}, odd, nullptr, "odd");
}

/// True once the supervisor has read all that was sent, or has closed.
bool has_arrived(Loop& loop, const Caller& caller) {
  return turn_until(loop, [&] { return caller.end || caller.acknowledged() >= caller.sent(); });
}

// A worker that somebody has taken over reports about what another one runs, and takes its name.
TEST_F(RightsMatrix, AWorkerSpeaksForNoOther) {
  const auto tls = user_of(Role::Worker, PeerRole::Worker);
  const std::string before = look(hers_runs_) + look(hers_done_);
  for (const Subject& job : {hers_runs_, hers_done_, unknown_}) {
    int number = 0;
    for (const FromWorker& message : every_worker_message(job, "w1")) {
      const std::string name = "rogue-" + std::to_string(++number);
      const auto caller = call(tls, hello(PeerRole::Worker, name));
      ASSERT_TRUE(caller->welcome());
      Register description;
      description.name = name;
      if (!std::holds_alternative<Register>(message)) caller->say(std::vector<FromWorker>{description});
      caller->say(std::vector<FromWorker>{message});
      EXPECT_TRUE(has_arrived(loop_, *caller));
      EXPECT_EQ(look(hers_runs_) + look(hers_done_), before) << message.index();
    }
  }
  EXPECT_EQ(call(tls, hello(PeerRole::Worker, "w1"))->refused(), ErrorCode::NameTaken);
  EXPECT_NE(all_of("workers").find("w1 "), std::string::npos);
}

// Messages for one kind of peer that come over the link of another.
TEST_F(RightsMatrix, MessagesOfAnotherUnionDoNothing) {
  const std::string before = look(hers_runs_) + look(hers_done_) + all_of("workers") + all_of("jobs");
  for (const FromWorker& message : every_worker_message(hers_runs_, "w1")) {
    const auto caller = call(user_of(Role::Client, PeerRole::Client), hello(PeerRole::Client));
    caller->say(std::vector<FromWorker>{message});
    EXPECT_TRUE(has_arrived(loop_, *caller));
  }
  for (const FromClient& message : every_client_message(hers_runs_)) {
    const auto caller = call(user_of(Role::Worker, PeerRole::Worker), hello(PeerRole::Worker));
    caller->say(std::vector<FromClient>{message});
    EXPECT_TRUE(has_arrived(loop_, *caller));
  }
  EXPECT_EQ(look(hers_runs_) + look(hers_done_) + all_of("workers") + all_of("jobs"), before);
}

}  // namespace
}  // namespace penstock
