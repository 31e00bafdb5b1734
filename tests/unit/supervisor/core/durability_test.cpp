// Replies that wait for the disk, and what becomes of them when the disk is in trouble.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

JobSpec named(const std::string& name) {
  JobSpec spec;
  spec.name = name;
  return spec;
}

std::uint64_t told_succeeded(const std::vector<JobProgress>& news) {
  std::uint64_t count = 0;
  for (const JobProgress& progress : news)
    for (const SubtaskRange& range : progress.succeeded) count += range.last.value() - range.first.value() + 1;
  return count;
}

TEST(Durability, WithoutAJournalNothingIsWritten) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.chain(2).build());
  cluster.succeed(1, 0);
  cluster.succeed(1, 1);
  EXPECT_TRUE(cluster.take_persists().empty());
  cluster.ignore();
}

// Fault F06.
TEST(Durability, AnAcceptanceLeavesWhenItIsOnTheDiskAndNothingRunsBefore) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.sources(1).build(), named("one"));
  EXPECT_EQ(cluster->assigned(), Lines{});
  EXPECT_TRUE(cluster->take_for<SubmitReply>().empty());
  cluster.write_one();
  EXPECT_EQ(cluster->assigned(), Lines{"0 to w1"});
  const auto replies = cluster->take_for<SubmitReply>();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].job, JobId{1});
}

TEST(Durability, TheSameNameWaitsForTheSameWrite) {
  JournalHarness cluster;
  cluster->submit(GraphBuilder{}.sources(1).build(), named("one"));
  cluster->submit(GraphBuilder{}.sources(1).build(), named("one"), ClientId{2});
  EXPECT_TRUE(cluster->take_for<SubmitReply>(ClientId{2}).empty());
  cluster.write_all();
  EXPECT_EQ(cluster->take_for<SubmitReply>(ClientId{1}).size(), 1U);
  const auto second = cluster->take_for<SubmitReply>(ClientId{2});
  ASSERT_EQ(second.size(), 1U);
  EXPECT_TRUE(second[0].existed);
}

TEST(Durability, ARefusalNeedsNoDisk) {
  JournalHarness cluster;
  EXPECT_FALSE(cluster->submit(GraphBuilder{}.build(), named("empty")).valid());
  EXPECT_FALSE(cluster->refusal().message.empty());
  EXPECT_EQ(cluster.waiting(), 0U);
}

TEST(Durability, SuccessIsToldAndReportsAreAcknowledgedWhenItIsOnTheDisk) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.chain(2).build());
  cluster.write_all();
  cluster->ignore();
  cluster->succeed(1, 0);
  EXPECT_EQ(told_succeeded(cluster->news()), 0U);
  EXPECT_TRUE(cluster->take<ReportsApplied>().empty());
  cluster.write_one();
  EXPECT_EQ(told_succeeded(cluster->news()), 1U);
  EXPECT_EQ(cluster->take<ReportsApplied>().size(), 1U);
  cluster->ignore();
}

TEST(Durability, OneCommitOfNewsIsUnderWayAtATime) {
  JournalHarness cluster;
  cluster->join({.slots = 8});
  cluster->submit(GraphBuilder{}.sources(8).build());
  cluster.write_all();
  cluster->ignore();
  cluster->succeed(1, 0);
  ASSERT_EQ(cluster.waiting(), 1U);
  for (const std::uint32_t subtask : {1U, 2U, 3U}) {
    cluster->tick_after(std::chrono::milliseconds{10});
    cluster->succeed(1, subtask);
  }
  EXPECT_EQ(cluster.waiting(), 1U);
  EXPECT_EQ(cluster->core().next_deadline().value_or(kNever) <= cluster->now(), false)
      << "no timer while the disk is slow";
  cluster.write_one();
  EXPECT_EQ(cluster.waiting(), 1U);  // All three.
  cluster.write_one();
  EXPECT_EQ(told_succeeded(cluster->news()), 4U);
  EXPECT_EQ(cluster->take<ReportsApplied>().back().second.through, 4U);
  cluster->ignore();
}

// Each commit of news costs a sync: with a fast disk, too, a flood makes few of them, and what is rare leaves at once.
TEST(Durability, NewsOfAFloodAreGatheredForAFewOfTheTimesThatTheyWouldLeaveWithoutAJournal) {
  SupervisorConfig config;
  config.progress_every = std::chrono::milliseconds{2};
  JournalHarness cluster{config};
  cluster->join({.slots = 64});
  cluster->submit(GraphBuilder{}.sources(64).build());
  cluster.write_all();
  cluster->ignore();
  std::size_t commits = 0;
  for (std::uint32_t subtask = 0; subtask < 32; ++subtask) {
    cluster->tick_after(std::chrono::milliseconds{1});
    cluster->succeed(1, subtask);
    for (; cluster.waiting() > 0; ++commits) cluster.write_one();
  }
  EXPECT_EQ(commits, 4U);
  cluster->tick_at_deadline();
  EXPECT_EQ(cluster.waiting(), 1U);
  cluster.write_one();
  EXPECT_EQ(told_succeeded(cluster->news()), 32U);
  cluster->ignore();
}

