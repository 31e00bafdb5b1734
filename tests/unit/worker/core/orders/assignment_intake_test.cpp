// AssignmentIntake: assignments, attachments, steals, drains, entitlements.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/worker_harness.hpp"

namespace penstock::worker {
namespace {

using List = std::vector<std::uint32_t>;
using Lines = std::vector<std::string>;

TEST(Arrivals, SubtasksRunByPriorityAndReportInOrder) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0, .priority = 1}, {.subtask = 1, .priority = 3}, {.subtask = 2, .priority = 2}});
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  EXPECT_EQ(worker.started(), List{2});
  worker.succeed(2);
  EXPECT_EQ(worker.started(), List{0});
  worker.succeed(0);
  EXPECT_EQ(worker.reports(), (Lines{"1 Succeeded", "2 Succeeded", "0 Succeeded"}));
  EXPECT_EQ(worker.core().live_records(), 0U);
}

TEST(Arrivals, ALiveAttemptAttachesAndAnOlderOneIsIgnored) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0, .attempt = 2}});
  worker.assign({{.subtask = 0, .attempt = 2}});
  worker.assign({{.subtask = 0, .attempt = 1}});
  EXPECT_EQ(worker.started(), List{0});
  worker.succeed(0);
  EXPECT_EQ(worker.reports(), (Lines{"0 Succeeded"}));
  EXPECT_EQ(worker.core().counters().stale, 2U);
}

TEST(Arrivals, ANewerAttemptBesideALiveOneIsGivenBack) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0, .attempt = 1}});
  const SubtaskSpec newer{.subtask = 0, .attempt = 2};
  PENSTOCK_EXPECT_COVERAGE_MARK("a newer attempt met a live one", worker.assign({newer}));
  EXPECT_EQ(worker.started(), List{0});
  worker.succeed(0);
  EXPECT_EQ(worker.reports(), (Lines{"0 Returned", "0 Succeeded"}));
}

TEST(Arrivals, ABatchThatContradictsItselfIsRefusedWhole) {
  WorkerHarness worker{1};
  AssignBatch batch;
  batch.job = JobId{1};
  batch.templates = {{TemplateIndex{0}, Template{}}};
  Assignment good;
  good.subtask = SubtaskIndex{0};
  good.template_index = TemplateIndex{0};
  good.attempt = Attempt{1};
  good.band = BandIndex{0};
  Assignment bad = good;
  bad.subtask = SubtaskIndex{1};
  for (const auto& spoil :
       {+[](Assignment& a) { a.band = BandIndex{9}; }, +[](Assignment& a) { a.template_index = TemplateIndex{4}; },
        +[](Assignment& a) { a.input_count = 1; }, +[](Assignment& a) { a.payload_bytes = 7; }}) {
    Assignment spoiled = bad;
    spoil(spoiled);
    batch.assignments = {good, spoiled};
    worker.receive(batch);
    EXPECT_EQ(worker.take<worker_action::Reject>().size(), 1U);
  }
  EXPECT_EQ(worker.core().live_records(), 0U);
  EXPECT_EQ(worker.core().job_count(), 0U);
}

TEST(Arrivals, ProgramsHaveTheOwnerAndTheSecretsOfTheirJob) {
  for (const RunnerKind runner : {RunnerKind::Command, RunnerKind::Process, RunnerKind::Native}) {
    WorkerHarness worker{1};
    AssignBatch batch;
    batch.job = JobId{1};
    batch.owner = "ada";
    batch.secrets = {{"KEY", "hush"}};
    batch.templates = {{TemplateIndex{0}, Template{}}};
    batch.templates[0].content.runner = runner;
    Assignment only;
    only.subtask = SubtaskIndex{0};
    only.template_index = TemplateIndex{0};
    only.attempt = Attempt{1};
    only.band = BandIndex{0};
    batch.assignments = {only};
    worker.receive(batch);
    const auto started = worker.take<worker_action::StartSubtask>();
    ASSERT_EQ(started.size(), 1U);
    EXPECT_EQ(*started[0].program->user, "ada");
    const Lines wanted = runner == RunnerKind::Native ? Lines{} : Lines{"KEY=hush"};
    EXPECT_EQ(started[0].program->environment, wanted)
        << "operators run in the worker, which has an environment of its own";
  }
}

