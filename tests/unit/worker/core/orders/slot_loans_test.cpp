// SlotLoans: slots that are lent while their runs wait for nested work.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/worker_harness.hpp"

namespace penstock::worker {
namespace {

using List = std::vector<std::uint32_t>;
using Lines = std::vector<std::string>;
using worker_action::AnswerYield;
using worker_action::StartSubtask;
using worker_action::StopRun;

/// A worker of one slot: its first subtask runs, and more wait.
class Yields : public ::testing::Test {
 protected:
  void begin(const std::vector<SubtaskSpec>& subtasks) {
    worker.assign(subtasks);
    const auto starts = worker.take<StartSubtask>();
    ASSERT_EQ(starts.size(), 1U);
    first = starts[0];
  }
  /// Whether its slot was lent.
  bool yield(const StartSubtask& run) {
    worker.handle(worker_event::SlotYielded{run.record, run.attempt});
    const auto answers = worker.take<AnswerYield>();
    EXPECT_EQ(answers.size(), 1U);
    if (answers.size() != 1) return false;
    EXPECT_EQ(answers[0].record, run.record);
    EXPECT_EQ(answers[0].attempt, run.attempt);
    EXPECT_EQ(answers[0].lane, run.lane);
    return answers[0].lent;
  }
  void want(const StartSubtask& run) { worker.handle(worker_event::SlotWanted{run.record, run.attempt}); }
  std::string reason(std::uint32_t subtask) { return worker.core().explain({JobId{1}, SubtaskIndex{subtask}}).reason; }

  WorkerHarness worker{1};
  StartSubtask first;
};

TEST_F(Yields, NestedWorkRunsInALentSlot) {
  begin({{.subtask = 0}, {.subtask = 1}});
  EXPECT_EQ(worker.started(), List{}) << "not before it is lent";
  EXPECT_TRUE(yield(first));
  const auto nested = worker.take<StartSubtask>();
  ASSERT_EQ(nested.size(), 1U);
  EXPECT_EQ(nested[0].id.index, SubtaskIndex{1});
  EXPECT_NE(nested[0].lane, first.lane) << "the thread of the first one waits";
  EXPECT_EQ(reason(0), "has lent its slot and waits for nested work");
  worker.assign({{.subtask = 2, .priority = 3}});
  want(first);
  EXPECT_EQ(reason(0),
            "wants the slot back that it has lent: in the execution queue of numa-0, 0 before it, held by "
            "milli-slots 1000 > 0");
  worker.succeed(1);
  const auto again = worker.take<StartSubtask>();
  ASSERT_EQ(again.size(), 1U) << "it goes before what has not begun";
  EXPECT_TRUE(again[0].resumed);
  EXPECT_EQ(again[0].record, first.record);
  EXPECT_EQ(again[0].lane, first.lane);
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{2});
  worker.succeed(2);
  EXPECT_EQ(worker.reports(), (Lines{"0 Lent", "0 Wanted", "1 Succeeded", "0 Succeeded", "2 Succeeded"}));
}

TEST_F(Yields, ALongRunIsReportedAsStartedOnceMoreWhenItHasItsSlotAgain) {
  begin({{.subtask = 0}});
  worker.tick_after(std::chrono::seconds{1});
  EXPECT_EQ(worker.reports(), Lines{"0 Started"});
  EXPECT_TRUE(yield(first));
  worker.tick_after(std::chrono::seconds{1});
  EXPECT_EQ(worker.reports(), Lines{"0 Lent"});
  want(first);
  worker.tick_after(std::chrono::milliseconds{1});
  EXPECT_EQ(worker.reports(), (Lines{"0 Wanted", "0 Started"}));
  worker.succeed(0);
  worker.ignore();
}

// The next life of the supervisor takes a claimed run for one that has its slot.
TEST_F(Yields, ASupervisorThatComesBackIsToldOfLentSlotsAgain) {
  begin({{.subtask = 0}, {.subtask = 1}});
  EXPECT_TRUE(yield(first));
  const auto nested = worker.take<StartSubtask>();
  ASSERT_EQ(nested.size(), 1U);
  EXPECT_TRUE(yield(nested[0]));
  want(nested[0]);
  worker.ignore();
  static_cast<void>(worker.reports());
  worker.receive(ReportsApplied{99});
  worker.handle(worker_event::SupervisorReturned{});
  const Lines told = worker.reports();
  EXPECT_EQ(std::count(told.begin(), told.end(), "0 Lent"), 1);
  EXPECT_EQ(std::count(told.begin(), told.end(), "1 Lent"), 0);
  worker.ignore();
}

TEST_F(Yields, ASlotThatNobodyWantsComesBackAtOnce) {
  begin({{.subtask = 0}});
  EXPECT_TRUE(yield(first));
  want(first);
  const auto again = worker.take<StartSubtask>();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_TRUE(again[0].resumed);
  EXPECT_TRUE(yield(first)) << "and may be lent again";
  worker.succeed(0);
  worker.ignore();
}

TEST(YieldsOf, NoMoreThanTheLimitAndTheRestKeepTheirs) {
  WorkerConfig config;
  config.yields_max = 1;
  WorkerHarness worker{2, kGiB, config};
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}});
  const auto starts = worker.take<StartSubtask>();
  ASSERT_EQ(starts.size(), 2U);
  worker.handle(worker_event::SlotYielded{starts[0].record, starts[0].attempt});
  EXPECT_EQ(worker.started(), List{2});
  PENSTOCK_EXPECT_COVERAGE_MARK("a run could not lend its slot because too many have",
                                worker.handle(worker_event::SlotYielded{starts[1].record, starts[1].attempt}));
  const auto answers = worker.take<AnswerYield>();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_TRUE(answers[0].lent);
  EXPECT_FALSE(answers[1].lent);
  worker.succeed(0);
  worker.succeed(1);
  worker.succeed(2);
  EXPECT_EQ(worker.reports(), (Lines{"0 Lent", "0 Succeeded", "1 Succeeded", "2 Succeeded"}));
}

