// RunEnds: ends of runs, storing, reports.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/worker_harness.hpp"

namespace penstock::worker {
namespace {

using List = std::vector<std::uint32_t>;
using Lines = std::vector<std::string>;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Ends, AFailedRunIsReportedWithItsDetail) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.fail(0, FailureClass::UserError);
  const auto failures = worker.failures();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].failure, FailureClass::UserError);
  EXPECT_EQ(failures[0].message, "broken");
}

// Reference case: user code that raises an error called "cancelled" has failed.
TEST(Ends, AnErrorOfTheUsersIsAFailureWhateverItIsCalled) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.fail(0);
  EXPECT_EQ(worker.reports(), (Lines{"0 Failed"}));
}

TEST(Ends, AnEndThatIsSaidTwiceCountsOnce) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}, {.subtask = 1}});
  const auto starts = worker.take<worker_action::StartSubtask>();
  RunEnd end;
  end.record = starts[0].record;
  end.attempt = starts[0].attempt;
  worker.handle(worker_event::RunsEnded{std::span{&end, 1}});
  end.attempt = Attempt{9};
  const OutputReport output{0, 10};
  end.outputs = std::span{&output, 1};
  end.stored = false;
  worker.handle(worker_event::RunsEnded{std::span{&end, 1}});
  EXPECT_EQ(worker.core().counters().stale, 1U);
  EXPECT_EQ(worker.take<worker_action::DiscardOutputs>().size(), 1U);
  EXPECT_EQ(worker.reports(), (Lines{"0 Succeeded"}));
  worker.succeed(1);
  worker.ignore();
}

// Spec: worker 5, the slot is free when computing ends; storing has permits of its own.
TEST(Storing, OverlapsWithTheNextRunUnderItsOwnPermits) {
  WorkerConfig config;
  config.store_permits = 1;
  WorkerHarness worker{1, kGiB, config};
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}});
  const auto run = [&](const worker_action::StartSubtask& start) {
    const OutputReport output{0, 10};
    RunEnd end;
    end.record = start.record;
    end.attempt = start.attempt;
    end.stored = false;
    end.outputs = std::span{&output, 1};
    worker.handle(worker_event::RunsEnded{std::span{&end, 1}});
  };
  auto starts = worker.take<worker_action::StartSubtask>();
  run(starts[0]);
  const auto first_store = worker.take<worker_action::StoreOutputs>();
  ASSERT_EQ(first_store.size(), 1U);
  starts = worker.take<worker_action::StartSubtask>();
  ASSERT_EQ(starts.size(), 1U);
  run(starts[0]);
  EXPECT_EQ(worker.take<worker_action::StoreOutputs>().size(), 0U);
  worker.handle(worker_event::OutputsStored{first_store[0].record, first_store[0].attempt, nullptr});
  EXPECT_EQ(worker.reports(), (Lines{"0 Succeeded"}));
  const auto second_store = worker.take<worker_action::StoreOutputs>();
  ASSERT_EQ(second_store.size(), 1U);
  FailureDetail full;
  full.failure = FailureClass::Transport;
  worker.handle(worker_event::OutputsStored{second_store[0].record, second_store[0].attempt, &full});
  EXPECT_EQ(worker.reports(), (Lines{"1 Failed"}));
  worker.succeed(2);
  worker.ignore();
}

CancelBatch cancel(std::uint32_t subtask) {
  return {JobId{1}, false, {{SubtaskIndex{subtask}, Attempt{1}}}, std::chrono::seconds{1}};
}

