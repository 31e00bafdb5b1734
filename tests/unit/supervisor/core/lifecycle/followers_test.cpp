// SupervisorCore: what clients are told, once each.
#include <gtest/gtest.h>

#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::milliseconds;
using Ranges = std::vector<SubtaskRange>;

SubtaskRange range(std::uint32_t first, std::uint32_t last) { return {SubtaskIndex{first}, SubtaskIndex{last}}; }

TEST(Progress, NewsLeaveAtOnceWhenTheyAreRareAndAreGatheredInAFlood) {
  SupervisorConfig config;
  config.progress_every = milliseconds{10};
  SupervisorHarness cluster{config};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(9).build());
  cluster.assigned();
  cluster.succeed(1, 0);
  EXPECT_EQ(cluster.news().size(), 1U);
  for (const std::uint32_t i : {1U, 2U, 3U, 5U}) cluster.succeed(1, i);
  EXPECT_EQ(cluster.news().size(), 0U);
  cluster.tick_at_deadline();
  const std::vector<JobProgress> news = cluster.news();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].succeeded, (Ranges{range(1, 3), range(5, 5)}));
  EXPECT_EQ(news[0].counts.succeeded, 5U);
  EXPECT_EQ(news[0].state, JobState::Running);
}

TEST(Progress, AFloodIsCutAtItsLimit) {
  SupervisorConfig config;
  config.progress_every = std::chrono::minutes{1};
  config.progress_batch_max = 3;
  SupervisorHarness cluster{config};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(9).build());
  cluster.assigned();
  for (std::uint32_t i = 0; i < 7; ++i) cluster.succeed(1, i);
  EXPECT_EQ(cluster.news().size(), 3U);  // 0; 1 to 3; 4 to 6.
}

TEST(Progress, TheEndIsToldAtOnceWithTheOutputs) {
  SupervisorConfig config;
  config.progress_every = std::chrono::minutes{1};
  SupervisorHarness cluster{config};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(2).build());
  cluster.assigned();
  cluster.succeed(1, 0, {{0, 30}});
  cluster.news();
  cluster.succeed(1, 1);
  const std::vector<JobProgress> news = cluster.news();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].state, JobState::Succeeded);
  ASSERT_EQ(cluster.job().outputs.locations.size(), 1U);
  EXPECT_EQ(cluster.job().outputs.locations[0].data_address, "host-1:7000");
}

TEST(Progress, WhoAttachesLaterGetsEverythingOnceAndThenTheRest) {
  SupervisorConfig config;
  config.progress_every = std::chrono::minutes{1};
  SupervisorHarness cluster{config};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(4).build(), {.name = "shared"});
  cluster.assigned();
  cluster.succeed(1, 0);
  cluster.succeed(1, 1);
  cluster.news();
  cluster.client_says(AttachJob{5, {JobId::none(), "shared"}}, ClientId{2});
  const std::vector<AttachReply> replies = cluster.take_for<AttachReply>(ClientId{2});
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].request, 5U);
  EXPECT_EQ(replies[0].job, JobId{1});
  EXPECT_EQ(replies[0].subtask_count, 4U);
  const std::vector<JobProgress> everything = cluster.news(ClientId{2});
  ASSERT_EQ(everything.size(), 1U);
  EXPECT_EQ(everything[0].succeeded, Ranges{range(0, 1)});
  // The first client gets what had been gathered for it, so that neither gets it twice.
  const std::vector<JobProgress> gathered = cluster.news();
  ASSERT_EQ(gathered.size(), 1U);
  EXPECT_EQ(gathered[0].succeeded, Ranges{range(1, 1)});
  cluster.succeed(1, 2);
  cluster.succeed(1, 3);
  for (const ClientId client : {ClientId{1}, ClientId{2}}) {
    const std::vector<JobProgress> rest = cluster.news(client);
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(rest[0].succeeded, Ranges{range(2, 3)});
    EXPECT_EQ(rest[0].state, JobState::Succeeded);
  }
}

TEST(Progress, AttachingToAnEndedJobTellsItsEnd) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(3).build());
  cluster.assigned();
  for (const std::uint32_t i : {0U, 1U, 2U}) cluster.succeed(1, i);
  cluster.client_says(AttachJob{1, {JobId{1}, ""}}, ClientId{2});
  const std::vector<JobProgress> news = cluster.news(ClientId{2});
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].state, JobState::Succeeded);
  EXPECT_EQ(news[0].succeeded, Ranges{range(0, 2)});
  cluster.ignore();
}

