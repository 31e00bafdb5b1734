#include "supervisor/core/lifecycle/nested_runs.hpp"

#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

constexpr JobIdentity kIdentity{1, 1};

/// Job 1 has so many independent subtasks, all of which run on one worker.
class NestedRunsTest : public ::testing::Test {
 protected:
  explicit NestedRunsTest(const SupervisorConfig& config = {}) : cluster(config) {}

  void begin(std::uint32_t subtasks, JobSpec spec = {}) {
    cluster->join({.slots = subtasks + 4});
    cluster.write_all();
    cluster->next_identity = kIdentity;
    cluster->submit(GraphBuilder{}.sources(subtasks).build(), std::move(spec));
    cluster->next_identity = {};
    cluster.write_all();
    cluster->ignore();
  }
  ParentRun run_of(std::uint32_t subtask, std::uint32_t job = 1) {
    return {{JobId{job}, SubtaskIndex{subtask}},
            Attempt{cluster->job(job).hot[subtask].attempt},
            job == 1 ? kIdentity : JobIdentity{}};
  }
  JobId submit_in(const ParentRun& run, JobSpec spec = {}) {
    spec.parent = Seldom{run};
    cluster->submit(GraphBuilder{}.sources(1).build(), std::move(spec));
    return written();
  }
  /// The job of the acceptance that waits for the disk; none: it was refused.
  JobId written() {
    cluster.write_all();
    const std::vector<SubmitReply> replies = cluster->take_for<SubmitReply>();
    return replies.empty() ? JobId::none() : replies.back().job;
  }
  JobState state(JobId job) { return cluster->state(job.value()); }

  JournalHarness cluster;
};

TEST_F(NestedRunsTest, AJobTakesAfterTheJobOfItsRun) {
  JobSpec spec;
  spec.owner = "anna";
  spec.priority = 7;
  spec.policy.queue = "night";
  spec.policy.gang = 2;
  spec.policy.slots_max = 3;
  begin(2, spec);
  JobSpec wished;
  wished.owner = "otto";
  wished.priority = 99;
  const JobId child = submit_in(run_of(0), wished);
  const JobSpec& given = cluster->job(child.value()).spec;
  EXPECT_EQ(given.owner, "anna");
  EXPECT_EQ(given.priority, 7);
  EXPECT_EQ(given.policy.queue, "night");
  EXPECT_EQ(given.policy.gang, 0U);
  EXPECT_EQ(given.policy.slots_max, 0U);
  EXPECT_EQ(given.parent->depth, 1U);
  const JobId grandchild = submit_in(run_of(0, child.value()));
  EXPECT_EQ(cluster->job(grandchild.value()).spec.parent->depth, 2U);
  EXPECT_GT(cluster->job(grandchild.value()).precedence(), cluster->job(child.value()).precedence());
  cluster->ignore();
}

TEST_F(NestedRunsTest, TheMoreDeeplyNestedIsServedFirstAndNeverBeforeAHigherPriority) {
  begin(1);
  const JobId child = submit_in(run_of(0));
  cluster->ignore();
  JobSpec urgent;
  urgent.priority = 1;
  cluster->submit(GraphBuilder{}.sources(1).build(), urgent);
  const JobId other = written();
  cluster->submit(GraphBuilder{}.sources(1).build());
  const JobId equal = written();
  const Job& nested = cluster->job(child.value());
  EXPECT_GT(cluster->job(other.value()).precedence(), nested.precedence());
  EXPECT_LT(cluster->job(equal.value()).precedence(), nested.precedence());
  EXPECT_GT(nested.worker_priority(0), cluster->job(equal.value()).worker_priority(0));
  cluster->ignore();
}

