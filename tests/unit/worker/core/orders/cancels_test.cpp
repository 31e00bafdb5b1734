// Cancels: cancel in every state, time limits, relief of memory.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/worker_harness.hpp"

namespace penstock::worker {
namespace {

using List = std::vector<std::uint32_t>;
using Lines = std::vector<std::string>;
using std::chrono::milliseconds;
using std::chrono::seconds;

CancelBatch cancel(std::vector<std::uint32_t> subtasks, Duration kill_after = seconds{1}) {
  CancelBatch batch{JobId{1}, false, {}, kill_after};
  for (const std::uint32_t subtask : subtasks) batch.attempts.push_back({SubtaskIndex{subtask}, Attempt{1}});
  return batch;
}

// Reference case: cancel at each phase; one terminal result, and the next subtask runs with all slots and quota back.
/// A subtask that needs all slots and all memory runs.
void expect_all_is_free(WorkerHarness& worker) {
  EXPECT_EQ(worker.core().band(BandIndex{0}).quota.used(), Bytes{0});
  EXPECT_EQ(worker.core().band(BandIndex{0}).execute.available().slots, kOneSlot);
  worker.template_at(3).request.memory = Bytes{300};
  worker.assign({{.subtask = 7, .template_index = 3}});
  EXPECT_EQ(worker.started(), List{7});
  worker.succeed(7);
  worker.ignore();
}

TEST(Cancel, InEachPhaseThereIsOneResultAndEverythingComesBack) {
  for (const char* phase : {"cached", "queued", "quota", "fetching", "ready", "running", "storing", "finished"}) {
    SCOPED_TRACE(phase);
    const std::string name = phase;
    WorkerConfig config;
    config.prepare_permits_extra = name == "queued" ? 0 : 8;
    WorkerHarness worker{1, Bytes{300}, config};
    worker.template_at(0).request.memory = Bytes{200};
    worker.template_at(1).request.memory = Bytes{50};
    worker.template_at(2).request.memory = Bytes{0};
    const bool alone = name == "running" || name == "storing" || name == "finished";
    if (!alone) worker.assign({{.subtask = 0, .template_index = name == "quota" ? 0U : 2U}});
    SubtaskSpec victim{.subtask = 1, .template_index = name == "quota" ? 0U : 1U};
    if (name == "cached") victim.missing = {0};
    if (name == "queued") worker.assign({{.subtask = 5, .template_index = 2}});
    if (name == "fetching") victim.inputs = {{SubtaskIndex{9}, 0, InputPlace::Remote, WorkerId{2}, 10}};
    worker.assign({victim});
    if (name == "storing" || name == "finished") {
      const auto starts = worker.take<worker_action::StartSubtask>();
      ASSERT_EQ(starts.size(), 1U);
      const OutputReport output{0, 10};
      RunEnd end;
      end.record = starts[0].record;
      end.attempt = starts[0].attempt;
      end.stored = name == "finished";
      end.outputs = std::span{&output, 1};
      worker.handle(worker_event::RunsEnded{std::span{&end, 1}});
    }
    const auto stores = worker.take<worker_action::StoreOutputs>();

    worker.receive(cancel({1}));
    worker.receive(cancel({1}));
    if (name == "running") {
      EXPECT_EQ(worker.take<worker_action::StopRun>().size(), 1U);
      worker.tick_after(seconds{1});
      const auto kill = worker.take<worker_action::StopRun>();
      ASSERT_EQ(kill.size(), 1U);
      EXPECT_TRUE(kill[0].kill);
      worker.receive(cancel({1}));
      EXPECT_EQ(worker.take<worker_action::StopRun>().size(), 0U);
      worker.fail(1, FailureClass::RunnerCrash);
    }
    if (name == "storing") {
      ASSERT_EQ(stores.size(), 1U);
      worker.handle(worker_event::OutputsStored{stores[0].record, stores[0].attempt, nullptr});
      EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
    }
    std::size_t results = 0;
    for (const std::string& line : worker.reports()) {
      if (line == "1 Cancelled") ++results;
      if (line == "1 Succeeded") {
        EXPECT_EQ(name, "finished");
        ++results;
      }
      EXPECT_NE(line, "1 Failed");
    }
    EXPECT_EQ(results, 1U);

    worker.started();
    if (!alone) worker.succeed(0);
    if (name == "queued") worker.succeed(5);
    worker.started();
    expect_all_is_free(worker);
  }
}

TEST(Cancel, WhileOutputsAreStoredTheyAreDroppedWhenTheyAre) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 1}});
  const auto starts = worker.take<worker_action::StartSubtask>();
  ASSERT_EQ(starts.size(), 1U);
  const OutputReport output{0, 10};
  RunEnd end{.record = starts[0].record, .attempt = starts[0].attempt};
  end.outputs = std::span{&output, 1};
  end.stored = false;
  worker.handle(worker_event::RunsEnded{std::span{&end, 1}});
  PENSTOCK_EXPECT_COVERAGE_MARK("a subtask was cancelled while it stored its outputs", worker.receive(cancel({1})));
  worker.handle(worker_event::OutputsStored{end.record, end.attempt, nullptr});
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
  worker.ignore();
}

