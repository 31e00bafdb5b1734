// SupervisorCore: which jobs are accepted, how they are cancelled, re-prioritised and forgotten.
#include <gtest/gtest.h>
#include <malloc.h>  // tidy: allow arrows: mallinfo2

#include "tests/support/coverage_marks.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

/// A band holds its slots and two, never more.
constexpr auto kNoCredit = [] {
  SupervisorConfig config;
  config.lookahead = std::chrono::microseconds{10};
  config.lookahead_subtasks_initial = 1;
  return config;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

GraphBuilder asking_for(const ResourceVector& request) {
  GraphBuilder graph;
  graph.template_at(0).request = request;
  graph.template_at(0).request.slots = kOneSlot;
  graph.add();
  return graph;
}

/// Of the allocator, given out and not given back.
std::size_t bytes_in_use() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

// Fault F23, I5: ten thousand ended jobs are remembered.
TEST(Jobs, OneThatHasEndedTakesNoMemoryForEachOfItsSubtasks) {
  constexpr std::uint32_t kSubtasks = 50'000;
  SupervisorHarness cluster{SupervisorConfig{.cached_graphs_max = 0}};
  const auto run_one = [&](const std::string& name) {
    JobSpec spec;
    spec.name = name;
    ASSERT_TRUE(cluster.submit(GraphBuilder{}.sources(kSubtasks).build(), spec).valid());
    ASSERT_TRUE(cluster.ask("cancel", {name}).has_value());
    cluster.ignore();
  };
  run_one("first");
  const std::size_t before = bytes_in_use();
  for (const char* name : {"a", "b", "c", "d"}) run_one(name);
  EXPECT_LT(bytes_in_use(), before + kSubtasks);
}

// Large arguments are outputs of a job that may be released before it has ended: they were kept for as long as its
// client.
TEST(Jobs, OneThatIsReleasedWhileItRunsIsReleasedAtItsEnd) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  cluster.client_says(ReleaseJob{JobId{1}});
  EXPECT_TRUE(cluster.take<ForgetJob>().empty());
  PENSTOCK_EXPECT_COVERAGE_MARK("a job that was released while it ran was released at its end",
                                cluster.succeed(1, 0, {{0, 30}}));
  EXPECT_EQ(cluster.take<ForgetJob>().size(), 1U);
  EXPECT_TRUE(cluster.job().outputs.locations.empty());
  cluster.ignore();
}

TEST(Jobs, OneThatIsReleasedWhileItRunsIsKeptForOthersThatFollowItOrCanNameIt) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build(), {.name = "named"});
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  cluster.client_says(AttachJob{1, {JobId{2}, ""}}, ClientId{2});
  for (const std::uint32_t job : {1U, 2U}) {
    cluster.client_says(ReleaseJob{JobId{job}});
    cluster.succeed(1, 0, {{0, 30}}, job);
    EXPECT_EQ(cluster.job(job).outputs.locations.size(), 1U);
    EXPECT_FALSE(cluster.job(job).outputs.release_when_unreferenced);
  }
  EXPECT_TRUE(cluster.take<ForgetJob>().empty());
  cluster.client_says(ReleaseJob{JobId{2}});
  EXPECT_EQ(cluster.take<ForgetJob>().size(), 1U);
  cluster.ignore();
}

// With `wait_for_resources` it waited for ever.
TEST(Feasible, ASubtaskThatWantsSeveralGpusIsRefusedWhoeverMayCome) {
  SupervisorHarness cluster;
  const Graph graph = asking_for({.gpu = MilliGpu{1001}}).build();
  EXPECT_FALSE(cluster.submit(graph, {.wait_for_resources = true}).valid());
  EXPECT_EQ(cluster.refusal().code, ErrorCode::RequestTooLarge);
  EXPECT_TRUE(contains(cluster.refusal().message, "1001 thousandths of a GPU")) << cluster.refusal().message;
  EXPECT_TRUE(contains(cluster.refusal().remedy, "whole number of GPUs")) << cluster.refusal().remedy;
  EXPECT_TRUE(cluster.submit(asking_for({.gpu = MilliGpu{2000}}).build(), {.wait_for_resources = true}).valid());
}

