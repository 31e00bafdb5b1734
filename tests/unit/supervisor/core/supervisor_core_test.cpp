// SupervisorCore: events in, actions out, from the first worker to the end of a job.
#include "supervisor/core/supervisor_core.hpp"

#include <gtest/gtest.h>

#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

TEST(SupervisorCore, AWorkerIsGreetedWithItsNumber) {
  SupervisorHarness cluster;
  cluster.join();
  const auto greetings = cluster.take<RegisterReply>();
  ASSERT_EQ(greetings.size(), 1U);
  EXPECT_EQ(greetings[0].second.worker, WorkerId{1});
}

TEST(SupervisorCore, AChainRunsFromEndToEnd) {
  SupervisorHarness cluster;
  cluster.join();
  EXPECT_EQ(cluster.submit(GraphBuilder{}.chain(3).build()), JobId{1});
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w1, cached", "2 to w1, cached"}));
  cluster.succeed(1, 0);
  cluster.succeed(1, 1);
  EXPECT_EQ(cluster.state(), JobState::Running);
  cluster.succeed(1, 2);
  EXPECT_EQ(cluster.state(), JobState::Succeeded);
  EXPECT_EQ(cluster.job().tally.counts.attempts, 3U);
  EXPECT_EQ(cluster.take<ForgetJob>().size(), 1U);
  EXPECT_EQ(cluster.core().workers()[BandSlot{0}].in_flight, 0U);
}

TEST(SupervisorCore, ReportsAreAnsweredWithTheirNumber) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(2).build());
  cluster.assigned();
  cluster.succeed(1, 0);
  cluster.succeed(1, 1);
  const auto applied = cluster.take<ReportsApplied>();
  ASSERT_EQ(applied.size(), 2U);
  EXPECT_EQ(applied[0].second.through, 1U);
  EXPECT_EQ(applied[1].second.through, 2U);
}

TEST(SupervisorCore, ARefusedGraphChangesNothing) {
  SupervisorHarness cluster;
  cluster.join();
  EXPECT_FALSE(cluster.submit(GraphBuilder{}.add({0}).build()).valid());
  EXPECT_EQ(cluster.refusal().code, ErrorCode::SelfDependency);
  EXPECT_FALSE(cluster.submit(GraphBuilder{}.add().build(), {.name = "a\nb"}).valid());
  EXPECT_EQ(cluster.refusal().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(cluster.core().counters().jobs_refused, 2U);
  EXPECT_EQ(cluster.assigned(), Lines{});
  // The next good one is the first job.
  EXPECT_EQ(cluster.submit(GraphBuilder{}.add().build()), JobId{1});
  cluster.assigned();
}

TEST(SupervisorCore, TheSameNameIsTheSameJob) {
  SupervisorHarness cluster;
  cluster.join();
  const JobId job = cluster.submit(GraphBuilder{}.add().build(), {.name = "nightly"});
  EXPECT_EQ(cluster.assigned(), Lines{"0 to w1"});
  EXPECT_EQ(cluster.submit(GraphBuilder{}.add().build(), {.name = "nightly"}), job);
  EXPECT_TRUE(cluster.last_reply().existed);
  EXPECT_EQ(cluster.assigned(), Lines{});
  cluster.succeed(1, 0);
  // Also when it has ended.
  EXPECT_EQ(cluster.submit(GraphBuilder{}.add().build(), {.name = "nightly"}), job);
  EXPECT_EQ(cluster.core().counters().jobs_accepted, 1U);
}

// A client that repeats a submission for want of an answer followed the job twice, and was told everything twice.
TEST(SupervisorCore, SubmittingTwiceIsToldOnce) {
  SupervisorConfig config;
  config.progress_every = std::chrono::seconds{1};
  SupervisorHarness cluster{config};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(3).build(), {.name = "nightly"});
  cluster.assigned();
  cluster.succeed(1, 0);
  cluster.succeed(1, 1);  // Gathered: the first one was told just now.
  cluster.news();
  cluster.submit(GraphBuilder{}.sources(3).build(), {.name = "nightly"});
  std::vector<JobProgress> told = cluster.news();
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back().succeeded, (std::vector<SubtaskRange>{{SubtaskIndex{0}, SubtaskIndex{1}}}));
  cluster.succeed(1, 2);
  told = cluster.news();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].succeeded, (std::vector<SubtaskRange>{{SubtaskIndex{2}, SubtaskIndex{2}}}));
  EXPECT_EQ(told[0].state, JobState::Succeeded);
}