// Reference case: a runner is killed in the middle by two requests at once.
TEST(Cancel, TwoKillsAtOnceAreOneAndTheSlotComesBackOnce) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}});
  EXPECT_EQ(worker.started(), List{0});
  worker.receive(cancel({0}, Duration{0}));
  worker.receive(cancel({0}, Duration{0}));
  const auto stops = worker.take<worker_action::StopRun>();
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_TRUE(stops[0].kill);
  worker.fail(0, FailureClass::RunnerCrash);
  EXPECT_EQ(worker.started(), List{1}) << "one slot, one run";
  EXPECT_EQ(worker.core().band(BandIndex{0}).execute.available().slots, MilliSlots{0});
  worker.succeed(1);
  worker.succeed(2);
  EXPECT_EQ(worker.core().band(BandIndex{0}).execute.available().slots, kOneSlot);
  worker.ignore();
}

TEST(Cancel, WithKillDisabledTheRunEndsByItselfAndCountsAsCancelled) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.receive(cancel({0}, kNeverKill));
  const auto stops = worker.take<worker_action::StopRun>();
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_FALSE(stops[0].kill);
  worker.tick_after(std::chrono::hours{24});
  EXPECT_EQ(worker.take<worker_action::StopRun>().size(), 0U);
  worker.ignore();
  worker.succeed(0, {{0, 8}});
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
  EXPECT_EQ(worker.reports(), (Lines{"0 Cancelled"}));
}

// Found by the simulator (seed 1046): the copy went with the outputs, and its reader waited for ever.
TEST(Cancel, OutputsThatDoNotCountLeaveACopyFromElsewhereAlone) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  EXPECT_EQ(worker.started(), List{0});
  worker.assign({{.subtask = 1, .inputs = {{SubtaskIndex{0}, 0, InputPlace::Remote, WorkerId{7}, 8}}}});
  worker.receive(cancel({0}, kNeverKill));
  worker.fetched(0, 8);
  worker.ignore();
  PENSTOCK_EXPECT_COVERAGE_MARK("data that do not count were here from elsewhere, too", worker.succeed(0, {{0, 8}}));
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 0U);
  EXPECT_EQ(worker.started(), List{1});
  worker.ignore();
}

TEST(Cancel, AtOnceKillsWithoutAsking) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.receive(cancel({0}, Duration{0}));
  const auto stops = worker.take<worker_action::StopRun>();
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_TRUE(stops[0].kill);
  worker.fail(0, FailureClass::RunnerCrash);
  worker.ignore();
}

TEST(Cancel, AShorterGraceWins) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.receive(cancel({0}, seconds{100}));
  worker.receive(cancel({0}, Duration{0}));
  const auto stops = worker.take<worker_action::StopRun>();
  ASSERT_EQ(stops.size(), 2U);
  EXPECT_TRUE(stops[1].kill);
  worker.fail(0, FailureClass::RunnerCrash);
  worker.ignore();
}