TEST(Durability, AReportWithoutNewsIsAcknowledgedAtOnce) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.sources(1).build());
  cluster.write_all();
  cluster->ignore();
  cluster->say(1, 0, Outcome::Started);
  EXPECT_EQ(cluster->take<ReportsApplied>().size(), 1U);
}

TEST(Durability, AnOrderIsAnsweredWhenItIsWrittenAndAQuestionAtOnce) {
  JournalHarness cluster;
  cluster->submit(GraphBuilder{}.sources(1).build(), named("one"));
  cluster.write_all();
  cluster->ignore();
  cluster->client_says(AdminRequest{1, "cancel", {"one"}});
  EXPECT_TRUE(cluster->take_for<AdminAnswer>().empty());
  EXPECT_TRUE(cluster->ask("jobs").has_value());
  cluster.write_all();
  EXPECT_EQ(cluster->take_for<AdminAnswer>().size(), 1U);
  cluster->ignore();
}

// Fault F12: nothing is promised that a crash would undo, without saying so.
TEST(Durability, AnOrderThatCannotBeWrittenIsCarriedOutAndSaysSo) {
  JournalHarness cluster;
  cluster->submit(GraphBuilder{}.sources(1).build(), named("one"));
  cluster.write_all();
  cluster->ignore();
  cluster.fail(ErrorCode::StorageFull);
  cluster->alerts();
  cluster->client_says(AdminRequest{1, "priority", {"one", "7"}});
  auto answers = cluster->take_for<AdminAnswer>();
  ASSERT_EQ(answers.size(), 1U);
  ASSERT_NE(answers[0].value["written"].boolean(), nullptr);
  EXPECT_FALSE(*answers[0].value["written"].boolean());
  EXPECT_EQ(cluster->job().spec.priority, 7);
  cluster.write_all();
  cluster->client_says(AdminRequest{2, "priority", {"one", "8"}});
  cluster.write_all();
  answers = cluster->take_for<AdminAnswer>();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_TRUE(answers[0].value["written"].is_null());
}

TEST(Durability, WhatALostWorkerHadIsGivenToOthersWhenItsLossIsOnTheDisk) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.sources(1).build(), named("one"));
  cluster.write_all();
  EXPECT_EQ(cluster->assigned(), Lines{"0 to w1"});
  cluster->join();
  cluster->lose(1);
  cluster->handle(supervisor_event::WorkerSuspected{WorkerId{1}, false});
  cluster->tick_after(std::chrono::seconds{1});
  EXPECT_EQ(cluster->assigned(), Lines{});
  EXPECT_EQ(cluster->core().counters().workers_lost, 0U);
  cluster.fail(ErrorCode::StorageFull);
  EXPECT_EQ(cluster->assigned(), Lines{});
  cluster.write_all();
  EXPECT_EQ(cluster->assigned(), Lines{"0#2 to w2"});
  EXPECT_EQ(cluster->core().counters().workers_lost, 1U);
  cluster->ignore();
}

// Fault F11.
TEST(Durability, AFullDiskRefusesJobsAndLetsTheOthersRun) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.chain(2).build(), named("early"));
  cluster.write_all();
  cluster->ignore();
  cluster->submit(GraphBuilder{}.sources(1).build(), named("late"));
  PENSTOCK_EXPECT_COVERAGE_MARK("an acceptance could not be written", cluster.fail(ErrorCode::StorageFull));
  EXPECT_EQ(cluster->alerts().size(), 1U);
  auto replies = cluster->take_for<SubmitReply>();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_FALSE(replies[0].job.valid());
  EXPECT_EQ(replies[0].refusal.code, ErrorCode::StorageFull);
  EXPECT_FALSE(cluster->submit(GraphBuilder{}.sources(1).build(), named("later")).valid());
  EXPECT_EQ(cluster->refusal().code, ErrorCode::StorageFull);
  cluster->succeed(1, 0);
  EXPECT_EQ(cluster->phase(1), SubtaskPhase::Assigned) << "what runs goes on";
  EXPECT_EQ(told_succeeded(cluster->news()), 0U);
  cluster.write_all();  // There is room again.
  EXPECT_EQ(told_succeeded(cluster->news()), 1U);
  cluster->submit(GraphBuilder{}.sources(1).build(), named("late"));
  cluster.write_all();
  EXPECT_EQ(cluster->take_for<SubmitReply>().size(), 1U);
  cluster->ignore();
  cluster.restart();
  EXPECT_EQ(cluster->core().find_job(JobId{2}), nullptr) << "what was refused never was";
}

TEST(Durability, AJobThatIsCancelledWhileItsAcceptanceIsWrittenNeverRuns) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.chain(2).build(), named("one"));
  cluster->client_says(AdminRequest{1, "cancel", {"one"}});
  cluster.write_all();
  EXPECT_EQ(cluster->assigned(), Lines{});
  EXPECT_EQ(cluster->state(), JobState::Cancelled);
  cluster->ignore();
}

}  // namespace
}  // namespace penstock::supervisor