TEST(Feasible, ARequestLargerThanAnyBandNamesTheNearest) {
  SupervisorHarness cluster;
  cluster.join({.memory = kGiB});
  EXPECT_FALSE(cluster.submit(asking_for({.memory = kGiB * 5}).build()).valid());
  EXPECT_EQ(cluster.refusal().code, ErrorCode::RequestTooLarge);
  EXPECT_TRUE(contains(cluster.refusal().message, "worker-1/numa-0")) << cluster.refusal().message;
  EXPECT_TRUE(contains(cluster.refusal().message, "memory bytes 5368709120 > 2147483648")) << cluster.refusal().message;
  EXPECT_TRUE(contains(cluster.refusal().remedy, "--wait-for-resources"));
}

// By excess in numbers, not by the length of its text.
TEST(Feasible, TheNearestBandIsTheOneThatLacksLeast) {
  SupervisorHarness cluster;
  cluster.join({.memory = Bytes{1}});
  cluster.join({.memory = kGiB * 4});
  cluster.join({.memory = kGiB});
  EXPECT_FALSE(cluster.submit(asking_for({.memory = kGiB * 9}).build()).valid());
  EXPECT_TRUE(contains(cluster.refusal().message, "worker-2/numa-0")) << cluster.refusal().message;
}

TEST(Feasible, ItIsAcceptedWhenItMayWaitAndRunsWhenABandComes) {
  SupervisorHarness cluster;
  cluster.join({.memory = kGiB});
  EXPECT_TRUE(cluster.submit(asking_for({.memory = kGiB * 5}).build(), {.wait_for_resources = true}).valid());
  EXPECT_EQ(cluster.assigned(), Lines{});
  cluster.join({.memory = kGiB * 8});
  EXPECT_EQ(cluster.assigned(), Lines{"0 to w2"});
}

TEST(Feasible, WithoutAnyWorkerAJobWaitsForTheFirst) {
  SupervisorHarness cluster;
  EXPECT_TRUE(cluster.submit(asking_for({.memory = kGiB * 5}).build()).valid());
  cluster.join({.memory = kGiB});
  EXPECT_EQ(cluster.assigned(), Lines{});
  cluster.join({.memory = kGiB * 8});
  EXPECT_EQ(cluster.assigned(), Lines{"0 to w2"});
}

// Reference case: a GPU request without a GPU band.
TEST(Feasible, AGpuThatNobodyHasIsRefusedByItsName) {
  SupervisorHarness cluster;
  cluster.join();
  EXPECT_FALSE(cluster.submit(asking_for({.gpu = MilliGpu{1000}}).build()).valid());
  EXPECT_EQ(cluster.refusal().code, ErrorCode::MissingDevice);
  EXPECT_TRUE(contains(cluster.refusal().message, "GPU")) << cluster.refusal().message;
}

TEST(Feasible, AnOperatorThatNobodyOffersIsRefusedWithThoseThatAre) {
  SupervisorHarness cluster;
  cluster.join({.operators = {"noop", "sum"}});
  EXPECT_FALSE(cluster.submit(GraphBuilder{}.add().build()).valid());
  EXPECT_EQ(cluster.refusal().code, ErrorCode::UnknownOperator);
  EXPECT_TRUE(contains(cluster.refusal().message, "burn"));
  EXPECT_TRUE(contains(cluster.refusal().remedy, "noop, sum")) << cluster.refusal().remedy;
}