TEST(Cancel, AProducerTakesItsCachedSuccessorsAlong) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2, .missing = {1}}, {.subtask = 3, .missing = {2, 0}}});
  EXPECT_EQ(worker.started(), List{0});
  worker.receive(cancel({1}, Duration{0}));
  EXPECT_EQ(worker.reports(), (Lines{"1 Cancelled", "2 Cancelled", "3 Cancelled"}));
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{});
  EXPECT_EQ(worker.core().live_records(), 0U);
  worker.ignore();
}

TEST(Cancel, AWholeJobIsOneMessage) {
  WorkerHarness worker{2};
  std::vector<SubtaskSpec> many;
  for (std::uint32_t i = 0; i < 1000; ++i) many.push_back({.subtask = i});
  worker.assign(many);
  EXPECT_EQ(worker.started(), (List{0, 1}));
  worker.receive(CancelBatch{JobId{1}, true, {}, Duration{0}});
  worker.fail(0, FailureClass::RunnerCrash);
  worker.fail(1, FailureClass::RunnerCrash);
  EXPECT_EQ(worker.started(), List{});
  EXPECT_EQ(worker.reports().size(), 1000U);
  worker.ignore();
}

TEST(TimeLimit, AsksThenKillsThenReportsTimeout) {
  WorkerHarness worker{1};
  worker.template_at(0).time_limit = seconds{2};
  worker.template_at(0).kill_grace = milliseconds{300};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.tick_after(seconds{2});
  auto stops = worker.take<worker_action::StopRun>();
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_FALSE(stops[0].kill);
  worker.tick_after(milliseconds{300});
  stops = worker.take<worker_action::StopRun>();
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_TRUE(stops[0].kill);
  EXPECT_TRUE(stops[0].overdue);
  worker.take<worker_action::SendReport>();
  worker.fail(0, FailureClass::RunnerCrash);
  const auto failures = worker.failures();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].failure, FailureClass::Timeout);
}

// A run that ignores a cancel is left alone, but not beyond its own time.
TEST(TimeLimit, IsKeptAlsoByARunThatWasCancelledBefore) {
  WorkerHarness worker{1};
  worker.template_at(0).time_limit = seconds{60};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.tick_after(seconds{10});
  worker.receive(cancel({0}));
  worker.tick_after(seconds{10});
  auto stops = worker.take<worker_action::StopRun>();
  ASSERT_EQ(stops.size(), 2U);
  EXPECT_TRUE(stops[1].kill);
  EXPECT_FALSE(stops[1].overdue);
  worker.tick_after(seconds{41});
  stops = worker.take<worker_action::StopRun>();
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_TRUE(stops[0].overdue);
  worker.tick_after(seconds{100});
  EXPECT_EQ(worker.take<worker_action::StopRun>().size(), 0U);
  worker.fail(0, FailureClass::RunnerCrash);
  worker.ignore();
}

TEST(TimeLimit, IsNotCheckedOnOthers) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.tick_after(std::chrono::hours{1});
  EXPECT_EQ(worker.take<worker_action::StopRun>().size(), 0U);
  worker.succeed(0);
  worker.ignore();
}

// Spec: worker 4, first stop new grants, then ask for spill, then restart idle runners, each step rate-limited.
TEST(Relief, StepsAreTakenInOrderAndNotTooFast) {
  WorkerHarness worker{2, Bytes{300}};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.succeed(0, {{0, 64}});
  worker.ignore();
  const worker_event::MemoryMeasured high{BandIndex{0}, Bytes{700}};
  worker.handle(worker_event::MemoryMeasured{BandIndex{0}, Bytes{500}});
  worker.handle(high);
  worker.handle(high);
  EXPECT_EQ(worker.core().counters().relief_steps, 1U);
  worker.assign({{.subtask = 1}});
  EXPECT_EQ(worker.started(), List{});
  worker.tick_after(seconds{1});
  worker.handle(high);
  EXPECT_EQ(worker.take<worker_action::SpillDatum>().size(), 1U);
  worker.handle(high);
  worker.tick_after(seconds{1});
  worker.handle(high);
  const auto restarts = worker.take<worker_action::RestartRunners>();
  ASSERT_EQ(restarts.size(), 1U);
  ASSERT_EQ(restarts[0].lanes.size(), 1U);
  worker.handle(worker_event::MemoryMeasured{BandIndex{0}, Bytes{200}});
  EXPECT_EQ(worker.started(), List{});  // The only runner restarts.
  worker.handle(worker_event::LanesRestarted{BandIndex{0}, restarts[0].lanes});
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  worker.ignore();
}