// One word about outputs that are not stored follows each run that has some: the shell keeps their bytes until then.
TEST(Storing, OutputsThatWaitForAPermitToBeStoredAreDiscarded) {
  WorkerConfig config;
  config.store_permits = 1;
  WorkerHarness worker{2, kGiB, config};
  worker.assign({{.subtask = 1}, {.subtask = 2}});
  worker.started();
  const OutputReport output{0, 10};
  for (const std::uint32_t subtask : {1U, 2U}) {
    RunEnd end = worker.end_of(subtask);
    end.outputs = std::span{&output, 1};
    end.stored = false;
    worker.handle(worker_event::RunsEnded{std::span{&end, 1}});
  }
  const auto stores = worker.take<worker_action::StoreOutputs>();
  ASSERT_EQ(stores.size(), 1U);
  EXPECT_EQ(stores[0].id.index, SubtaskIndex{1});
  PENSTOCK_EXPECT_COVERAGE_MARK("outputs were discarded before they were stored", worker.receive(cancel(2)));
  const auto discarded = worker.take<worker_action::DiscardOutputs>();
  ASSERT_EQ(discarded.size(), 1U);
  EXPECT_NE(discarded[0].record, stores[0].record);
  worker.handle(worker_event::OutputsStored{stores[0].record, stores[0].attempt, nullptr});
  EXPECT_EQ(worker.take<worker_action::StoreOutputs>().size(), 0U);
  EXPECT_EQ(worker.take<worker_action::DiscardOutputs>().size(), 0U);
  worker.ignore();
}

// Whatever a stopped run says of its outputs.
TEST(Storing, OutputsOfARunThatWasStoppedAreDiscarded) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 1}});
  worker.started();
  worker.receive(cancel(1));
  const OutputReport output{0, 10};
  RunEnd end = worker.end_of(1);
  end.outputs = std::span{&output, 1};
  end.stored = false;
  worker.handle(worker_event::RunsEnded{std::span{&end, 1}});
  EXPECT_EQ(worker.take<worker_action::DiscardOutputs>().size(), 1U);
  EXPECT_EQ(worker.take<worker_action::StoreOutputs>().size(), 0U);
  worker.ignore();
}

TEST(Reports, AtALowRateNothingWaits) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.succeed(0);
  EXPECT_EQ(worker.take<worker_action::SendReport>().size(), 1U);
}

TEST(Reports, UnderLoadTheyCoalesceForAMillisecond) {
  WorkerHarness worker{1};
  std::vector<SubtaskSpec> many;
  for (std::uint32_t i = 0; i < 100; ++i) many.push_back({.subtask = i});
  worker.assign(many);
  for (std::uint32_t i = 0; i < 50; ++i) worker.succeed(i);
  // The first leaves at once, because nothing was sent for long; the others gather.
  EXPECT_EQ(worker.take<worker_action::SendReport>().size(), 1U);
  EXPECT_EQ(worker.core().next_deadline(), worker.now() + milliseconds{1});
  worker.tick_after(milliseconds{1});
  const auto batches = worker.take<worker_action::SendReport>();
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].batch.number, 2U);
  EXPECT_EQ(batches[0].batch.jobs[0].attempts.size(), 49U);
  worker.ignore();
}

TEST(Reports, AFullBatchLeavesAtOnce) {
  WorkerConfig config;
  config.report_batch_max = 10;
  WorkerHarness worker{1, kGiB, config};
  std::vector<SubtaskSpec> many;
  for (std::uint32_t i = 0; i < 30; ++i) many.push_back({.subtask = i});
  worker.assign(many);
  for (std::uint32_t i = 0; i < 21; ++i) worker.succeed(i);
  EXPECT_EQ(worker.take<worker_action::SendReport>().size(), 3U);  // 1, 10, 10
  worker.ignore();
}

TEST(Reports, ALongRunIsReportedAsStartedOnce) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.tick_after(milliseconds{99});
  EXPECT_EQ(worker.reports(), (Lines{"0 Started"}));
  worker.tick_after(milliseconds{500});
  EXPECT_EQ(worker.reports(), Lines{});
  worker.succeed(0);
  EXPECT_EQ(worker.reports(), (Lines{"0 Succeeded"}));
}

