// Runs that lanes take over by themselves.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/worker_harness.hpp"

namespace penstock::worker {
namespace {

using List = std::vector<std::uint32_t>;
using Lines = std::vector<std::string>;
using Starts = std::vector<worker_action::StartSubtask>;

class Offers : public ::testing::Test {
 protected:
  /// Subtasks 0 to count - 1, of which the first `slots` run; one more has run before, so that durations are known.
  void begin(std::uint32_t count) {
    worker.assign({{.subtask = 100, .priority = 99}});
    for (const auto& start : worker.take<worker_action::StartSubtask>()) starts[start.id.index.value()] = start;
    end({end_of(100)});
    std::vector<SubtaskSpec> specs;
    for (std::uint32_t i = 0; i < count; ++i) specs.push_back({.subtask = i, .priority = 50 - i});
    worker.assign(specs);
    for (const auto& start : worker.take<worker_action::StartSubtask>()) starts[start.id.index.value()] = start;
    worker.take<worker_action::SendReport>();
    // An end lets the band offer.
    end({end_of(0)}, true);
    for (const auto& start : worker.take<worker_action::StartSubtask>()) starts[start.id.index.value()] = start;
  }
  List offer() {
    worker.handle(worker_event::OffersWanted{});
    List offered;
    for (const auto& start : worker.take<worker_action::StartSubtask>()) {
      EXPECT_TRUE(start.offered);
      starts[start.id.index.value()] = start;
      offered.push_back(start.id.index.value());
    }
    return offered;
  }
  RunEnd end_of(std::uint32_t subtask, std::optional<std::uint32_t> next = std::nullopt) {
    RunEnd run;
    run.record = starts.at(subtask).record;
    run.attempt = starts.at(subtask).attempt;
    run.run_ns = run_ns;
    if (next) run.next = starts.at(*next).record;
    return run;
  }
  void end(const std::vector<RunEnd>& runs, bool withdrawn = false) {
    worker.handle(worker_event::RunsEnded{runs, withdrawn});
  }
  std::size_t running() { return worker.core().band(BandIndex{0}).execute.holding(); }

  std::uint32_t run_ns = 1000;
  WorkerHarness worker{2};
  std::map<std::uint32_t, worker_action::StartSubtask> starts;
};

TEST_F(Offers, TheOrderOfTheQueueIsTheOrderOnOffer) {
  begin(6);
  EXPECT_EQ(offer(), (List{3, 4, 5}));
  EXPECT_EQ(running(), 2U);  // 1 and 2; what is on offer has no slot yet.
  worker.ignore();
}

TEST_F(Offers, ALaneTakesTheSlotOfItsLastRunOver) {
  begin(6);
  offer();
  const SlotIndex lane = starts.at(1).lane;
  end({end_of(1, 3), end_of(3, 4)}, true);
  EXPECT_EQ(running(), 2U);
  EXPECT_EQ(worker.started(), List{});  // Its lane has 4 already.
  EXPECT_EQ(worker.reports(), (Lines{"0 Succeeded", "1 Succeeded", "3 Succeeded"}));
  worker.receive(CancelBatch{JobId{1}, false, {{SubtaskIndex{4}, Attempt{1}}}, std::chrono::seconds{1}});
  const auto stops = worker.take<worker_action::StopRun>();
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].lane, lane);
  worker.ignore();
}

// Spec: worker 2, what arrives while all slots are busy and comes before all that waits is the next to run.
TEST_F(Offers, WhatIsLeftWaitsAgainBehindWhoeverComesBeforeIt) {
  begin(6);
  offer();
  PENSTOCK_EXPECT_COVERAGE_MARK("an offer was taken back", end({end_of(1, 3)}, true));
  worker.assign({{.subtask = 7, .priority = 90}});
  EXPECT_EQ(worker.started(), List{});
  end({end_of(3)});
  EXPECT_EQ(worker.started(), List{7});
  end({end_of(2)});
  EXPECT_EQ(worker.started(), List{4});
  worker.ignore();
}