// Issue 21, point 2.
TEST(Arrivals, AnotherJobOfAKnownNumberIsGivenBackUntilThatOneIsForgotten) {
  WorkerHarness worker{1};
  AssignBatch batch;
  batch.job = JobId{1};
  batch.identity = {1, 2};
  batch.templates = {{TemplateIndex{0}, Template{}}};
  Assignment only;
  only.subtask = SubtaskIndex{0};
  only.template_index = TemplateIndex{0};
  only.attempt = Attempt{1};
  only.band = BandIndex{0};
  batch.assignments = {only};
  worker.receive(batch);
  EXPECT_EQ(worker.core().identity_of(JobId{1}), (JobIdentity{1, 2}));
  const auto started = worker.take<worker_action::StartSubtask>();
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].identity, (JobIdentity{1, 2})) << "the runner names the attempt by it";
  batch.identity = {3, 4};
  PENSTOCK_EXPECT_COVERAGE_MARK("a supervisor means another job of that number", worker.receive(batch));
  EXPECT_EQ(worker.started(), List{});
  const auto told = worker.take<worker_action::SendReport>();
  ASSERT_EQ(told.size(), 1U);
  ASSERT_EQ(told[0].batch.jobs.size(), 1U);
  EXPECT_EQ(told[0].batch.jobs[0].identity, (JobIdentity{3, 4}));
  EXPECT_EQ(told[0].batch.jobs[0].attempts[0].outcome, Outcome::Returned);
  worker.succeed(0);
  worker.ignore();
  worker.receive(ForgetJob{JobId{1}});
  worker.ignore();
  worker.receive(batch);
  EXPECT_EQ(worker.started(), List{0});
  worker.succeed(0);
  worker.ignore();
}

TEST(Arrivals, OnlyWhatIsNotPreparedCanBeStolen) {
  WorkerConfig config;
  config.prepare_permits_extra = 0;
  WorkerHarness worker{1, kGiB, config};
  worker.template_at(0).request.memory = kMiB;
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}, {.subtask = 3, .missing = {0}}});
  EXPECT_EQ(worker.started(), List{0});
  // 0 runs, 1 is prepared, 2 waits in the prepare queue, 3 is cached.
  StealRequest request{JobId{1}, {}};
  for (const std::uint32_t i : {0U, 1U, 2U, 3U, 9U}) request.attempts.push_back({SubtaskIndex{i}, Attempt{1}});
  PENSTOCK_EXPECT_COVERAGE_MARK("a steal came too late", worker.receive(request));
  EXPECT_EQ(worker.reports(), (Lines{"2 Returned", "3 Returned"}));
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  EXPECT_EQ(worker.reports(), (Lines{"0 Succeeded", "1 Succeeded"}));
}

// The subtask has come to the execution queue at once, but nothing of this worker is in it.
TEST(Arrivals, WhatHadNothingToPrepareCanBeStolenUntilItRuns) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}, {.subtask = 1}});
  EXPECT_EQ(worker.started(), List{0});
  EXPECT_EQ(worker.core().band(BandIndex{0}).execute.waiting(), 1U);
  worker.receive(StealRequest{JobId{1}, {{SubtaskIndex{1}, Attempt{1}}}});
  EXPECT_EQ(worker.reports(), Lines{"1 Returned"});
  worker.succeed(0);
  worker.reports();
}

TEST(Arrivals, AStealOfAnotherAttemptIsIgnored) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}, {.subtask = 1, .missing = {0}}});
  worker.receive(StealRequest{JobId{1}, {{SubtaskIndex{1}, Attempt{2}}}});
  worker.succeed(0);
  EXPECT_EQ(worker.started(), (List{0, 1}));
  worker.succeed(1);
  worker.reports();
}

