// Limits of each user, with real credentials against a real supervisor: one user is at its limits, and another one
// notices nothing.
#include <gtest/gtest.h>

#include <future>
#include <map>

#include "client/src/transport.hpp"
#include "common/host/clock.hpp"
#include "common/net/secure_stream.hpp"
#include "common/security/credential_store.hpp"
#include "common/security/registrar.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

using std::chrono::seconds;

/// One subtask that sleeps for longer than any test.
Graph sleeper() {
  Graph graph;
  graph.templates.resize(1);
  graph.templates[0].runner = RunnerKind::Command;
  graph.templates[0].program = "sleep";
  graph.templates[0].arguments = {"1000"};
  graph.template_of = {0};
  graph.input_offsets = {0, 0};
  return graph;
}

class UserLimitsTest : public testing::Test {
 protected:
  void SetUp() override {
    // No host of the tests has accounts of these users.
    cluster_.start_worker(
        "w1", {"--slots", "4", "--no-gpus", "--set", "worker.run_as=worker", "--set", "worker.accept_users=[\"*\"]"});
    ASSERT_TRUE(cluster_.wait_for_workers(1));
  }

  client::Session& session_of(const std::string& user) {
    std::unique_ptr<client::Session>& session = sessions_[user];
    if (session != nullptr) return *session;
    const Registrar ours = std::move(Registrar::open(cluster_.path_of("penstock/supervisor/authority"))).value();
    const Credential made = *ours.issue(Role::Client, user, std::chrono::hours{1}, calendar_now());
    const Credential filed{share(made.key.get()), share(made.certificate.get()),
                           share(&ours.authority().certificate())};
    const CredentialStore store{scratch_.at("user-" + user)};
    EXPECT_TRUE(store.save(ours.authority().cluster(), Role::Client, filed));
    client::RemoteOptions options;
    options.supervisors = {{"127.0.0.1", cluster_.port()}};
    options.tls = *TlsClient::make(store, PeerRole::Client);
    session = std::make_unique<client::Session>();
    session->start(*client::connect_remote(options, session->handlers()));
    return *session;
  }
  /// The words of the refusal; empty: the job was accepted.
  std::string submit(const std::string& user, const std::string& name = "") {
    JobSpec spec;
    spec.name = name;
    const auto submitted = session_of(user).submit(spec, sleeper());
    if (submitted) last_ = submitted->job;
    if (submitted) return "";
    code_ = submitted.error().code;
    return to_string(submitted.error());
  }
  std::string users() {
    const Result<Value> answer = cluster_.connect()->ask("users", {});
    std::string text;
    for (const Value& row : *answer->list())
      text += *row["user"].text() + ":" + std::to_string(*row["jobs"].integer()) + " ";
    return text;
  }

  ScratchDirectory scratch_;
  ClusterProcesses cluster_{
      {"--set", "users.jobs_max=2", "--set", "users.requests_per_second=20", "--set", "users.requests_burst=5"}};
  std::map<std::string, std::unique_ptr<client::Session>> sessions_;
  JobId last_;
  ErrorCode code_{};  ///< Of the last refusal.
};

TEST_F(UserLimitsTest, AUserWithAllItsJobsIsRefusedWithTheWordsAndAnotherOneIsNot) {
  EXPECT_EQ(submit("ada"), "");
  EXPECT_EQ(submit("ada"), "") << "at the limit";
  const JobId second = last_;
  const std::string refused = submit("ada");
  EXPECT_EQ(code_, ErrorCode::LimitExceeded);
  EXPECT_NE(refused.find("user 'ada': has 2 jobs that have not ended, and `users.jobs_max` is 2"), std::string::npos)
      << refused;
  EXPECT_NE(refused.find("raise `users.jobs_max`"), std::string::npos) << refused;
  EXPECT_EQ(submit("bob"), "");
  EXPECT_EQ(users(), "ada:2 bob:1 ");
  ASSERT_TRUE(session_of("ada").ask("cancel", {to_string(second)}).has_value());
  ASSERT_EQ(*session_of("ada").wait(second, seconds{20}), JobState::Cancelled);
  EXPECT_EQ(submit("ada"), "") << "one has ended";
}

TEST_F(UserLimitsTest, TheCountsOutliveTheSupervisor) {
  EXPECT_EQ(submit("ada", "one"), "");
  EXPECT_EQ(submit("ada", "two"), "");
  cluster_.kill_supervisor();
  cluster_.restart_supervisor();
  EXPECT_NE(submit("ada", "three").find("users.jobs_max"), std::string::npos);
  EXPECT_EQ(submit("ada", "two"), "") << "a repetition is no further job";
  EXPECT_EQ(users(), "ada:2 ");
}

// 40 requests at once: 5 pass, and the others one each 50 ms, as their client sends them again.
TEST_F(UserLimitsTest, AFloodOfOneUserIsSlowedDownAndLosesNothing) {
  constexpr int kQuestions = 40;
  client::Session& ada = session_of("ada");
  client::Session& bob = session_of("bob");
  const Instant begin = monotonic_now();
  std::vector<std::future<bool>> asked;
  for (int i = 0; i < kQuestions; ++i)
    asked.push_back(std::async(std::launch::async, [&] { return ada.ask("jobs", {}).has_value(); }));
  const Instant before = monotonic_now();
  EXPECT_TRUE(bob.ask("jobs", {}).has_value());
  EXPECT_EQ(submit("bob"), "");
  const Duration of_bob = monotonic_now() - before;
  for (std::future<bool>& each : asked) EXPECT_TRUE(each.get());
  const Duration of_ada = monotonic_now() - begin;
  EXPECT_GE(of_ada, std::chrono::milliseconds{50} * (kQuestions - 5));
  EXPECT_LT(of_bob, of_ada / 2);
}

/// Without certificates the user is the stated one.
TEST(InsecureUserLimits, CountTheStatedUser) {
  ClusterProcesses cluster{{"--insecure", "--set", "users.jobs_max=1"}};
  cluster.start_worker(
      "w1", {"--slots", "1", "--no-gpus", "--set", "worker.run_as=worker", "--set", "worker.accept_users=[\"*\"]"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const auto submit = [&](const std::string& user) {
    JobSpec spec;
    spec.owner = user;
    const auto submitted = session->submit(spec, sleeper());
    return submitted ? "" : submitted.error().subject;
  };
  EXPECT_EQ(submit("ada"), "");
  EXPECT_EQ(submit("ada"), "user 'ada'");
  EXPECT_EQ(submit("bob"), "");
}

}  // namespace
}  // namespace penstock