// A program cannot be stopped in the middle: a forgotten job goes with the end of its last run, and then others' wait
// on offer.
TEST_F(Offers, AForgottenJobGoesWhileOthersAreOnOffer) {
  begin(2);  // 1 runs, and a slot is free.
  std::vector<SubtaskSpec> specs;
  for (std::uint32_t i = 10; i < 15; ++i) specs.push_back({.subtask = i, .priority = 50 - i});
  worker.assign(specs, 2);
  const auto note = [&] {
    for (const auto& start : worker.take<worker_action::StartSubtask>()) starts[start.id.index.value()] = start;
  };
  note();
  worker.receive(ForgetJob{JobId{1}});
  end({end_of(10)}, true);
  note();
  EXPECT_EQ(offer(), (List{12, 13, 14}));
  end({end_of(1, 12)});
  end({}, true);
  end({end_of(11)});
  EXPECT_EQ(worker.started(), List{13});
  worker.ignore();
}

TEST_F(Offers, NothingIsOfferedTwiceWithoutAnEndInBetween) {
  begin(6);
  EXPECT_EQ(offer().size(), 3U);
  end({}, true);
  EXPECT_EQ(offer(), List{});
  end({end_of(1)}, true);
  worker.started();
  EXPECT_EQ(offer().size(), 2U);
  worker.ignore();
}

// A lane may be in the middle of a long run; the ends before it must not stay untold.
TEST_F(Offers, SomebodyLooksAfterOffersSoon) {
  begin(6);
  worker.reports();
  offer();
  const auto deadline = worker.core().next_deadline();
  ASSERT_TRUE(deadline.has_value());
  EXPECT_LE(*deadline - worker.now(), WorkerConfig{}.report_after);
  worker.ignore();
}

TEST_F(Offers, OfLongRunsNoneIsOffered) {
  begin(6);
  RunEnd run = end_of(1);
  run.run_ns = 10'000'000;
  end({run});
  worker.started();
  EXPECT_EQ(offer(), List{});
  worker.ignore();
}

TEST_F(Offers, OnlyWhatFitsTheSlotThatBecomesFreeIsOffered) {
  worker.template_at(1).request.slots = MilliSlots{500};
  worker.template_at(2).time_limit = std::chrono::seconds{5};
  begin(3);
  worker.assign({{.subtask = 10, .priority = 9, .template_index = 0},
                 {.subtask = 11, .priority = 8, .template_index = 1},
                 {.subtask = 12, .priority = 7, .template_index = 0}});
  EXPECT_EQ(offer(), List{10});
  end({end_of(1)}, true);
  worker.ignore();
}

TEST_F(Offers, ARunWithATimeLimitIsNotOffered) {
  worker.template_at(1).time_limit = std::chrono::seconds{5};
  begin(3);
  worker.assign({{.subtask = 10, .priority = 9, .template_index = 1}});
  EXPECT_EQ(offer(), List{});
  worker.ignore();
}

TEST_F(Offers, ATraceSaysWhenTheLaneTookItOver) {
  AssignBatch batch;
  batch.job = JobId{1};
  batch.trace = true;
  begin(4);
  worker.receive(batch);
  offer();
  RunEnd first = end_of(1, 3);
  first.ended = worker.now() - std::chrono::microseconds{40};
  RunEnd second = end_of(3);
  second.ended = worker.now() - std::chrono::microseconds{10};
  end({first, second}, true);
  worker.tick_after(std::chrono::milliseconds{2});
  std::vector<AttemptTrace> traces;
  for (const auto& report : worker.take<worker_action::SendReport>())
    for (const JobReports& job : report.batch.jobs) traces.insert(traces.end(), job.traces.begin(), job.traces.end());
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[1].started_us, traces[0].ended_us);
  EXPECT_EQ(traces[1].ended_us - traces[1].started_us, 30U);
  worker.ignore();
}