TEST(Arrivals, ADrainingWorkerFinishesWhatRunsAndReturnsTheRest) {
  WorkerConfig config;
  config.prepare_permits_extra = 0;
  WorkerHarness worker{1, kGiB, config};
  worker.template_at(0).request.memory = kMiB;
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}, {.subtask = 3, .missing = {2}}});
  EXPECT_EQ(worker.started(), List{0});
  worker.receive(Drain{true});
  auto states = worker.take<worker_action::SendDrainState>();
  ASSERT_EQ(states.size(), 1U);
  EXPECT_FALSE(states[0].state.empty);
  worker.assign({{.subtask = 4}});
  EXPECT_EQ(worker.reports(), (Lines{"3 Returned", "2 Returned", "4 Returned"}));
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{1});  // Subtask 1 was prepared.
  worker.succeed(1);
  states = worker.take<worker_action::SendDrainState>();
  ASSERT_EQ(states.size(), 1U);
  EXPECT_TRUE(states[0].state.empty);
  EXPECT_EQ(worker.reports(), (Lines{"0 Succeeded", "1 Succeeded"}));
}

TEST(Arrivals, EntitlementsLatchAJobAndOldVersionsAreIgnored) {
  WorkerHarness worker{4};
  worker.assign({});
  worker.receive(EntitlementBatch{2, {{JobId{1}, BandIndex{0}, kOneSlot, 0}}});
  worker.receive(EntitlementBatch{1, {{JobId{1}, BandIndex{0}, kOneSlot * 4, 0}}});
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}});
  EXPECT_EQ(worker.started(), List{0});
  worker.receive(EntitlementBatch{3, {{JobId{1}, BandIndex{0}, kOneSlot * 2, 0}}});
  EXPECT_EQ(worker.started(), List{1});
  for (std::uint32_t i = 0; i < 3; ++i) worker.succeed(i);
  worker.ignore();
}

// A supervisor that was started anew numbers what it makes of the graph's templates as they come.
TEST(Arrivals, ATemplateThatIsSaidAnewIsThatOfAllThatComesThen) {
  WorkerHarness worker{1};
  worker.template_at(0).program = "first";
  worker.assign({{.subtask = 0}, {.subtask = 1}});
  worker.template_at(0).program = "second";
  worker.assign({{.subtask = 2}});
  const auto next_program = [&] {
    const auto starts = worker.take<worker_action::StartSubtask>();
    return starts.empty() ? std::string{} : starts[0].program->program;
  };
  EXPECT_EQ(next_program(), "first");
  worker.succeed(0);
  EXPECT_EQ(next_program(), "first") << "it was assigned before";
  worker.succeed(1);
  EXPECT_EQ(next_program(), "second");
  worker.succeed(2);
  worker.receive(ForgetJob{JobId{1}});
  worker.ignore();
}

// A permit to prepare is a whole slot: nothing would ever be prepared for half of one.
TEST(Arrivals, WhatIsEntitledToAPartOfASlotIsPreparedAndRuns) {
  WorkerHarness worker{4};
  worker.receive(EntitlementBatch{1, {{JobId{1}, BandIndex{0}, MilliSlots{500}, 0}}});
  worker.template_at(0).request.slots = MilliSlots{500};
  worker.template_at(0).request.memory = kMiB;
  worker.assign({{.subtask = 0}});
  EXPECT_EQ(worker.started(), List{0});
  worker.ignore();
}

// The entitlement comes before the job's first assignment: the assignment must find the latch closed.
TEST(Arrivals, AnEntitlementMayComeBeforeItsJob) {
  WorkerHarness worker{4};
  worker.receive(
      EntitlementBatch{1, {{JobId{1}, BandIndex{0}, kOneSlot * 2, 0}, {JobId{2}, BandIndex{0}, MilliSlots::max(), 0}}});
  EXPECT_EQ(worker.core().job_count(), 1U) << "where there is no limit nothing is to be remembered";
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}});
  EXPECT_EQ(worker.started(), (List{0, 1}));
  worker.ignore();
}

// A job at its entitlement must not sit on the prepare permits: the other job's subtasks could not be prepared.
TEST(Arrivals, AJobAtItsEntitlementLeavesPermitsToOthers) {
  WorkerHarness worker{2};
  worker.assign({}, 1);
  worker.receive(EntitlementBatch{1, {{JobId{1}, BandIndex{0}, kOneSlot, 0}}});
  std::vector<SubtaskSpec> many;
  for (std::uint32_t i = 0; i < 20; ++i) many.push_back({.subtask = i, .priority = 9});
  worker.assign(many, 1);
  worker.assign({{.subtask = 0}}, 2);
  EXPECT_EQ(worker.core().band(BandIndex{0}).execute.holding(), 2U);
  worker.ignore();
}

