// Jobs that have ended: for how long they are remembered, and how they are found.
#include <gtest/gtest.h>

#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

JobSpec named(const std::string& name, const std::string& owner = "") {
  JobSpec spec;
  spec.name = name;
  spec.owner = owner;
  spec.keep = Keep::Nothing;
  return spec;
}

/// A supervisor with one worker; its jobs have one subtask each.
class HistoryTest : public ::testing::Test {
 protected:
  explicit HistoryTest(const SupervisorConfig& config = {}) : cluster(config) { begin(); }

  void begin() {
    cluster->join();
    cluster.write_all();
  }
  void restart(Duration down = seconds{0}) {
    cluster.restart(down);
    begin();
    cluster->ignore();
  }
  std::uint32_t run(const std::string& name, Outcome outcome = Outcome::Succeeded, const std::string& owner = "") {
    GraphBuilder builder;
    builder.sources(1);
    builder.template_at(0).attempts_max = 1;
    cluster->submit(builder.build(), named(name, owner));
    const std::uint32_t job = ++jobs;
    cluster.write_all();
    if (outcome == Outcome::Succeeded)
      cluster->succeed(1, 0, {}, job);
    else
      cluster->fail(1, 0, FailureClass::UserError, job);
    cluster.write_all();
    cluster->ignore();
    return job;
  }
  /// Names of what `jobs` lists, in order.
  Lines list(const std::vector<std::string>& arguments) {
    const Result<Value> answer = cluster->ask("jobs", arguments);
    EXPECT_TRUE(answer.has_value()) << to_string(answer.error());
    Lines names;
    if (answer)
      for (const Value& row : *answer->list()) names.push_back(*row["name"].text());
    return names;
  }
  bool is_known(std::uint32_t job) { return cluster->core().find_job(JobId{job}) != nullptr; }

  JournalHarness cluster;
  std::uint32_t jobs = 0;
};

TEST_F(HistoryTest, TheLastToEndIsTheFirstInTheList) {
  run("one");
  run("two");
  EXPECT_EQ(list({}), Lines{});
  EXPECT_EQ(list({"--all"}), (Lines{"two", "one"}));
  restart();
  EXPECT_EQ(list({"--all"}), (Lines{"two", "one"})) << "also in the next life";
}

TEST_F(HistoryTest, FiltersNarrowTheList) {
  run("night-1", Outcome::Succeeded, "ada");
  run("night-2", Outcome::Failed, "bob");
  run("day", Outcome::Failed, "ada");
  cluster->submit(GraphBuilder{}.sources(1).build(), named("night-3", "ada"));
  cluster.write_all();
  cluster->ignore();
  EXPECT_EQ(list({"--all", "--name=night*"}), (Lines{"night-3", "night-2", "night-1"}));
  EXPECT_EQ(list({"--all", "--owner=ada"}), (Lines{"night-3", "day", "night-1"}));
  EXPECT_EQ(list({"--state=failed"}), (Lines{"day", "night-2"}));
  EXPECT_EQ(list({"--state=running"}), Lines{"night-3"});
  EXPECT_EQ(list({"--state=failed", "--name=night-?"}), Lines{"night-2"});
  EXPECT_EQ(list({"--all", "--limit=2"}), (Lines{"night-3", "day"}));
  EXPECT_EQ(list({"--all", "--limit=0"}), Lines{});
}

TEST_F(HistoryTest, SinceCountsOverARestart) {
  run("old");
  restart(hours{5});
  run("new");
  EXPECT_EQ(list({"--all", "--since=6h"}), (Lines{"new", "old"}));
  EXPECT_EQ(list({"--all", "--since=4h"}), Lines{"new"});
}

TEST_F(HistoryTest, WhatIsNoFilterIsRefusedByName) {
  for (const char* wrong : {"--state=lost", "--since=yesterday", "--limit=few", "--limit=-1"}) {
    const Result<Value> answer = cluster->ask("jobs", {"--all", wrong});
    EXPECT_FALSE(answer.has_value()) << wrong;
    EXPECT_TRUE(answer.has_value() || answer.error().code == ErrorCode::InvalidArgument) << wrong;
  }
}

TEST_F(HistoryTest, ARunningJobIsAsOldAfterARestartAsItIs) {
  cluster->submit(GraphBuilder{}.sources(1).build(), named("long"));
  ++jobs;
  cluster.write_all();
  restart(hours{2});
  const Result<Value> answer = cluster->ask("jobs");
  ASSERT_TRUE(answer.has_value());
  EXPECT_NEAR(*answer->list()->at(0)["age_s"].number(), 7200.0, 60.0);
  cluster->ignore();
}

TEST_F(HistoryTest, AWallClockThatJumpsBackMakesNobodyYounger) {
  run("one");
  restart(hours{-48});
  EXPECT_EQ(list({"--all", "--since=1h"}), Lines{"one"});
  EXPECT_TRUE(is_known(1));
}

class ShortHistoryTest : public HistoryTest {
 protected:
  ShortHistoryTest() : HistoryTest(SupervisorConfig{.finished_jobs_age_max = hours{24}}) {}
};

TEST_F(ShortHistoryTest, JobsAgeOutWhileNothingElseHappens) {
  run("one");
  cluster->tick_after(hours{23});
  EXPECT_TRUE(is_known(1));
  const std::optional<Instant> deadline = cluster->core().next_deadline();
  ASSERT_TRUE(deadline.has_value());
  EXPECT_LE(*deadline, cluster->now() + hours{1});
  cluster->tick_after(hours{1});
  EXPECT_FALSE(is_known(1));
  cluster.write_all();
  cluster.restart();
  EXPECT_FALSE(is_known(1));
  EXPECT_EQ(cluster->core().next_deadline(), std::nullopt);
}