// `sum` is a part of `checksum`: it was left out of the list.
TEST(Feasible, OperatorsWhoseNamesContainEachOtherAreAllListed) {
  SupervisorHarness cluster;
  cluster.join({.operators = {"checksum", "sum"}});
  EXPECT_FALSE(cluster.submit(GraphBuilder{}.add().build()).valid());
  EXPECT_TRUE(contains(cluster.refusal().remedy, "checksum, sum")) << cluster.refusal().remedy;
}

TEST(Feasible, ARequiredBandThatIsNotThereIsNoAvailableBand) {
  SupervisorHarness cluster;
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).required = {"worker-9", "numa-0"};
  EXPECT_FALSE(cluster.submit(graph.add().build()).valid());
  EXPECT_EQ(cluster.refusal().code, ErrorCode::NoAvailableBand);
  EXPECT_TRUE(contains(cluster.refusal().message, "worker-9/numa-0")) << cluster.refusal().message;
}

TEST(Feasible, AbsurdRequestsAreTooLargeAndDoNotWrap) {
  SupervisorHarness cluster;
  cluster.join();
  for (const ResourceVector& request : {ResourceVector{.cpu = MilliCpu::max()}, ResourceVector{.memory = Bytes::max()},
                                        ResourceVector{.named = {{"licence", INT64_MAX}}}}) {
    EXPECT_FALSE(cluster.submit(asking_for(request).build()).valid());
    EXPECT_EQ(cluster.refusal().code, ErrorCode::RequestTooLarge);
  }
}

TEST(Cancel, AJobEndsWhenItsWorkersHaveAnswered) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(4).join().build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w1", "2 to w1"}));
  ASSERT_TRUE(cluster.ask("cancel", {"job-1"}).has_value());
  EXPECT_EQ(cluster.cancels(), Lines{"all at w1"});
  EXPECT_EQ(cluster.phase(3), SubtaskPhase::Cancelled);
  EXPECT_EQ(cluster.phase(4), SubtaskPhase::Cancelled);
  EXPECT_EQ(cluster.state(), JobState::Running);
  for (const std::uint32_t i : {0U, 1U}) cluster.say(1, i, Outcome::Cancelled);
  cluster.succeed(1, 2);  // The run was faster than its cancel.
  EXPECT_EQ(cluster.state(), JobState::Cancelled);
  EXPECT_EQ(cluster.job().tally.counts.cancelled, 4U);
  EXPECT_EQ(cluster.job().tally.counts.succeeded, 1U);
  EXPECT_EQ(cluster.assigned(), Lines{});
}

TEST(Cancel, IsIdempotentAndOnlyForWhatRuns) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  EXPECT_TRUE(cluster.ask("cancel", {"1"}).has_value());
  EXPECT_TRUE(cluster.ask("cancel", {"1"}).has_value());
  cluster.cancels();
  cluster.say(1, 0, Outcome::Cancelled);
  const auto again = cluster.ask("cancel", {"1"});
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, ErrorCode::WrongState);
  EXPECT_EQ(cluster.ask("cancel", {"9"}).error().code, ErrorCode::NotFound);
}

TEST(Cancel, ASubtaskTakesAlongWhatNeedsIt) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.join();
  cluster.submit(GraphBuilder{}.chain(5).add().build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "5 to w1", "1 to w1, cached"}));
  ASSERT_TRUE(cluster.ask("cancel", {"1", "2", "--kill-after-ms=7"}).has_value());
  for (const std::uint32_t i : {2U, 3U, 4U}) EXPECT_EQ(cluster.phase(i), SubtaskPhase::Cancelled);
  cluster.succeed(1, 0);
  cluster.succeed(1, 1);
  cluster.succeed(1, 5);
  EXPECT_EQ(cluster.state(), JobState::Cancelled);
  EXPECT_EQ(cluster.job().tally.counts.succeeded, 3U);
}

