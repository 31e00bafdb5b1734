// A job ends at its time limit.
#include "supervisor/core/runs/time_limits.hpp"

#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"
#include "tests/support/time_limit_words.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

FailureDetail worth_a_retry() {
  FailureDetail detail;
  detail.failure = FailureClass::UserError;
  return detail;
}

/// A job that is written down runs for a second.
void begin_a_run(JournalHarness& cluster, const Graph& graph, Duration limit) {
  cluster->join();
  cluster->submit(graph, limited(limit));
  cluster.write_all();
  run_for_a_second(cluster.life());
}

TEST(TimeLimits, AJobIsStoppedAtItsLimitAndHasFailed) {
  SupervisorHarness cluster{{.lookahead_subtasks_max = 4, .lookahead_subtasks_initial = 1}};
  cluster.join({.slots = 1});
  cluster.submit(GraphBuilder{}.sources(40).build(), limited(10s));
  run_for_a_second(cluster);
  cluster.tick_after(8999ms);
  EXPECT_FALSE(cluster.job().status.cancelling);
  PENSTOCK_EXPECT_COVERAGE_MARK("a job was ended at its time limit", cluster.tick_at_deadline());
  EXPECT_TRUE(cluster.job().status.cancelling);
  const auto orders = cluster.take<CancelBatch>();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_TRUE(orders[0].second.whole_job);
  EXPECT_EQ(orders[0].second.kill_after, kDefaultGrace) << "with the grace of the template";
  EXPECT_EQ(cluster.phase(39), SubtaskPhase::Cancelled) << "it never runs";
  for (std::uint32_t subtask = 0; subtask < 40 && cluster.state() == JobState::Running; ++subtask)
    if (cluster.phase(subtask) == SubtaskPhase::Assigned) cluster.say(1, subtask, Outcome::Cancelled);
  EXPECT_EQ(cluster.state(), JobState::Failed);
  EXPECT_EQ(to_string(*cluster.job().status.error),
            "job 'night': was ended because it has reached its time_limit of 10s (raise time_limit (`submit "
            "--time-limit`; in a job file, `job_time_limit`))");
  EXPECT_EQ(cluster.job().status.error->code, ErrorCode::TimedOut);
  cluster.ignore();
}

TEST(TimeLimits, WaitingInTheQueueDoesNotCount) {
  SupervisorHarness cluster;
  cluster.submit(GraphBuilder{}.sources(1).build(), limited(10s));
  cluster.tick_after(60s);
  EXPECT_EQ(left(cluster), -1);
  cluster.join();
  cluster.tick_after(60s);
  EXPECT_FALSE(cluster.job().status.cancelling) << "it was given out, and no run was heard of";
  run_for_a_second(cluster);
  EXPECT_EQ(left(cluster), 9);
  EXPECT_EQ(*(*cluster.ask("job", {"night"}))["time_limit_s"].number(), 10);
  cluster.tick_after(9s);
  EXPECT_TRUE(cluster.job().status.cancelling);
  cluster.ignore();
}

TEST(TimeLimits, AJobWithinItsLimitEndsAsItWould) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.chain(2).build(), limited(10s));
  run_for_a_second(cluster);
  cluster.succeed(1, 0);
  cluster.tick_after(5s);
  cluster.succeed(1, 1);
  EXPECT_EQ(cluster.state(), JobState::Succeeded);
  cluster.tick_after(60s);
  EXPECT_EQ(cluster.job().status.state, JobState::Succeeded);
  EXPECT_EQ(left(cluster), -1);
  cluster.ignore();
}

TEST(TimeLimits, AShortRunCountsByItsEndAndFailuresDoNotStopTheTime) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.chain(2).build(), limited(10s));
  cluster.assigned();
  cluster.succeed(1, 0);
  EXPECT_NEAR(left(cluster), 10, 0.1);
  cluster.tick_after(4s);
  cluster.fail(1, 1, worth_a_retry());
  cluster.tick_after(2s);
  EXPECT_NEAR(left(cluster), 4, 0.1);
  cluster.tick_after(4s);
  EXPECT_TRUE(cluster.job().status.cancelling);
  cluster.ignore();
}