// A run's word may come after its end, when its record has another one.
TEST_F(Yields, WhatAnotherAttemptSaysIsNotHeard) {
  begin({{.subtask = 0}, {.subtask = 1}});
  worker.handle(worker_event::SlotYielded{first.record, Attempt{9}});
  worker.handle(worker_event::SlotWanted{first.record, first.attempt});
  EXPECT_EQ(worker.take<AnswerYield>().size(), 0U);
  EXPECT_EQ(worker.started(), List{});
  EXPECT_TRUE(yield(first));
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  worker.handle(worker_event::SlotWanted{first.record, Attempt{9}});
  EXPECT_EQ(worker.take<StartSubtask>().size(), 0U);
  worker.succeed(0);
  worker.ignore();
}

TEST_F(Yields, ARunMayEndWhileItsSlotIsLentOrWanted) {
  for (const bool wanted : {false, true}) {
    begin({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}});
    EXPECT_TRUE(yield(first));
    EXPECT_EQ(worker.started(), List{1});
    if (wanted) want(first);
    worker.succeed(0);
    EXPECT_EQ(worker.started(), List{}) << "it had no slot to leave";
    worker.succeed(1);
    EXPECT_EQ(worker.started(), List{2});
    worker.succeed(2);
    Lines told{"0 Lent", "0 Wanted", "0 Succeeded", "1 Succeeded", "2 Succeeded"};
    if (!wanted) told.erase(told.begin() + 1);
    EXPECT_EQ(worker.reports(), told);
    worker.receive(ForgetJob{JobId{1}});
    worker.ignore();
  }
}

// Spec: worker 8.
TEST_F(Yields, ACancelReachesARunWhoseSlotIsLent) {
  begin({{.subtask = 0}, {.subtask = 1}});
  EXPECT_TRUE(yield(first));
  EXPECT_EQ(worker.started(), List{1});
  CancelBatch cancel;
  cancel.job = JobId{1};
  cancel.kill_after = std::chrono::seconds{1};
  cancel.alone = true;
  cancel.attempts = {{SubtaskIndex{0}, Attempt{1}}};
  worker.receive(cancel);
  const auto asked = worker.take<StopRun>();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_FALSE(asked[0].kill);
  EXPECT_EQ(asked[0].lane, first.lane);
  worker.tick_after(std::chrono::seconds{1});
  const auto killed = worker.take<StopRun>();
  ASSERT_EQ(killed.size(), 1U);
  EXPECT_TRUE(killed[0].kill);
  worker.fail(0);
  worker.succeed(1);
  const Lines reports = worker.reports();
  EXPECT_EQ(Lines(reports.end() - 2, reports.end()), (Lines{"0 Cancelled", "1 Succeeded"}));
}

TEST(YieldsOf, ATimeLimitGoesOnWhileTheSlotIsLent) {
  WorkerHarness worker{1};
  worker.template_at(0).time_limit = std::chrono::seconds{2};
  worker.assign({{.subtask = 0}});
  const auto starts = worker.take<StartSubtask>();
  ASSERT_EQ(starts.size(), 1U);
  worker.handle(worker_event::SlotYielded{starts[0].record, starts[0].attempt});
  worker.tick_after(std::chrono::seconds{2});
  EXPECT_EQ(worker.take<StopRun>().size(), 1U);
  worker.fail(0);
  EXPECT_EQ(worker.failures().back().failure, FailureClass::Timeout);
  worker.ignore();
}