worker_event::MemoryMeasured by_runners(std::int64_t used, std::int64_t idle) {
  return {BandIndex{0}, Bytes{used}, RunnerKind::Process, Bytes{idle}};
}

TEST(Relief, WhatCommandsAndRunnersUseCountsTogether) {
  WorkerHarness worker{2, Bytes{300}};
  worker.handle(by_runners(400, 0));
  EXPECT_EQ(worker.core().counters().relief_steps, 0U);
  worker.handle(worker_event::MemoryMeasured{BandIndex{0}, Bytes{201}});
  EXPECT_EQ(worker.core().counters().relief_steps, 1U);
  worker.assign({{.subtask = 0}});
  EXPECT_EQ(worker.started(), List{});
  worker.handle(by_runners(99, 0));
  EXPECT_EQ(worker.started(), List{0}) << "300 are what it may use";
  worker.succeed(0);
  worker.ignore();
}

TEST(Relief, IdleRunnersGoFirstAndGrantsGoOnIfThatIsEnough) {
  WorkerHarness worker{2, Bytes{300}};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.succeed(0);
  worker.ignore();
  worker.handle(by_runners(600, 600));
  EXPECT_EQ(worker.take<worker_action::RestartRunners>().size(), 0U) << "at the limit, not above it";
  PENSTOCK_EXPECT_COVERAGE_MARK("idle runners were ended for what they held", worker.handle(by_runners(700, 100)));
  const auto restarts = worker.take<worker_action::RestartRunners>();
  ASSERT_EQ(restarts.size(), 1U);
  EXPECT_EQ(restarts[0].lanes.size(), 1U);
  worker.assign({{.subtask = 1}});
  EXPECT_EQ(worker.started(), List{}) << "its only lane restarts";
  worker.handle(worker_event::LanesRestarted{BandIndex{0}, restarts[0].lanes});
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  worker.ignore();
}

TEST(Relief, GrantsAreStoppedAtOnceIfIdleRunnersAreNotEnough) {
  WorkerHarness worker{2, Bytes{300}};
  worker.handle(by_runners(800, 100));
  EXPECT_EQ(worker.take<worker_action::RestartRunners>().size(), 1U) << "those of lanes that nobody has had";
  worker.assign({{.subtask = 0}});
  EXPECT_EQ(worker.started(), List{});
  worker.handle(by_runners(250, 0));
  EXPECT_EQ(worker.started(), List{0});
  worker.succeed(0);
  worker.ignore();
}

// Data asked to go to the disk then were counted with the memory that the idle runners had held.
TEST(Relief, NothingIsSpilledIfIdleRunnersAreEnoughAfterGrantsWereStopped) {
  WorkerHarness worker{2, Bytes{300}};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.succeed(0, {{0, 64}});
  worker.ignore();
  worker.handle(by_runners(700, 0));
  worker.tick_after(seconds{1});
  worker.handle(by_runners(700, 400));
  EXPECT_EQ(worker.take<worker_action::RestartRunners>().size(), 1U);
  EXPECT_EQ(worker.take<worker_action::SpillDatum>().size(), 0U);
  worker.tick_after(seconds{1});
  worker.handle(by_runners(700, 100));
  EXPECT_EQ(worker.take<worker_action::SpillDatum>().size(), 1U) << "600 are too many";
  worker.ignore();
}