// As a job that was put back into the queue of a cluster begins anew.
TEST(TimeLimits, ALimitBeginsAnewWithTheNextRunWhenTheLastWasTakenFromTheJob) {
  for (const bool lost : {true, false}) {
    SupervisorHarness cluster;
    cluster.join();
    cluster.join();
    GraphBuilder graph;
    graph.template_at(0).preferred = {"worker-1", ""};
    cluster.submit(graph.sources(1).build(), limited(10s));
    run_for_a_second(cluster);
    cluster.tick_after(8s);
    if (lost) {
      PENSTOCK_EXPECT_COVERAGE_MARK("a time limit begins anew", cluster.lose(1));
    } else {
      ASSERT_TRUE(cluster.ask("drain", {"worker-1", "--now"}).has_value());
      PENSTOCK_EXPECT_COVERAGE_MARK("a time limit begins anew", cluster.say(1, 0, Outcome::Returned));
    }
    cluster.tick_after(5s);
    EXPECT_FALSE(cluster.job().status.cancelling) << lost;
    EXPECT_EQ(left(cluster), -1) << lost;
    run_for_a_second(cluster, 2);
    EXPECT_EQ(left(cluster), 9) << lost;
    cluster.alerts();
    cluster.ignore();
  }
}

TEST(TimeLimits, AJobThatGoesOnElsewhereHasNoNewLimitForALostRun) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(2).build(), limited(10s));
  run_for_a_second(cluster);
  cluster.tick_after(4s);
  cluster.lose(1);
  EXPECT_EQ(left(cluster), 5);
  cluster.alerts();
  cluster.ignore();
}

TEST(TimeLimits, AnUnstartedAttemptThatIsGivenBackChangesNothing) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.chain(2).build(), limited(10s));
  run_for_a_second(cluster);
  cluster.succeed(1, 0);
  cluster.say(1, 1, Outcome::Returned);
  EXPECT_EQ(cluster.job().tally.in_flight, 0U);
  EXPECT_EQ(left(cluster), 9);
  cluster.ignore();
}

TEST(TimeLimits, ARestartOfTheSupervisorDoesNotStopTheTime) {
  JournalHarness cluster;
  begin_a_run(cluster, GraphBuilder{}.chain(2).build(), 60s);
  cluster.write_all();
  const std::uint64_t attempt = cluster->job().hot[0].attempt;
  cluster->ignore();
  cluster.restart_for_claims(30s);
  EXPECT_EQ(cluster->job().spec.time_limit, 60s);
  ClaimedJob claimed;
  claimed.job = JobId{1};
  claimed.attempts = {{SubtaskIndex{0}, Attempt{attempt}, BandIndex{0}}};
  cluster->come_back(1, {.reports = {}, .jobs = {claimed}});
  cluster.write_all();
  EXPECT_NEAR(left(cluster.life()), 29, 0.2);
  cluster->tick_after(29s);
  EXPECT_TRUE(cluster->job().status.cancelling);
  cluster->alerts();
  cluster->ignore();
}

TEST(TimeLimits, AJobWhoseRunsDidNotComeBackAfterARestartBeginsAnew) {
  JournalHarness cluster;
  begin_a_run(cluster, GraphBuilder{}.chain(2).build(), 60s);
  cluster.write_all();
  cluster.restart(300s);
  cluster.write_all();
  EXPECT_EQ(cluster->state(), JobState::Running) << "the time without a supervisor is no reason to end it";
  EXPECT_EQ(left(cluster.life()), -1);
  cluster->ignore();
}

TEST(TimeLimits, AJobThatIsBeingEndedAtItsLimitIsEndedAfterARestartToo) {
  JournalHarness cluster;
  begin_a_run(cluster, GraphBuilder{}.sources(1).build(), 2s);
  cluster->tick_after(2s);
  cluster.write_all();
  cluster.restart();
  cluster.write_all();
  EXPECT_EQ(cluster->state(), JobState::Failed);
  EXPECT_EQ(cluster->job().status.error->code, ErrorCode::TimedOut);
  cluster->ignore();
}

TEST(TimeLimits, WhatNoJobCanHaveIsRefusedWhole) {
  SupervisorHarness cluster;
  for (const Duration bad : {Duration{-5s}, Duration{1}, Duration::max()}) {
    EXPECT_FALSE(cluster.submit(GraphBuilder{}.sources(1).build(), limited(bad)).valid());
    EXPECT_EQ(cluster.refusal().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(cluster.refusal().subject, "time_limit of job 'night'");
  }
  EXPECT_TRUE(cluster.submit(GraphBuilder{}.sources(1).build(), limited(1ms)).valid());
}

}  // namespace
}  // namespace penstock::supervisor