TEST(Cancel, AssignedSubtasksAreAskedForWithTheirGrace) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.chain(3).build());
  cluster.assigned();
  ASSERT_TRUE(cluster.ask("cancel", {"1", "1", "--kill-after-ms=never"}).has_value());
  const auto batches = cluster.take<CancelBatch>();
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].second.kill_after, kNeverKill);
  EXPECT_EQ(batches[0].second.attempts.size(), 2U);  // 1 and its cached successor 2.
  cluster.succeed(1, 0);
  // The worker was lost before it answered: what was to be cancelled does not run again.
  cluster.lose(1);
  cluster.alerts();
  cluster.join();
  EXPECT_EQ(cluster.assigned(), Lines{});
  EXPECT_EQ(cluster.state(), JobState::Cancelled);
}

TEST(Cancel, BadArgumentsChangeNothing) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  for (const char* grace : {"--kill-after-ms=-1", "--kill-after-ms=x", "--kill-after-ms=99999999999"})
    EXPECT_EQ(cluster.ask("cancel", {"1", grace}).error().code, ErrorCode::InvalidArgument) << grace;
  EXPECT_EQ(cluster.ask("cancel", {"1", "9"}).error().code, ErrorCode::NotFound);
  EXPECT_EQ(cluster.cancels(), Lines{});
}

// A subtask with a number as its key is meant by that key, whatever its position; cancel used to take the position.
TEST(Cancel, AKeyThatIsANumberIsAKey) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(3).keys({"2", "1", "0"}).build());
  cluster.assigned();
  ASSERT_TRUE(cluster.ask("cancel", {"1", "2"}).has_value());
  EXPECT_EQ(cluster.cancels(), Lines{"0 at w1"});
  ASSERT_TRUE(cluster.ask("priority", {"1", "5", "--subtask=0"}).has_value());
  const auto batches = cluster.take<PriorityBatch>();
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].second.changes.front().subtask, SubtaskIndex{2});
}

TEST(Cancel, WhatWaitsForARetryIsCancelledToo) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  cluster.fail(1, 0, FailureClass::UserError);
  EXPECT_EQ(cluster.phase(0), SubtaskPhase::Backoff);
  ASSERT_TRUE(cluster.ask("cancel", {"1"}).has_value());
  EXPECT_EQ(cluster.state(), JobState::Cancelled);
  cluster.cancels();
  cluster.tick_after(std::chrono::seconds{20});
  EXPECT_EQ(cluster.assigned(), Lines{});
}

TEST(Cancel, WhatIsReturnedAfterwardsDoesNotRunAgain) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(2).build());
  cluster.assigned();
  ASSERT_TRUE(cluster.ask("cancel", {"1", "0"}).has_value());
  cluster.cancels();
  cluster.say(1, 0, Outcome::Returned);
  EXPECT_EQ(cluster.phase(0), SubtaskPhase::Cancelled);
  EXPECT_EQ(cluster.assigned(), Lines{});
}

TEST(Priority, AJobOfHigherPriorityIsAssignedFirst) {
  SupervisorHarness cluster{kNoCredit()};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(5).build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w1", "2 to w1"}));
  cluster.submit(GraphBuilder{}.sources(2).build(), {.priority = 1});
  EXPECT_EQ(cluster.assigned(), Lines{});
  cluster.succeed(1, 0);
  EXPECT_EQ(cluster.assigned(), Lines{"2:0 to w1"});
  // Raised over it.
  ASSERT_TRUE(cluster.ask("priority", {"1", "2"}).has_value());
  const auto told = cluster.take<PriorityBatch>();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(told[0].second.change_job);
  EXPECT_EQ(told[0].second.job_priority, 2);
  cluster.succeed(1, 1);
  EXPECT_EQ(cluster.assigned(), Lines{"3 to w1"});
}