// The time of the next step was a deadline that no tick could meet: a worker above its limit span until it was
// measured.
TEST(Relief, NoTickIsWaitedForAboveTheLimit) {
  WorkerHarness worker{2, Bytes{300}};
  const auto before = worker.core().next_deadline();
  worker.handle(worker_event::MemoryMeasured{BandIndex{0}, Bytes{700}});
  EXPECT_EQ(worker.core().counters().relief_steps, 1U);
  EXPECT_EQ(worker.core().next_deadline(), before);
  worker.ignore();
}

// The same: nothing is postponed in a store without a limit, where only relief sends data to the disk.
TEST(Relief, ADiskThatTakesNothingIsNotWaitedForInAStoreWithoutALimit) {
  WorkerHarness worker{2, Bytes{300}};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.succeed(0, {{0, 64}});
  worker.ignore();
  const worker_event::MemoryMeasured high{BandIndex{0}, Bytes{700}};
  worker.handle(high);
  worker.tick_after(seconds{1});
  worker.handle(high);
  const auto spills = worker.take<worker_action::SpillDatum>();
  ASSERT_EQ(spills.size(), 1U);
  worker.handle(worker_event::DatumSpilled{spills[0].key, false});
  worker.tick_after(seconds{2});
  worker.handle(worker_event::MemoryMeasured{BandIndex{0}, Bytes{0}});
  const Instant now = worker.now();
  EXPECT_GT(worker.core().next_deadline().value_or(kNever), now);
  worker.ignore();
}

// Found by the simulator: two gave each other their memory back, for ever.
TEST(Relief, NobodyGivesItsMemoryBackWhileAllLanesRestart) {
  WorkerHarness worker{1, Bytes{300}};
  worker.template_at(1).request.memory = Bytes{200};
  worker.template_at(2).request.memory = Bytes{250};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.succeed(0);
  worker.ignore();
  worker.handle(by_runners(700, 200));
  const auto restarts = worker.take<worker_action::RestartRunners>();
  ASSERT_EQ(restarts.size(), 1U);
  worker.assign({{.subtask = 1, .template_index = 1}});
  worker.assign({{.subtask = 2, .priority = 5, .template_index = 2}});
  EXPECT_EQ(worker.started(), List{});
  EXPECT_EQ(worker.core().counters().demoted, 0U);
  worker.handle(worker_event::LanesRestarted{BandIndex{0}, restarts[0].lanes});
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  EXPECT_EQ(worker.started(), List{2});
  worker.succeed(2);
  worker.ignore();
}

TEST(Relief, NobodyIsRestartedTwiceForTheSameMeasurement) {
  WorkerHarness worker{2, Bytes{300}};
  worker.handle(by_runners(700, 700));
  EXPECT_EQ(worker.take<worker_action::RestartRunners>().size(), 1U);
  worker.handle(worker_event::MemoryMeasured{BandIndex{0}, Bytes{10}});
  EXPECT_EQ(worker.take<worker_action::RestartRunners>().size(), 0U);
  EXPECT_EQ(worker.core().counters().relief_steps, 1U);
  worker.ignore();
}

/// Runs subtasks of template 0, which requests 200 bytes, one after the other; each has used `peak`.
void run_measured(WorkerHarness& worker, std::uint32_t first, std::uint32_t count, Bytes peak) {
  for (std::uint32_t i = first; i < first + count; ++i) {
    worker.assign({{.subtask = i}});
    EXPECT_EQ(worker.started(), List{i});
    RunEnd end = worker.end_of(i);
    end.peak = peak;
    worker.handle(worker_event::RunsEnded{std::span{&end, 1}});
    worker.ignore();
  }
}

WorkerConfig with_peaks(std::uint32_t peaks_min, std::uint32_t margin) {
  WorkerConfig config;
  config.quota_peaks_min = peaks_min;
  config.quota_margin_percent = margin;
  return config;
}