TEST(Arrivals, PriorityChangesReachEveryQueue) {
  WorkerConfig config;
  config.prepare_permits_extra = 1;
  WorkerHarness worker{1, kGiB, config};
  worker.template_at(0).request.memory = kMiB;
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}, {.subtask = 3}, {.subtask = 4, .missing = {0}}});
  EXPECT_EQ(worker.started(), List{0});
  worker.receive(PriorityBatch{
      JobId{1},
      false,
      0,
      {{SubtaskIndex{3}, std::uint64_t{8} << 32U}, {SubtaskIndex{4}, std::uint64_t{9} << 32U}, {SubtaskIndex{77}, 1}}});
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{4});
  worker.succeed(4);
  EXPECT_EQ(worker.started(), List{1});  // Was prepared before the change, and so was nothing else.
  worker.succeed(1);
  EXPECT_EQ(worker.started(), List{3});
  worker.succeed(3);
  worker.succeed(2);
  worker.ignore();
}

TEST(Arrivals, APriorityMayFallToo) {
  WorkerConfig config;
  config.prepare_permits_extra = 0;
  WorkerHarness worker{1, kGiB, config};
  worker.assign({{.subtask = 0, .priority = 9},
                 {.subtask = 1, .priority = 7},
                 {.subtask = 2, .priority = 5},
                 {.subtask = 3, .priority = 1, .missing = {0}}});
  EXPECT_EQ(worker.started(), List{0});
  worker.receive(PriorityBatch{JobId{1}, false, 0, {{SubtaskIndex{1}, std::uint64_t{3} << 32U}}});
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{2});
  worker.succeed(2);
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  EXPECT_EQ(worker.started(), List{3});
  worker.succeed(3);
  worker.ignore();
}

TEST(Arrivals, AChangedPriorityReachesWhoWaitsForMemory) {
  WorkerHarness worker{4, kMiB};
  worker.template_at(0).request.memory = kMiB;
  worker.assign({{.subtask = 0, .priority = 9}, {.subtask = 1, .priority = 5}, {.subtask = 2, .priority = 3}});
  EXPECT_EQ(worker.started(), List{0});
  EXPECT_EQ(worker.core().band(BandIndex{0}).quota.waiting(), 2U);
  worker.receive(PriorityBatch{JobId{1}, false, 0, {{SubtaskIndex{2}, std::uint64_t{8} << 32U}}});
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{2});
  worker.succeed(2);
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  worker.ignore();
}

// Were a full worker to give back the producers of its own cached successors, nothing would ever move.
TEST(Arrivals, AtTheLimitCachedSuccessorsAreReturnedAndAtTwiceTheLimitEverything) {
  WorkerConfig config;
  config.subtasks_max = 1;
  WorkerHarness worker{1, kGiB, config};
  const std::vector<SubtaskSpec> four{{.subtask = 0}, {.subtask = 3, .missing = {0}}, {.subtask = 1}, {.subtask = 2}};
  PENSTOCK_EXPECT_COVERAGE_MARK("a full worker gave an assignment back", worker.assign(four));
  EXPECT_EQ(worker.started(), List{0});
  EXPECT_EQ(worker.reports(), (Lines{"3 Returned", "2 Returned"}));
  worker.succeed(0);
  worker.succeed(1);
  worker.ignore();
}