// Behind the answer everything begins anew for it: what was gathered must not come in between.
TEST(Progress, WhoFollowsAlreadyAndAttachesAgainIsToldEverythingOnce) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(4).build());
  cluster.assigned();
  cluster.succeed(1, 0);
  cluster.succeed(1, 1);
  cluster.news();
  cluster.succeed(1, 2);  // Gathered, not told.
  cluster.client_says(AttachJob{5, {JobId{1}, ""}});
  EXPECT_EQ(cluster.take_for<AttachReply>().size(), 1U);
  const std::vector<JobProgress> everything = cluster.news();
  ASSERT_EQ(everything.size(), 1U);
  EXPECT_EQ(everything[0].succeeded, Ranges{range(0, 2)});
  cluster.succeed(1, 3);
  const std::vector<JobProgress> last = cluster.news();
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].succeeded, Ranges{range(3, 3)}) << "it follows still, and once";
  cluster.ignore();
}

TEST(Progress, AttachingToNothingIsRefused) {
  SupervisorHarness cluster;
  for (const JobSelector& selector :
       {JobSelector{JobId{4}, ""}, JobSelector{JobId::none(), "x"}, JobSelector{JobId{0}, ""}}) {
    cluster.client_says(AttachJob{1, selector});
    const std::vector<AttachReply> replies = cluster.take_for<AttachReply>();
    ASSERT_EQ(replies.size(), 1U);
    EXPECT_EQ(replies[0].refusal.code, ErrorCode::NotFound);
  }
}

// Outputs that the first client has released are gone; the next one was sent to them.
TEST(Progress, ReleasedOutputsAreNotToldAgain) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  cluster.succeed(1, 0, {{0, 30}});
  cluster.client_says(ReleaseJob{JobId{1}});
  cluster.client_says(AttachJob{1, {JobId{1}, ""}}, ClientId{2});
  const std::vector<JobProgress> news = cluster.news(ClientId{2});
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].counts.succeeded, 1U);
  EXPECT_TRUE(news[0].outputs.empty());
  cluster.ignore();
}

TEST(Progress, WhoIsGoneIsToldNothing) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  cluster.handle(supervisor_event::ClientGone{ClientId{1}});
  cluster.succeed(1, 0);
  EXPECT_EQ(cluster.news().size(), 0U);
  EXPECT_EQ(cluster.state(), JobState::Succeeded);
}

TEST(Progress, WhoUnfollowsAJobIsToldNothingMoreAndOthersAre) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.next_identity = JobIdentity{1, 1};
  cluster.submit(GraphBuilder{}.sources(2).build());
  cluster.assigned();
  cluster.client_says(AttachJob{1, {JobId{1}, ""}}, ClientId{2});
  cluster.ignore();
  cluster.client_says(UnfollowJob{JobId{1}}, ClientId{2});
  cluster.client_says(UnfollowJob{JobId{77}}, ClientId{2});
  // Of a state that was put back: the number is another job's here.
  cluster.client_says(UnfollowJob{JobId{1}, JobIdentity{7, 7}});
  cluster.succeed(1, 0);
  cluster.succeed(1, 1);
  EXPECT_EQ(cluster.news(ClientId{2}).size(), 0U);
  EXPECT_GT(cluster.news().size(), 0U);
  EXPECT_EQ(cluster.state(), JobState::Succeeded);
}

// Jobs went when a client that was cut off had been there for as long before, however shortly it was away.
TEST(Progress, OutputsAreKeptForTheirTimeFromWhenTheLastOneHasLeft) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  cluster.succeed(1, 0, {{0, 30}});
  const Duration keep = SupervisorConfig{}.results_keep;
  cluster.tick_after(keep * 3 / 4);
  cluster.client_says(UnfollowJob{JobId{1}});
  cluster.tick_after(keep * 3 / 4);
  EXPECT_EQ(cluster.job().outputs.locations.size(), 1U);
  cluster.tick_after(keep / 4);
  EXPECT_TRUE(cluster.job().outputs.locations.empty());
  cluster.ignore();
}

// A worker that somebody has taken over tries numbers.
TEST(Progress, ARunIsToldNothingOfJobsWhoseIdentityItDoesNotKnow) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.next_identity = {7, 8};
  cluster.submit(GraphBuilder{}.add().build(), {.name = "hers", .owner = "ada"});
  cluster.ignore();
  const Viewer worker{"w", Viewer::Sees::Nested};
  const auto told = [&](JobId job, const JobIdentity& identity) {
    cluster.client_says(AttachJob{1, {job, "", worker}, identity}, ClientId{2});
    return cluster.take_for<AttachReply>(ClientId{2}).at(0);
  };
  const AttachReply guessed = told(JobId{1}, {1, 2});
  AttachReply unknown = told(JobId{9}, {1, 2});
  EXPECT_EQ(unknown.refusal.code, ErrorCode::NotFound);
  unknown.refusal.subject = guessed.refusal.subject;
  EXPECT_EQ(guessed, unknown);
  EXPECT_EQ(told(JobId{1}, {7, 8}).job, JobId{1});
  cluster.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