// From there on its use is counted by the clock.
TEST(Reports, ARunThatIsReportedAsStartedTellsHowLongItHasRun) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.tick_after(milliseconds{250});
  const auto batches = worker.take<worker_action::SendReport>();
  ASSERT_EQ(batches.size(), 1U);
  const AttemptReport& report = batches[0].batch.jobs.at(0).attempts.at(0);
  EXPECT_EQ(report.outcome, Outcome::Started);
  EXPECT_GE(report.run_us, 250'000U);
  EXPECT_LT(report.run_us, 260'000U);
  worker.ignore();
}

TEST(Reports, LoadsFollowActivityAndThenFallSilent) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}, {.subtask = 1}});
  worker.tick_after(std::chrono::seconds{1});
  auto batches = worker.take<worker_action::SendReport>();
  ASSERT_FALSE(batches.empty());
  ASSERT_EQ(batches.back().batch.loads.size(), 1U);
  EXPECT_EQ(batches.back().batch.loads[0].running, 1U);
  ASSERT_TRUE(batches.back().batch.counters.any()) << "counters go with the loads";
  EXPECT_EQ(batches.back().batch.counters->assigned, 2U);
  worker.succeed(0);
  worker.succeed(1);
  worker.tick_after(std::chrono::seconds{1});
  EXPECT_EQ(worker.core().next_deadline(), std::nullopt);
  worker.ignore();
}

// Found by an acceptance test: the saved progress of cancelled and failed jobs stayed on shared storage for ever.
TEST(Ends, WhatAttemptsHaveSavedGoesWhenTheirJobHasEndedAndNotBefore) {
  WorkerHarness worker{1};
  worker.template_at(0).runner = RunnerKind::Command;
  worker.template_at(0).environment = {"PENSTOCK_CHECKPOINT_KEY=another", "A=b", "PENSTOCK_CHECKPOINT_KEY=job-1.17"};
  worker.assign({{.subtask = 0}});
  worker.started();
  CancelBatch preempted{JobId{1}, false, {{SubtaskIndex{0}, Attempt{1}}}};
  preempted.preempt = preempted.alone = true;
  worker.receive(preempted);
  worker.fail(0);
  EXPECT_TRUE(worker.take<worker_action::SweepAttempts>().empty()) << "it goes on from there, perhaps elsewhere";
  worker.assign({{.subtask = 0, .attempt = 2}});
  worker.receive(ForgetJob{JobId{1}});
  EXPECT_TRUE(worker.take<worker_action::SweepAttempts>().empty()) << "its program has not ended";
  worker.fail(0);
  const auto swept = worker.take<worker_action::SweepAttempts>();
  ASSERT_EQ(swept.size(), 1U);
  EXPECT_EQ(swept[0].key, "job-1.17");
  worker.ignore();
}

TEST(Ends, AJobThatSavesNothingLeavesNothingToTakeAway) {
  WorkerHarness worker{1};
  worker.template_at(0).environment = {"PENSTOCK_CHECKPOINT_KEYS=x", "PENSTOCK_CHECKPOINT_KEY=../x"};
  worker.assign({{.subtask = 0}});
  worker.succeed(0);
  worker.receive(ForgetJob{JobId{1}});
  EXPECT_TRUE(worker.take<worker_action::SweepAttempts>().empty());
  worker.ignore();
}

// A template that said so in its environment took the saved work of another job away, and left that of its own.
TEST(Ends, OnlyWhatItsOwnCommandsHaveSavedGoesWithAJob) {
  WorkerHarness worker{1};
  for (std::uint32_t i = 0; i < 4; ++i) worker.template_at(i).runner = RunnerKind::Command;
  worker.template_at(0).environment = {"PENSTOCK_CHECKPOINT_KEY=job-5.1700000000000"};
  worker.template_at(1).environment = {"PENSTOCK_CHECKPOINT_KEY=job-11.17"};
  worker.template_at(2).environment = {"PENSTOCK_CHECKPOINT_KEY=job-1.16"};
  worker.template_at(2).runner = RunnerKind::Native;
  worker.template_at(3).environment = {"PENSTOCK_CHECKPOINT_KEY=job-1.17"};
  for (std::uint32_t i = 0; i < 4; ++i) {
    worker.assign({{.subtask = i, .template_index = i}});
    worker.started();
    worker.succeed(i);
  }
  worker.receive(ForgetJob{JobId{1}});
  const auto swept = worker.take<worker_action::SweepAttempts>();
  ASSERT_EQ(swept.size(), 1U);
  EXPECT_EQ(swept[0].key, "job-1.17");
  worker.ignore();
}

}  // namespace
}  // namespace penstock::worker