TEST_F(NestedRunsTest, AJobEndsWithItsRun) {
  begin(2);
  const JobId child = submit_in(run_of(0));
  const JobId cousin = submit_in(run_of(1));
  cluster->ignore();
  PENSTOCK_EXPECT_COVERAGE_MARK("a nested job ended with the run that had submitted it", cluster->succeed(1, 0));
  EXPECT_EQ(cluster->cancels(), Lines{"all at w1"});
  EXPECT_TRUE(cluster->job(child.value()).status.cancelling);
  EXPECT_FALSE(cluster->job(cousin.value()).status.cancelling);
  cluster->say(1, 0, Outcome::Cancelled, child.value());
  cluster.write_all();
  EXPECT_EQ(state(child), JobState::Cancelled);
  EXPECT_EQ(cluster->job(child.value()).status.error->message, "has ended, and with it the jobs that it had submitted");
  cluster->ignore();
}

TEST_F(NestedRunsTest, ANameIsFreeWhenTheRunOfItsJobIsOver) {
  begin(1);
  JobSpec spec;
  spec.name = "nightly";
  const JobId child = submit_in(run_of(0), spec);
  cluster->succeed(1, 0);
  cluster->submit(GraphBuilder{}.sources(1).build(), spec);
  const JobId other = written();
  EXPECT_NE(other, child);
  EXPECT_FALSE(cluster->job(other.value()).spec.parent.any());
  cluster->say(1, 0, Outcome::Cancelled, child.value());
  EXPECT_TRUE(cluster->ask("job", {"nightly"}));
  cluster->ignore();
}

TEST_F(NestedRunsTest, AFailedRunEndsItsJobsAndTheNextAttemptHasItsOwn) {
  begin(1);
  const ParentRun first = run_of(0);
  const JobId child = submit_in(first);
  cluster->ignore();
  cluster->fail(1, 0, FailureClass::RunnerCrash);
  EXPECT_TRUE(cluster->job(child.value()).status.cancelling);
  cluster->say(1, 0, Outcome::Cancelled, child.value());
  cluster.write_all();
  while (cluster->phase(0) != SubtaskPhase::Assigned) cluster->tick_at_deadline();
  const ParentRun second = run_of(0);
  EXPECT_NE(second.attempt, first.attempt);
  EXPECT_TRUE(submit_in(second).valid());
  EXPECT_FALSE(submit_in(first).valid()) << "the run is over";
  EXPECT_EQ(cluster->refusal().code, ErrorCode::WrongState);
  cluster->ignore();
}

TEST_F(NestedRunsTest, ACancelledJobTakesThoseOfItsRunsWithItDownToTheLast) {
  begin(1);
  const JobId child = submit_in(run_of(0));
  const JobId grandchild = submit_in(run_of(0, child.value()));
  cluster->ignore();
  cluster->client_says(AdminRequest{1, "cancel", {"job-1"}, {}});
  cluster.write_all();
  cluster->say(1, 0, Outcome::Cancelled);
  cluster.write_all();
  ASSERT_TRUE(cluster->job(child.value()).status.cancelling);
  cluster->say(1, 0, Outcome::Cancelled, child.value());
  EXPECT_TRUE(cluster->job(grandchild.value()).status.cancelling);
  cluster->ignore();
}

TEST_F(NestedRunsTest, WhatItsEndedJobsKeepIsReleasedWithTheRun) {
  begin(1);
  const JobId child = submit_in(run_of(0));
  cluster->succeed(1, 0, {{0, 100}}, child.value());
  cluster.write_all();
  ASSERT_EQ(cluster->job(child.value()).outputs.locations.size(), 1U);
  cluster->ignore();
  cluster->succeed(1, 0);
  EXPECT_EQ(cluster->job(child.value()).outputs.locations.size(), 0U);
  cluster->ignore();
}

TEST_F(NestedRunsTest, AnOperatorSeesWhoHasSubmittedWhat) {
  begin(1);
  const JobId child = submit_in(run_of(0));
  for (int i = 0; i < 3; ++i) submit_in(run_of(0));
  const Result<Value> job = cluster->ask("job", {to_string(child)});
  ASSERT_TRUE(job) << to_string(job.error());
  EXPECT_EQ((*job)["parent"], Value{"1:0, attempt 1"});
  EXPECT_EQ((*job)["depth"], Value{1});
  cluster->client_says(AdminRequest{7, "explain", {"job-1", "0"}, {}});
  const auto questions = cluster->take<ExplainQuestion>();
  ASSERT_EQ(questions.size(), 1U);
  cluster->worker_says(1, ExplainAnswer{questions[0].second.question, true, "Yielded", ""});
  const std::vector<AdminAnswer> answers = cluster->take_for<AdminAnswer>();
  ASSERT_EQ(answers.size(), 1U);
  const std::string reason = *answers[0].value["reason"].text();
  EXPECT_NE(reason.find("; it has submitted job-2, job-3, job-4 and 1 more"), std::string::npos) << reason;
  cluster->ignore();
}