// By count: jobs that hold all that policy lets them hold do not have to ask for each run, and nobody gets another's
// slot.
TEST_F(Offers, AtFullEntitlementTheyFollowRunsOfTheirOwnJob) {
  const auto note = [&] {
    for (const auto& start : worker.take<worker_action::StartSubtask>()) starts[start.id.index.value()] = start;
  };
  EntitlementBatch entitlements;
  entitlements.version = 1;
  for (const std::uint32_t job : {1U, 2U}) entitlements.entitlements.push_back({JobId{job}, BandIndex{0}, kOneSlot, 0});
  worker.receive(entitlements);
  for (const std::uint32_t job : {1U, 2U}) {
    std::vector<SubtaskSpec> specs;
    for (std::uint32_t i = 0; i < 20; ++i) specs.push_back({.subtask = job * 100 + i, .priority = 50 - i});
    worker.assign(specs, job);
  }
  note();
  end({end_of(100), end_of(200)}, true);
  note();
  worker.handle(worker_event::OffersWanted{});
  std::size_t of_first = 0;
  const Starts offered = worker.take<worker_action::StartSubtask>();
  for (const auto& start : offered) {
    EXPECT_TRUE(start.offered && start.within_job);
    starts[start.id.index.value()] = start;
    of_first += start.id.job == JobId{1};
  }
  EXPECT_EQ(of_first, 18U);
  EXPECT_EQ(offered.size(), 36U);
  end({end_of(201, 202), end_of(202, 203)}, true);
  EXPECT_EQ(running(), 2U);
  EXPECT_EQ(worker.started(), List{});
  worker.ignore();
}

TEST_F(Offers, VeryShortRunsAreLeftToOneLane) {
  run_ns = 200;
  begin(6);
  EXPECT_EQ(running(), 1U);  // 1 runs; the lane of 0 has had nothing new.
  EXPECT_EQ(offer(), (List{2, 3, 4, 5}));
  end({end_of(1, 2), end_of(2)}, true);
  EXPECT_EQ(worker.started(), List{3});
  worker.ignore();
}

TEST_F(Offers, ARunThatIsLongerThanItsLikeHoldsUpNobodyForLong) {
  run_ns = 200;
  begin(6);
  EXPECT_EQ(running(), 1U);
  offer();
  const auto deadline = worker.core().next_deadline();
  ASSERT_TRUE(deadline.has_value());
  EXPECT_LE(*deadline - worker.now(), WorkerConfig{}.report_after);
  end({}, true);
  PENSTOCK_EXPECT_COVERAGE_MARK("a run was longer than its like and others went ahead",
                                worker.tick_after(WorkerConfig{}.report_after));
  EXPECT_EQ(worker.started(), List{2});
  EXPECT_EQ(running(), 2U);
  worker.ignore();
}

TEST_F(Offers, OfRunsOfUnknownLengthAsManyStartAsThereAreSlots) {
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}});
  EXPECT_EQ(worker.started(), (List{0, 1}));
  worker.ignore();
}

// Found by seed 433 of the simulator: ticks without end, because nothing could start for another reason.
TEST_F(Offers, WhatCannotStartAnywayIsNotHeldBack) {
  run_ns = 200;
  worker.assign({{.subtask = 100}});
  for (const auto& start : worker.take<worker_action::StartSubtask>()) starts[start.id.index.value()] = start;
  end({end_of(100)});
  worker.ignore();
  const worker_event::MemoryMeasured high{BandIndex{0}, kGiB * 3};
  for (int step = 0; step < 3; ++step) {
    worker.handle(high);
    worker.tick_after(std::chrono::seconds{2});
  }
  ASSERT_EQ(worker.take<worker_action::RestartRunners>().size(), 1U);
  worker.handle(worker_event::MemoryMeasured{BandIndex{0}, Bytes{0}});
  worker.assign({{.subtask = 0, .template_index = 0}, {.subtask = 1}, {.subtask = 2}});
  EXPECT_EQ(worker.started(), List{});
  const auto deadline = worker.core().next_deadline();
  EXPECT_TRUE(!deadline || *deadline > worker.now());
  worker.ignore();
}

// Grants are stopped while the host is short of memory; what needs none waits with the rest.
TEST(Relief, WhatWasReadyWithoutMemoryGoesBack) {
  WorkerHarness worker{1, Bytes{300}};
  worker.assign({{.subtask = 0}, {.subtask = 1}});
  EXPECT_EQ(worker.started(), List{0});
  PENSTOCK_EXPECT_COVERAGE_MARK("a ready subtask went back while grants were stopped",
                                worker.handle(worker_event::MemoryMeasured{BandIndex{0}, Bytes{700}}));
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{});
  worker.handle(worker_event::MemoryMeasured{BandIndex{0}, Bytes{100}});
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  worker.ignore();
}

}  // namespace
}  // namespace penstock::worker