// Seed 821017888 of the simulator with a policy: a restart left a worker full of what a limit held, and the job that
// the limit let run found no room there.
TEST(Arrivals, AFullWorkerGivesBackFirstWhatItsJobMayNotStart) {
  WorkerConfig config;
  config.subtasks_max = 1;
  WorkerHarness worker{1, kGiB, config};
  constexpr std::uint32_t kClosed = 2;
  worker.assign({{.subtask = 7}, {.subtask = 8}}, kClosed);
  EXPECT_EQ(worker.started(), List{7});
  worker.receive(EntitlementBatch{1, {{JobId{kClosed}, BandIndex{0}, MilliSlots{}, 0, 0}}});
  PENSTOCK_EXPECT_COVERAGE_MARK("a full worker gave back what its job may not start", worker.assign({{.subtask = 0}}));
  EXPECT_EQ(worker.reports(), Lines{"8 Returned"});
  PENSTOCK_EXPECT_COVERAGE_MARK("a full worker gave an assignment back", worker.assign({{.subtask = 1}}));
  EXPECT_EQ(worker.reports(), Lines{"1 Returned"}) << "7 runs, and stays";
  worker.succeed(7, {}, kClosed);
  EXPECT_EQ(worker.started(), List{0});
  worker.ignore();
}

/// Two licences. An item that waits for both keeps the free one from those behind it as soon as `bypass_max` have
/// passed it.
struct TwoLicences : ::testing::Test {
  static BandDescription band() {
    BandDescription band = WorkerHarness::band(3, kGiB);
    band.capacity.named = {{"licence", 2}};
    return band;
  }
  static WorkerHarness with(std::uint32_t bypass_max) {
    WorkerConfig config;
    config.bypass_max = bypass_max;
    return WorkerHarness{band(), config};
  }
  static void make_templates(WorkerHarness& worker) {
    worker.template_at(0).request.named = {{"licence", 1}};
    worker.template_at(1).request.named = {{"licence", 2}};
  }
};

// Found by seed 40008935 of the simulator.
TEST_F(TwoLicences, WhatComesBeforeAKeeperByItsNewPriorityStartsAtOnce) {
  WorkerHarness worker = with(1);
  make_templates(worker);
  worker.assign({{.subtask = 0, .priority = 9}, {.subtask = 1, .priority = 5, .template_index = 1}});
  EXPECT_EQ(worker.started(), List{0});
  worker.assign({{.subtask = 2, .priority = 1}});
  EXPECT_EQ(worker.started(), List{2}) << "the one that wants both is passed once";
  worker.succeed(2);
  worker.assign({{.subtask = 0}}, 2);
  EXPECT_EQ(worker.started(), List{}) << "the free one is kept";
  worker.receive(PriorityBatch{JobId{2}, true, 10, {}});
  EXPECT_EQ(worker.started(), List{0});
  worker.ignore();
}

// Found by seed 50011217 of the simulator: without limits jobs come in the order of their sequence again.
TEST_F(TwoLicences, WhatComesBeforeAKeeperWhenTheLastLimitedJobIsForgottenStartsAtOnce) {
  WorkerHarness worker = with(0);
  make_templates(worker);
  worker.receive(EntitlementBatch{1, {{JobId{1}, BandIndex{0}, kOneSlot, 0}}});
  worker.assign({{.subtask = 0}}, 3);
  EXPECT_EQ(worker.started(), List{0});
  worker.succeed(0, {}, 3);
  worker.assign({{.subtask = 0}, {.subtask = 1}}, 4);
  EXPECT_EQ(worker.started(), (List{0, 1}));
  worker.assign({{.subtask = 1}}, 3);
  worker.assign({{.subtask = 0, .template_index = 1}}, 2);
  worker.succeed(1, {}, 4);
  EXPECT_EQ(worker.started(), List{}) << "job 3 has been served, and job 2 keeps the licence from it";
  worker.receive(ForgetJob{JobId{1}});
  EXPECT_EQ(worker.started(), List{1});
  worker.ignore();
}

TEST(Arrivals, AForgottenJobLeavesNothingBehind) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2, .missing = {0, 1}}});
  worker.started();
  worker.succeed(0, {{0, 100}});
  worker.started();
  worker.receive(ForgetJob{JobId{1}});
  EXPECT_EQ(worker.take<worker_action::StopRun>().size(), 1U);
  worker.fail(1, FailureClass::RunnerCrash);
  EXPECT_EQ(worker.core().live_records(), 0U);
  EXPECT_EQ(worker.core().data_count(), 0U);
  EXPECT_EQ(worker.core().job_count(), 0U);
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
  worker.ignore();
}

}  // namespace
}  // namespace penstock::worker