TEST(YieldsOf, MemoryStaysHeldWhileTheSlotIsLent) {
  WorkerHarness worker{1, Bytes{100}};
  worker.template_at(0).request.memory = Bytes{60};
  worker.assign({{.subtask = 0}, {.subtask = 1}});
  const auto starts = worker.take<StartSubtask>();
  ASSERT_EQ(starts.size(), 1U);
  worker.handle(worker_event::SlotYielded{starts[0].record, starts[0].attempt});
  EXPECT_EQ(worker.take<AnswerYield>().size(), 1U);
  EXPECT_EQ(worker.started(), List{}) << "40 bytes are left";
  worker.template_at(1).request.memory = Bytes{40};
  worker.assign({{.subtask = 2, .template_index = 1}});
  worker.handle(worker_event::SlotWanted{starts[0].record, starts[0].attempt});
  worker.succeed(0);
  worker.ignore();
}

TEST_F(Yields, AnEntitlementThatWasLoweredHoldsUpWhoWantsItsSlotBack) {
  begin({{.subtask = 0}});
  EXPECT_TRUE(yield(first));
  worker.receive(EntitlementBatch{1, {{JobId{1}, BandIndex{0}, MilliSlots{0}, 0}}});
  want(first);
  EXPECT_EQ(worker.take<StartSubtask>().size(), 0U);
  worker.receive(EntitlementBatch{2, {{JobId{1}, BandIndex{0}, kOneSlot, 0}}});
  EXPECT_EQ(worker.take<StartSubtask>().size(), 1U);
  worker.succeed(0);
  worker.ignore();
}

// The run counted as running, and nothing starts while outputs wait for room and anything runs.
TEST(YieldsOf, OutputsThatWaitForRoomDoNotKeepARunFromItsSlotIfNothingElseRuns) {
  WorkerConfig config;
  config.store_bytes_max = Bytes{1000};
  WorkerHarness worker{2, kGiB, config};
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}});
  const auto starts = worker.take<StartSubtask>();
  ASSERT_EQ(starts.size(), 2U);
  worker.handle(worker_event::SlotYielded{starts[0].record, starts[0].attempt});
  worker.handle(worker_event::DataMapped{{}, Bytes{900}});
  EXPECT_EQ(worker.started(), List{2});
  worker.succeed(1, {{0, 500}});
  worker.handle(worker_event::SlotWanted{starts[0].record, starts[0].attempt});
  EXPECT_EQ(worker.take<StartSubtask>().size(), 0U) << "subtask 2 runs, and may make room";
  worker.succeed(2, {{0, 500}});
  const auto again = worker.take<StartSubtask>();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_TRUE(again[0].resumed);
  worker.ignore();
}

// An offer follows any run of the band, and a run without a slot could not hand one over.
TEST(YieldsOf, NothingIsOfferedWhileASlotIsLent) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}, {.subtask = 3}});
  const auto starts = worker.take<StartSubtask>();
  ASSERT_EQ(starts.size(), 1U);
  worker.handle(worker_event::SlotYielded{starts[0].record, starts[0].attempt});
  EXPECT_EQ(worker.started(), List{1});
  RunEnd end = worker.end_of(1);
  end.run_ns = 1000;
  worker.handle(worker_event::RunsEnded{std::span{&end, 1}, true});
  EXPECT_EQ(worker.started(), List{2});
  worker.handle(worker_event::OffersWanted{});
  EXPECT_EQ(worker.take<StartSubtask>().size(), 0U);
  worker.ignore();
}

// Spec: worker 6, credit. The supervisor would send nothing more to a band that is full of runs which wait.
TEST_F(Yields, TheSupervisorHearsOfItSoon) {
  begin({{.subtask = 0}});
  const auto told = [&] {
    worker.tick_after(std::chrono::milliseconds{2});
    std::vector<std::uint32_t> yielded;
    for (const auto& report : worker.take<worker_action::SendReport>())
      for (const BandLoad& load : report.batch.loads) yielded.push_back(load.yielded);
    return yielded;
  };
  told();
  EXPECT_TRUE(yield(first));
  EXPECT_EQ(told(), List{1});
  want(first);
  EXPECT_EQ(worker.take<StartSubtask>().size(), 1U);
  EXPECT_EQ(told(), List{0});
  worker.succeed(0);
  worker.ignore();
}

TEST(YieldsOf, ALentSlotIsClaimedAsARunByTheNextLifeOfTheSupervisor) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  const auto starts = worker.take<StartSubtask>();
  ASSERT_EQ(starts.size(), 1U);
  worker.handle(worker_event::SlotYielded{starts[0].record, starts[0].attempt});
  worker.handle(worker_event::SupervisorReturned{});
  const auto claims = worker.take<worker_action::SendClaim>();
  ASSERT_EQ(claims.size(), 1U);
  ASSERT_EQ(claims[0].claim.jobs.size(), 1U);
  ASSERT_EQ(claims[0].claim.jobs[0].attempts.size(), 1U);
  EXPECT_EQ(claims[0].claim.jobs[0].attempts[0].stage, ClaimedStage::Running);
  worker.ignore();
}

}  // namespace
}  // namespace penstock::worker