TEST_F(NestedRunsTest, AReleasedJobIsForgottenAtItsEnd) {
  begin(1);
  const JobId child = submit_in(run_of(0));
  const std::string name = to_string(child);
  cluster->succeed(1, 0, {{0, 100}}, child.value());
  cluster.write_all();
  EXPECT_TRUE(cluster->ask("job", {name}));
  PENSTOCK_EXPECT_COVERAGE_MARK("a nested job was forgotten", cluster->client_says(ReleaseJob{child}));
  EXPECT_EQ(cluster->ask("job", {name}).error().code, ErrorCode::NotFound);
  cluster.write_all();
  cluster.restart();
  EXPECT_EQ(cluster->ask("job", {name}).error().code, ErrorCode::NotFound);
  cluster->ignore();
}

TEST_F(NestedRunsTest, AJobThatIsKeptByAnOrderOutlivesItsRun) {
  begin(1);
  const JobId child = submit_in(run_of(0));
  const std::string name = to_string(child);
  cluster->succeed(1, 0, {{0, 100}}, child.value());
  cluster.write_all();
  cluster->client_says(AdminRequest{1, "keep", {name}, {}});
  cluster.write_all();
  cluster->succeed(1, 0);
  cluster.write_all();
  cluster->client_says(ReleaseJob{child});
  EXPECT_EQ(cluster->job(child.value()).outputs.locations.size(), 1U);
  cluster->ignore();
}

// Seed 790339871871568 of the simulator: the job belonged to no run from then on.
TEST_F(NestedRunsTest, AJobThatIsNoLongerKeptEndsWithItsRunAgain) {
  begin(1);
  const JobId child = submit_in(run_of(0));
  const std::string name = to_string(child);
  cluster->client_says(AdminRequest{1, "keep", {name}, {}});
  cluster.write_all();
  PENSTOCK_EXPECT_COVERAGE_MARK("a nested job ends with its run again",
                                cluster->client_says(AdminRequest{2, "unkeep", {name}, {}}));
  cluster.write_all();
  EXPECT_FALSE(cluster->job(child.value()).status.cancelling);
  cluster->succeed(1, 0);
  EXPECT_TRUE(cluster->job(child.value()).status.cancelling);
  cluster->ignore();
}

TEST_F(NestedRunsTest, AJobThatIsNoLongerKeptEndsWhereItsRunHasEnded) {
  begin(1);
  const JobId child = submit_in(run_of(0));
  const std::string name = to_string(child);
  cluster->client_says(AdminRequest{1, "keep", {name}, {}});
  cluster->succeed(1, 0);
  cluster.write_all();
  EXPECT_FALSE(cluster->job(child.value()).status.cancelling);
  cluster->client_says(AdminRequest{2, "unkeep", {name}, {}});
  EXPECT_TRUE(cluster->job(child.value()).status.cancelling);
  cluster->ignore();
}

TEST_F(NestedRunsTest, ARunThatIsNotUnderWayIsRefused) {
  begin(2);
  ParentRun wrong = run_of(0);
  wrong.attempt = Attempt{wrong.attempt.value() + 1};
  ParentRun beyond = run_of(0);
  beyond.id.index = SubtaskIndex{2};
  ParentRun another = run_of(0);
  another.identity = {2, 2};
  ParentRun guessed = run_of(0);
  guessed.identity = {};
  ParentRun unknown = run_of(0);
  unknown.id.job = JobId{44};
  cluster->succeed(1, 1);
  const ParentRun over = run_of(1);
  for (const ParentRun& run : {wrong, beyond, another, guessed, unknown, over}) {
    PENSTOCK_EXPECT_COVERAGE_MARK("a run that is over submits a job", submit_in(run));
    EXPECT_EQ(cluster->refusal().code, ErrorCode::WrongState);
  }
  EXPECT_EQ(cluster->refusal().subject, "1:1, attempt " + std::to_string(over.attempt.value()));
  cluster->ignore();
}