TEST_F(ShortHistoryTest, AndWhileNobodyIsThere) {
  run("one");
  restart(hours{25});
  EXPECT_FALSE(is_known(1));
}

class SmallHistoryTest : public HistoryTest {
 protected:
  SmallHistoryTest() : HistoryTest(SupervisorConfig{.finished_jobs_bytes_max = 64 << 10}) {}
};

TEST_F(SmallHistoryTest, TheOldestGoWhenAllTakeTooMuch) {
  std::uint32_t last = 0;
  for (int i = 0; i < 200; ++i) last = run("run-" + std::to_string(i));
  EXPECT_FALSE(is_known(1));
  EXPECT_TRUE(is_known(last));
  EXPECT_GT(list({"--all"}).size(), 5U);
  EXPECT_LT(list({"--all"}).size(), 64U << 10 >> 9) << "a job takes over half a kilobyte";
}

TEST_F(SmallHistoryTest, TheOneThatHasJustEndedStaysHoweverLargeItIs) {
  cluster->submit(GraphBuilder{}.sources(1).build(), named("large"));
  cluster.write_all();
  FailureDetail detail;
  detail.failure = FailureClass::UserError;
  detail.output_tail.assign(100'000, 'x');
  for (int attempt = 0; attempt < 3; ++attempt) {
    cluster->fail(1, 0, detail);
    cluster->tick_after(seconds{30});
    cluster.write_all();
  }
  EXPECT_EQ(cluster->state(), JobState::Failed);
  cluster->ignore();
}

/// A job with one kept output.
class KeptByOrderTest : public ::testing::Test {
 protected:
  KeptByOrderTest() : cluster(SupervisorConfig{.finished_jobs_age_max = hours{1}}) {
    cluster->join();
    cluster->submit(GraphBuilder{}.sources(1).build());
    cluster.write_all();
  }
  void end() {
    cluster->succeed(1, 0, {{0, 30}});
    cluster.write_all();
    cluster->ignore();
  }
  void order(const char* command) { EXPECT_EQ(answer_to(command, "1").refusal.message, ""); }
  AdminAnswer answer_to(const char* command, const char* job) {
    cluster->client_says(AdminRequest{1, command, {job}, {}});
    cluster.write_all();
    const std::vector<AdminAnswer> answers = cluster->take_for<AdminAnswer>();
    EXPECT_EQ(answers.size(), 1U);
    return answers.empty() ? AdminAnswer{} : answers[0];
  }
  std::size_t outputs() {
    const Job* job = cluster->core().find_job(JobId{1});
    return job == nullptr ? 0 : job->outputs.locations.size();
  }
  bool is_forgotten() {
    cluster.write_all();
    const auto told = cluster->take<ForgetJob>();
    return std::any_of(told.begin(), told.end(), [](const auto& each) { return each.second.job == JobId{1}; });
  }

  JournalHarness cluster;
};

TEST_F(KeptByOrderTest, OutputsStayWithoutAClientUntilTheyAreKeptNoMore) {
  end();
  order("keep");
  EXPECT_EQ((*cluster->ask("job", {"1"}))["kept"], Value{true});
  cluster->client_says(ReleaseJob{JobId{1}});
  cluster->client_says(ReleaseOutputs{.job = JobId{1}, .subtasks = {{SubtaskIndex{0}, SubtaskIndex{0}}}});
  cluster->tick_after(hours{48});
  EXPECT_EQ(outputs(), 1U);
  EXPECT_FALSE(is_forgotten());
  order("unkeep");
  EXPECT_EQ(outputs(), 0U);
  EXPECT_TRUE(is_forgotten());
  cluster->ignore();
}

TEST_F(KeptByOrderTest, TheOrderIsKnownAfterARestart) {
  order("keep");
  cluster.restart();
  EXPECT_EQ((*cluster->ask("job", {"1"}))["kept"], Value{true}) << "of a job that runs";
  cluster->join();
  cluster.write_all();
  cluster->client_says(ReleaseJob{JobId{1}});
  end();
  EXPECT_EQ(outputs(), 1U);
  cluster.restart(hours{48});
  EXPECT_EQ((*cluster->ask("job", {"1"}))["kept"], Value{true}) << "of one that has ended";
  order("unkeep");
  cluster.restart();
  const Result<Value> after = cluster->ask("job", {"1"});
  EXPECT_TRUE(!after || (*after)["kept"] != Value{true});
  cluster->ignore();
}

TEST_F(KeptByOrderTest, AnOutputThatAClientNeedsStaysWhenTheOrderEnds) {
  end();
  order("keep");
  order("unkeep");
  EXPECT_EQ(outputs(), 1U);
  cluster->ignore();
}

TEST_F(KeptByOrderTest, WhatIsGoneIsRefused) {
  end();
  cluster->client_says(ReleaseJob{JobId{1}});
  EXPECT_EQ(answer_to("keep", "1").refusal.code, ErrorCode::NotFound);
  EXPECT_EQ(answer_to("keep", "9").refusal.code, ErrorCode::NotFound);
  cluster->ignore();
}

}  // namespace
}  // namespace penstock::supervisor