TEST(SupervisorCore, JobsWithoutANameGetOne) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  EXPECT_NE(cluster.submit(GraphBuilder{}.add().build()), JobId{1});
  EXPECT_EQ(cluster.job(2).spec.name, "job-2");
  cluster.assigned();
}

TEST(SupervisorCore, OtherWordsOfAWorkerThatIsGoneAreDropped) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  cluster.lose(1);
  EXPECT_EQ(cluster.alerts().size(), 1U);
  cluster.succeed(1, 0);
  EXPECT_EQ(cluster.core().counters().stale_reports, 1U);
  EXPECT_EQ(cluster.phase(0), SubtaskPhase::Placeable);
  cluster.lose(1);  // Again: nothing.
  EXPECT_EQ(cluster.core().counters().workers_lost, 1U);
}

/// When the first job, which has ended, is too old to be remembered.
Instant forgotten(SupervisorHarness& cluster) {
  return later(cluster.job().status.ended, SupervisorConfig{}.finished_jobs_age_max);
}

TEST(SupervisorCore, WithoutWorkNothingIsPlanned) {
  SupervisorHarness cluster;
  EXPECT_FALSE(cluster.core().next_deadline().has_value());
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build(), {.keep = Keep::Nothing});
  cluster.assigned();
  EXPECT_TRUE(cluster.core().next_deadline().has_value());
  cluster.succeed(1, 0);
  EXPECT_EQ(cluster.core().next_deadline(), forgotten(cluster)) << "only that it is forgotten one day";
}

TEST(SupervisorCore, ResultsOfAClientThatWentAreKeptForAWhile) {
  SupervisorConfig config;
  config.results_keep = std::chrono::minutes{1};
  SupervisorHarness cluster{config};
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  cluster.succeed(1, 0, {{0, 10}});
  EXPECT_EQ(cluster.state(), JobState::Succeeded);
  EXPECT_EQ(cluster.take<ForgetJob>().size(), 0U);
  cluster.tick_after(std::chrono::minutes{2});
  EXPECT_EQ(cluster.take<ForgetJob>().size(), 0U) << "its client is still connected";
  cluster.handle(supervisor_event::ClientGone{ClientId{1}});
  cluster.tick_after(std::chrono::seconds{30});
  EXPECT_EQ(cluster.take<ForgetJob>().size(), 0U);
  cluster.tick_after(std::chrono::minutes{2});
  EXPECT_EQ(cluster.take<ForgetJob>().size(), 1U);
  EXPECT_EQ(cluster.core().next_deadline(), forgotten(cluster));
}

TEST(SupervisorCore, ReleasingARunningJobDoesNothing) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  cluster.client_says(ReleaseJob{JobId{1}});
  cluster.client_says(ReleaseJob{JobId{77}});
  EXPECT_EQ(cluster.state(), JobState::Running);
  cluster.succeed(1, 0);
}

TEST(SupervisorCore, MemoryOfJobsIsTold) {
  SupervisorHarness cluster;
  const std::uint64_t before = cluster.core().memory_bytes();
  cluster.submit(GraphBuilder{}.sources(1000).build());
  EXPECT_GT(cluster.core().memory_bytes(), before + 1000 * sizeof(SubtaskHot));
}

TEST(SupervisorCore, TheSameEventsGiveTheSameActions) {
  const auto run = [] {
    SupervisorHarness cluster;
    cluster.join({.slots = 2});
    cluster.join({.slots = 3, .bands = 2});
    cluster.submit(GraphBuilder{}.sources(20).join().fan_out(10).build());
    Lines lines = cluster.assigned();
    cluster.lose(1);
    for (std::string& line : cluster.assigned()) lines.push_back(std::move(line));
    cluster.ignore();
    return lines;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace penstock::supervisor