TEST(Priority, JobsOfEqualPriorityShare) {
  SupervisorHarness cluster{kNoCredit()};
  cluster.join({.slots = 2});
  cluster.submit(GraphBuilder{}.sources(8).build());
  EXPECT_EQ(cluster.assigned().size(), 4U);
  cluster.submit(GraphBuilder{}.sources(8).build());
  cluster.succeed(1, 0);
  EXPECT_EQ(cluster.assigned(), Lines{"2:0 to w1"});
  cluster.succeed(1, 1);
  EXPECT_EQ(cluster.assigned(), Lines{"2:1 to w1"});
}

TEST(Priority, ASubtaskIsRaisedAndLoweredWhereverItIs) {
  SupervisorHarness cluster{kNoCredit()};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(7).build());
  EXPECT_EQ(cluster.assigned().size(), 3U);
  // Kept here: 5 passes 3 and 4, then 4 goes to the end.
  ASSERT_TRUE(cluster.ask("priority", {"1", "4", "--subtask=5"}).has_value());
  ASSERT_TRUE(cluster.ask("priority", {"1", "-4", "--subtask=4"}).has_value());
  // On the worker: it is told.
  ASSERT_TRUE(cluster.ask("priority", {"1", "9", "--subtask=2"}).has_value());
  const auto told = cluster.take<PriorityBatch>();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_FALSE(told[0].second.change_job);
  ASSERT_EQ(told[0].second.changes.size(), 1U);
  EXPECT_EQ(told[0].second.changes[0].subtask, SubtaskIndex{2});
  Lines order;
  for (const std::uint32_t i : {0U, 1U, 2U, 5U}) {
    cluster.succeed(1, i);
    for (std::string& line : cluster.assigned()) order.push_back(std::move(line));
  }
  EXPECT_EQ(order, (Lines{"5 to w1", "3 to w1", "6 to w1", "4 to w1"}));
}

TEST(Priority, ChangingItBackAndForthAssignsOnce) {
  SupervisorHarness cluster{kNoCredit()};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(6).build());
  cluster.assigned();
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(cluster.ask("priority", {"1", i % 2 == 0 ? "7" : "0", "--subtask=5"}).has_value());
  for (const std::uint32_t i : {0U, 1U, 2U}) cluster.succeed(1, i);
  EXPECT_EQ(cluster.assigned(), (Lines{"3 to w1", "4 to w1", "5 to w1"}));
}

TEST(Jobs, OldOnesAreForgottenWithTheirNames) {
  SupervisorHarness cluster{{.finished_jobs_max = 2}};
  cluster.join();
  for (std::uint32_t i = 1; i <= 4; ++i) {
    cluster.submit(GraphBuilder{}.add().build(), {.name = "run-" + std::to_string(i)});
    cluster.assigned();
    cluster.succeed(1, 0, {{0, 8}}, i);
  }
  EXPECT_EQ(cluster.core().find_job(JobId{1}), nullptr);
  EXPECT_EQ(cluster.core().find_job(JobId{2}), nullptr);
  EXPECT_NE(cluster.core().find_job(JobId{3}), nullptr);
  // Its name is free again, and the number is not used twice.
  EXPECT_EQ(cluster.submit(GraphBuilder{}.add().build(), {.name = "run-1"}), JobId{5});
  cluster.assigned();
}

// An edge that only orders reads nothing: what stands before it is a result like any other that nobody reads.
TEST(Jobs, AnOutputThatOnlyOrderedSuccessorsFollowIsKeptForTheClient) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().add({GraphBuilder::order(0)}).add({1}).build());
  cluster.assigned();
  for (std::uint32_t i = 0; i < 3; ++i) cluster.succeed(1, i, {{0, 100}});
  EXPECT_EQ(cluster.state(), JobState::Succeeded);
  EXPECT_EQ(cluster.drops(), Lines{"1 at w1"}) << "it was read by the last one";
  std::vector<std::uint32_t> kept;
  for (const OutputLocation& output : cluster.job().outputs.locations) kept.push_back(output.producer.value());
  EXPECT_EQ(kept, (std::vector<std::uint32_t>{0, 2}));
  cluster.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