TEST(MeasuredPeak, GrantsFollowWhatRunsHaveUsed) {
  WorkerHarness worker{2, Bytes{300}, with_peaks(3, 25)};
  worker.template_at(0).request.memory = Bytes{200};
  run_measured(worker, 0, 3, Bytes{100});
  const auto assign_two = [&] { worker.assign({{.subtask = 10}, {.subtask = 11}}); };
  PENSTOCK_EXPECT_COVERAGE_MARK("a grant was what runs were seen to use", assign_two());
  EXPECT_EQ(worker.started(), (List{10, 11}));  // 125 bytes each; as requested only one would have its memory.
  EXPECT_EQ(worker.core().band(BandIndex{0}).quota.used(), Bytes{250});
  worker.succeed(10);
  worker.succeed(11);
  EXPECT_EQ(worker.core().band(BandIndex{0}).quota.used(), Bytes{0});
  worker.ignore();
}

TEST(MeasuredPeak, TooFewRunsOrNoneAreNoMeasure) {
  for (const std::uint32_t peaks_min : {0U, 4U}) {
    WorkerHarness worker{2, Bytes{300}, with_peaks(peaks_min, 25)};
    worker.template_at(0).request.memory = Bytes{200};
    run_measured(worker, 0, 3, Bytes{100});
    run_measured(worker, 3, 9, Bytes{0});  // Runs without a measurement.
    worker.assign({{.subtask = 20}, {.subtask = 21}});
    EXPECT_EQ(worker.started(), List{20}) << peaks_min;
    worker.succeed(20);
    worker.succeed(21);
    worker.ignore();
  }
}

TEST(MeasuredPeak, NothingThatIsSaidGrantsMoreThanWasRequested) {
  for (const std::int64_t peak : {std::int64_t{170}, std::int64_t{201}, INT64_MAX}) {
    WorkerHarness worker{2, Bytes{300}, with_peaks(1, 25)};
    worker.template_at(0).request.memory = Bytes{200};
    run_measured(worker, 0, 2, Bytes{peak});
    worker.assign({{.subtask = 10}});
    EXPECT_EQ(worker.started(), List{10});
    EXPECT_EQ(worker.core().band(BandIndex{0}).quota.used(), Bytes{200}) << peak;
    worker.succeed(10);
    worker.ignore();
  }
}

TEST(MeasuredPeak, TheLargestCountsAndFades) {
  WorkerHarness worker{2, Bytes{300}, with_peaks(1, 0)};
  worker.template_at(0).request.memory = Bytes{200};
  const auto granted = [&](std::uint32_t subtask) {
    worker.assign({{.subtask = subtask}});
    EXPECT_EQ(worker.started(), List{subtask});
    const Bytes used = worker.core().band(BandIndex{0}).quota.used();
    worker.succeed(subtask);
    worker.ignore();
    return used;
  };
  run_measured(worker, 0, 1, Bytes{160});
  run_measured(worker, 1, 1, Bytes{10});
  EXPECT_EQ(granted(2), Bytes{150});
  run_measured(worker, 3, 60, Bytes{10});
  EXPECT_LT(granted(100), Bytes{30});
}

TEST(MeasuredPeak, ARunThatFailedForLackOfMemoryGivesTheNextItsFullRequest) {
  WorkerHarness worker{2, Bytes{300}, with_peaks(1, 25)};
  worker.template_at(0).request.memory = Bytes{200};
  run_measured(worker, 0, 1, Bytes{50});
  worker.assign({{.subtask = 1}});
  EXPECT_EQ(worker.started(), List{1});
  FailureDetail failure;
  failure.failure = FailureClass::OutOfMemory;
  failure.peak_memory_bytes = 210;
  RunEnd end = worker.end_of(1);
  end.succeeded = false;
  end.failure = &failure;
  worker.handle(worker_event::RunsEnded{std::span{&end, 1}});
  worker.ignore();
  worker.assign({{.subtask = 2}});
  EXPECT_EQ(worker.started(), List{2});
  EXPECT_EQ(worker.core().band(BandIndex{0}).quota.used(), Bytes{200});
  worker.succeed(2);
  worker.ignore();
}