SupervisorConfig bounded() {
  SupervisorConfig config;
  config.nesting_max = 2;
  config.children_max = 2;
  return config;
}
class BoundedNesting : public NestedRunsTest {
 protected:
  BoundedNesting() : NestedRunsTest(bounded()) {}
};

TEST_F(BoundedNesting, DeeperIsRefused) {
  begin(1);
  const JobId one = submit_in(run_of(0));
  const JobId two = submit_in(run_of(0, one.value()));
  ASSERT_TRUE(two.valid());
  EXPECT_FALSE(submit_in(run_of(0, two.value())).valid());
  EXPECT_EQ(cluster->refusal().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(cluster->refusal().remedy, "end the recursion earlier, or raise `supervisor.nesting_max`");
  cluster->ignore();
}

TEST_F(BoundedNesting, MoreJobsOfOneRunAreRefusedUntilOneIsReleased) {
  begin(2);
  const JobId one = submit_in(run_of(0));
  ASSERT_TRUE(submit_in(run_of(0)).valid());
  EXPECT_FALSE(submit_in(run_of(0)).valid());
  EXPECT_EQ(cluster->refusal().code, ErrorCode::LimitExceeded);
  EXPECT_TRUE(submit_in(run_of(1)).valid()) << "another run";
  cluster->succeed(1, 0, {{0, 100}}, one.value());
  cluster.write_all();
  EXPECT_FALSE(submit_in(run_of(0)).valid()) << "its output is still kept";
  cluster->client_says(ReleaseJob{one});
  cluster.write_all();
  EXPECT_TRUE(submit_in(run_of(0)).valid());
  cluster->ignore();
}

class LimitedUser : public NestedRunsTest {
 protected:
  static SupervisorConfig two_jobs() {
    SupervisorConfig config;
    config.users.jobs_max = 2;
    return config;
  }
  LimitedUser() : NestedRunsTest(two_jobs()) {}
};

TEST_F(LimitedUser, JobsOfRunsCountToTheOwnerOfTheirJob) {
  JobSpec spec;
  spec.owner = "anna";
  begin(2, spec);
  JobSpec wished;
  wished.owner = "the worker";
  const JobId child = submit_in(run_of(0), wished);
  ASSERT_TRUE(child.valid()) << "at the limit";
  EXPECT_FALSE(submit_in(run_of(1), wished).valid());
  EXPECT_EQ(cluster->refusal().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(cluster->refusal().subject, "user 'anna'");
  cluster->succeed(1, 0, {}, child.value());
  cluster.write_all();
  EXPECT_TRUE(submit_in(run_of(1), wished).valid()) << "one has ended";
  cluster->ignore();
}

TEST_F(NestedRunsTest, AfterARestartTheyLiveOnIfTheirRunDoes) {
  begin(2);
  const ParentRun stays = run_of(0), goes = run_of(1);
  const JobId lives = submit_in(stays), ends = submit_in(goes);
  cluster.restart_for_claims();
  ClaimedJob claimed;
  claimed.job = JobId{1};
  claimed.identity = kIdentity;
  claimed.attempts = {{SubtaskIndex{0}, stays.attempt, BandIndex{0}}};
  cluster->come_back(1, {.jobs = {claimed}, .spec = {.slots = 6}});
  if (cluster->core().reclaiming()) cluster->tick_at_deadline();
  cluster.write_all();
  EXPECT_FALSE(cluster->job(lives.value()).status.cancelling);
  EXPECT_EQ(cluster->job(lives.value()).spec.parent->depth, 1U);
  EXPECT_EQ(cluster->core().find_job(ends), nullptr) << "nobody follows it";
  cluster->ignore();
}

}  // namespace
}  // namespace penstock::supervisor