TEST(MeasuredPeak, IsRememberedFromJobToJob) {
  WorkerHarness worker{2, Bytes{300}, with_peaks(3, 25)};
  worker.template_at(0).request.memory = Bytes{200};
  run_measured(worker, 0, 3, Bytes{100});
  worker.receive(ForgetJob{JobId{1}});
  worker.ignore();
  EXPECT_EQ(worker.core().job_count(), 0U);
  worker.assign({{.subtask = 0}, {.subtask = 1}}, 2);
  EXPECT_EQ(worker.started(), (List{0, 1}));
  worker.succeed(0, {}, 2);
  worker.succeed(1, {}, 2);
  worker.ignore();
}

void measure(WorkerHarness& worker, const RunEnd& run, Bytes used) {
  const RunMemory memory{run.record, run.attempt, used};
  worker.handle(worker_event::RunsMeasured{std::span{&memory, 1}});
}

void end(WorkerHarness& worker, const RunEnd& run) { worker.handle(worker_event::RunsEnded{std::span{&run, 1}}); }

TEST(MeasuredPeak, AGrantGrowsWithWhatItsRunUsesAndSoDoesTheNext) {
  WorkerHarness worker{2, Bytes{300}, with_peaks(3, 0)};
  worker.template_at(0).request.memory = Bytes{200};
  run_measured(worker, 0, 3, Bytes{50});
  const Band& band = worker.core().band(BandIndex{0});
  worker.assign({{.subtask = 10}});
  EXPECT_EQ(worker.started(), List{10});
  const RunEnd run = worker.end_of(10);
  measure(worker, run, Bytes{40});
  EXPECT_EQ(band.quota.used(), Bytes{50});
  PENSTOCK_EXPECT_COVERAGE_MARK("a grant grew with what its run used", measure(worker, run, Bytes{180}));
  EXPECT_EQ(band.quota.used(), Bytes{180});
  EXPECT_EQ(worker.core().counters().grown, 1U);
  worker.assign({{.subtask = 11}});
  EXPECT_EQ(worker.started(), List{}) << "it would be granted 180, too";
  end(worker, run);
  EXPECT_EQ(worker.started(), List{11});
  EXPECT_EQ(band.quota.used(), Bytes{180});
  worker.succeed(11);
  EXPECT_EQ(band.quota.used(), Bytes{0});
  worker.ignore();
}

TEST(MeasuredPeak, AGrantGrowsToTheRequestAndToWhatOthersHaveLeft) {
  WorkerHarness worker{2, Bytes{300}, with_peaks(1, 0)};
  worker.template_at(0).request.memory = Bytes{200};
  run_measured(worker, 0, 1, Bytes{50});
  const Band& band = worker.core().band(BandIndex{0});
  worker.assign({{.subtask = 10}, {.subtask = 11}});
  EXPECT_EQ(worker.started(), (List{10, 11}));
  const RunEnd one = worker.end_of(10);
  const RunEnd other = worker.end_of(11);
  measure(worker, one, Bytes{1000});
  EXPECT_EQ(band.quota.used(), Bytes{250});
  measure(worker, other, Bytes{1000});
  EXPECT_EQ(band.quota.used(), Bytes{300});
  end(worker, one);
  end(worker, other);
  EXPECT_EQ(band.quota.used(), Bytes{0});
  worker.ignore();
}

TEST(MeasuredPeak, WhatIsSaidOfARunThatHasEndedIsNotHeard) {
  WorkerHarness worker{2, Bytes{300}, with_peaks(1, 0)};
  worker.template_at(0).request.memory = Bytes{200};
  worker.assign({{.subtask = 0}});
  EXPECT_EQ(worker.started(), List{0});
  const RunEnd run = worker.end_of(0);
  end(worker, run);
  for (const std::uint16_t attempt : {0, 1, 2}) {
    for (const std::uint32_t record : {run.record.value(), 7U, UINT32_MAX}) {
      const RunMemory memory{RecordIndex{record}, Attempt{attempt}, Bytes{100}};
      worker.handle(worker_event::RunsMeasured{std::span{&memory, 1}});
    }
  }
  EXPECT_EQ(worker.core().band(BandIndex{0}).quota.used(), Bytes{0});
  EXPECT_EQ(worker.core().counters().grown, 0U);
  worker.ignore();
}

TEST(Explain, NamesTheLatchWithNumbers) {
  WorkerHarness worker{1, Bytes{300}};
  worker.template_at(1).request.memory = Bytes{200};
  worker.assign({{.subtask = 0, .template_index = 1},
                 {.subtask = 1, .template_index = 1},
                 {.subtask = 2, .missing = {0, 1}},
                 {.subtask = 3, .inputs = {{SubtaskIndex{9}, 0, InputPlace::Remote, WorkerId{2}, 10}}},
                 {.subtask = 4}});
  const auto reason = [&](std::uint32_t subtask) {
    return worker.core().explain({JobId{1}, SubtaskIndex{subtask}}).reason;
  };
  EXPECT_EQ(reason(0), "runs in slot 0 of numa-0");
  EXPECT_EQ(reason(1), "waits for 200 bytes of memory; 200 of 300 are granted on numa-0");
  EXPECT_EQ(reason(2), "waits for 2 producers");
  EXPECT_EQ(reason(3), "waits for 1 inputs to arrive");
  EXPECT_EQ(reason(4), "in the execution queue of numa-0, 0 before it, held by milli-slots 1000 > 0");
  EXPECT_FALSE(worker.core().explain({JobId{1}, SubtaskIndex{55}}).known);
  EXPECT_FALSE(worker.core().explain({JobId{2}, SubtaskIndex{0}}).known);
  worker.ignore();
}

CancelBatch preempt(std::vector<std::uint32_t> subtasks, Duration grace) {
  CancelBatch batch = cancel(std::move(subtasks), grace);
  batch.alone = batch.preempt = true;
  return batch;
}

// The run was asked to save its progress and to leave: unless it succeeds it is returned, and has not failed.
TEST(Cancel, APreemptedRunIsAskedThenKilledAndReturned) {
  WorkerHarness worker{3};
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}, {.subtask = 3}});
  EXPECT_EQ(worker.started(), (List{0, 1, 2}));
  worker.receive(preempt({0, 1, 2, 3}, seconds{5}));
  EXPECT_EQ(worker.reports(), Lines{"3 Returned"}) << "what waits goes back at once";
  std::vector<worker_action::StopRun> stops = worker.take<worker_action::StopRun>();
  ASSERT_EQ(stops.size(), 3U);
  EXPECT_FALSE(stops[0].kill);
  PENSTOCK_EXPECT_COVERAGE_MARK("a preempted run succeeded within its grace", worker.succeed(0));
  worker.fail(1);
  EXPECT_EQ(worker.reports(), (Lines{"0 Succeeded", "1 Returned"}));
  worker.tick_after(seconds{5});
  stops = worker.take<worker_action::StopRun>();
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_TRUE(stops[0].kill);
  EXPECT_FALSE(stops[0].overdue) << "only a time limit is worth the whole process";
  worker.fail(2, FailureClass::RunnerCrash);
  EXPECT_EQ(worker.reports(), (Lines{"2 Started", "2 Returned"}));
}

TEST(Cancel, ACancelWinsOverAPreemption) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  EXPECT_EQ(worker.started(), List{0});
  worker.receive(preempt({0}, seconds{60}));
  worker.receive(cancel({0}));
  EXPECT_EQ(worker.take<worker_action::StopRun>().size(), 1U) << "it is asked once";
  worker.tick_after(seconds{1});
  EXPECT_EQ(worker.take<worker_action::StopRun>().size(), 1U) << "the shorter grace counts";
  worker.fail(0, FailureClass::RunnerCrash);
  EXPECT_EQ(worker.reports(), (Lines{"0 Started", "0 Cancelled"}));
}

}  // namespace
}  // namespace penstock::worker
