// SubtaskFlow: prepare, fetch, quota, forwarding.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/worker_harness.hpp"

namespace penstock::worker {
namespace {

using List = std::vector<std::uint32_t>;
using Lines = std::vector<std::string>;

AssignedInput remote(std::uint32_t producer, std::int64_t bytes, std::uint32_t worker = 7) {
  return {SubtaskIndex{producer}, 0, InputPlace::Remote, WorkerId{worker}, bytes};
}
AssignedInput missing_data(std::uint32_t producer) {
  return {SubtaskIndex{producer}, 0, InputPlace::Missing, WorkerId{}, 0};
}

// Reference case: cached successor S, producer P on the only slot.
TEST(Forwarding, ASuccessorRunsWithoutBeingSubmitted) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}, {.subtask = 1, .missing = {0}}});
  EXPECT_EQ(worker.started(), List{0});
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  EXPECT_EQ(worker.reports(), (Lines{"0 Succeeded", "1 Succeeded"}));
  EXPECT_EQ(worker.core().counters().forward_hits, 1U);
}

TEST(Forwarding, TwoProducersThatFinishAtOnceStartItOnce) {
  WorkerHarness worker{2};
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2, .missing = {0, 1}}});
  EXPECT_EQ(worker.started(), (List{0, 1}));
  worker.succeed_both(0, 1);
  EXPECT_EQ(worker.started(), List{2});
  worker.succeed(2);
  EXPECT_EQ(worker.reports(), (Lines{"0 Succeeded", "1 Succeeded", "2 Succeeded"}));
}

// Reference case: a submit of S races its forward.
TEST(Forwarding, ASubmitThatRacesItsForwardStartsItOnce) {
  for (const bool submitted_first : {true, false}) {
    WorkerHarness worker{2};
    worker.assign({{.subtask = 0}, {.subtask = 1, .missing = {0}}});
    if (submitted_first) worker.assign({{.subtask = 1}});
    worker.succeed(0);
    if (!submitted_first) worker.assign({{.subtask = 1}});
    EXPECT_EQ(worker.started(), (List{0, 1}));
    worker.succeed(1);
    EXPECT_EQ(worker.reports(), (Lines{"0 Succeeded", "1 Succeeded"}));
  }
}

TEST(Forwarding, AProducerElsewhereCountsByItsNotice) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}, {.subtask = 2, .missing = {0, 1}}});
  worker.started();
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{});
  const InputNoticeBatch notice{JobId{1}, {{SubtaskIndex{1}, EdgeKind::kOrderOnly, WorkerId{4}, 0}}};
  worker.receive(notice);
  worker.receive(notice);
  EXPECT_EQ(worker.started(), List{2});
  worker.succeed(2);
  worker.ignore();
}

// Found by the simulator: the supervisor applies a report, but says so only when it is on its disk.
TEST(Forwarding, AProducerWhoseDataWereDroppedIsWaitedForAgain) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.succeed(0, {{0, 50}});
  worker.ignore();
  worker.receive(DropBatch{JobId{1}, false, {{SubtaskIndex{0}, 0}}});
  worker.ignore();
  worker.assign({{.subtask = 1, .missing = {0}}});
  EXPECT_EQ(worker.started(), List{});
  worker.ignore();
}

TEST(Forwarding, AProducerReportedButNotAppliedIsKnownToHaveFinished) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}});
  worker.succeed(0);
  EXPECT_EQ(worker.reports(), (Lines{"0 Succeeded"}));
  // The supervisor had not seen the report when it wrote this.
  const SubtaskSpec late{.subtask = 1, .missing = {0}};
  PENSTOCK_EXPECT_COVERAGE_MARK("producers had finished before their successor arrived", worker.assign({late}));
  EXPECT_EQ(worker.started(), (List{0, 1}));
  worker.succeed(1);
  worker.receive(ReportsApplied{1});
  worker.assign({{.subtask = 2, .missing = {0}}});
  EXPECT_EQ(worker.started(), List{});
  worker.ignore();
}

TEST(Forwarding, ARemoteInputTakesTheOrdinaryWay) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}, {.subtask = 2, .missing = {0}, .inputs = {remote(1, 100)}}});
  EXPECT_EQ(worker.started(), List{0});
  worker.succeed(0);
  EXPECT_EQ(worker.fetches(), List{1});
  EXPECT_EQ(worker.started(), List{});
  worker.fetched(1, 100);
  EXPECT_EQ(worker.started(), List{2});
  worker.succeed(2);
  EXPECT_EQ(worker.core().counters().forward_misses[static_cast<int>(ForwardResult::InputRemote)], 1U);
  worker.ignore();
}

TEST(Forwarding, ASpilledInputIsRestoredFirst) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}, {.subtask = 1, .inputs = {}}});
  worker.succeed(0, {{0, 64}});
  const DataKey key{{JobId{1}, SubtaskIndex{0}}, 0};
  worker.handle(worker_event::DatumSpilled{key});
  worker.started();
  worker.assign({{.subtask = 2, .missing = {1}, .inputs = {{SubtaskIndex{0}, 0, InputPlace::Here, {}, 64}}}});
  PENSTOCK_EXPECT_COVERAGE_MARK("a forward found its input on disk", worker.succeed(1));
  EXPECT_EQ(worker.take<worker_action::RestoreInput>().size(), 1U);
  EXPECT_EQ(worker.started(), List{});
  worker.handle(worker_event::DatumRestored{key, true});
  EXPECT_EQ(worker.started(), List{2});
  EXPECT_EQ(worker.core().counters().forward_misses[static_cast<int>(ForwardResult::InputSpilled)], 1U);
  worker.succeed(2);
  worker.ignore();
}

TEST(Forwarding, ASuccessorWhoseQuotaDoesNotFitQueuesForIt) {
  WorkerHarness worker{2, Bytes{300}};
  worker.template_at(1).request.memory = Bytes{200};
  worker.assign(
      {{.subtask = 0}, {.subtask = 1, .template_index = 1}, {.subtask = 2, .missing = {0}, .template_index = 1}});
  EXPECT_EQ(worker.started(), (List{0, 1}));
  PENSTOCK_EXPECT_COVERAGE_MARK("a forward found no memory", worker.succeed(0));
  EXPECT_EQ(worker.started(), List{});
  EXPECT_EQ(worker.core().counters().forward_misses[static_cast<int>(ForwardResult::Quota)], 1U);
  worker.succeed(1);
  EXPECT_EQ(worker.started(), List{2});
  worker.succeed(2);
  EXPECT_EQ(worker.core().band(BandIndex{0}).quota.used(), Bytes{0});
  worker.ignore();
}

// Where a job has no datum at all, nobody need look for the inputs of a forwarded successor; with one of another
// producer they are looked up one by one. The successor runs with as many inputs either way.
TEST(Forwarding, InputsThatAreAllEmptyAreCounted) {
  for (const bool other_datum : {false, true}) {
    WorkerHarness worker{1};
    worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2, .inputs = {missing_data(0), missing_data(1)}}});
    if (other_datum)
      worker.assign({{.subtask = 3, .missing = {2}, .inputs = {{SubtaskIndex{9}, 0, InputPlace::Remote, {}, 64}}}});
    worker.succeed(0);
    worker.take<worker_action::StartSubtask>();
    worker.succeed(1);
    const auto starts = worker.take<worker_action::StartSubtask>();
    ASSERT_EQ(starts.size(), 1U);
    EXPECT_EQ(starts[0].id.index, SubtaskIndex{2});
    EXPECT_EQ(starts[0].inputs.size(), other_datum ? 2U : 0U);
    EXPECT_EQ(starts[0].omitted_inputs, other_datum ? 0U : 2U);
    for (const RunInput& input : starts[0].inputs) EXPECT_TRUE(input.empty);
    worker.ignore();
  }
}

TEST(Forwarding, LocalOutputsArePinnedAndDroppedOnlyAfterTheLastReader) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 0}, {.subtask = 1, .inputs = {missing_data(0)}}});
  worker.succeed(0, {{0, 64}});
  EXPECT_EQ(worker.started(), (List{0, 1}));
  worker.receive(DropBatch{JobId{1}, false, {{SubtaskIndex{0}, 0}}});
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 0U);
  worker.succeed(1);
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
  EXPECT_EQ(worker.core().data_count(), 0U);
  worker.ignore();
}

/// The only failure since the last look is that the output of `producer` is lost, and nothing has started.
void expect_lost(WorkerHarness& worker, std::uint32_t producer) {
  EXPECT_EQ(worker.started(), List{});
  const auto failures = worker.failures();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].failure, FailureClass::InputLost);
  EXPECT_EQ(failures[0].lost_producer, SubtaskIndex{producer});
}

// Found by the simulator (seeds 73564, and 2626 and 3511 of level 3): a cached successor has counted its producer down,
// and its datum is dropped, whatever the reason, before the last producer has finished.
TEST(Prepare, AnInputThatIsDroppedBeforeItIsReadIsLostNotEmpty) {
  for (const bool lost : {true, false}) {
    WorkerHarness worker{1};
    worker.assign({{.subtask = 0}, {.subtask = 1, .missing = {5}, .inputs = {missing_data(0)}}});
    worker.started();
    worker.succeed(0, {{0, 64}});
    worker.receive(DropBatch{JobId{1}, lost, {{SubtaskIndex{0}, 0}}});
    EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
    worker.receive(InputNoticeBatch{JobId{1}, {{SubtaskIndex{5}, EdgeKind::kOrderOnly, WorkerId{4}, 0}}});
    expect_lost(worker, 0);
  }
}

TEST(Prepare, AFetchedCopyThatIsDroppedBeforeItIsReadIsLostNotEmpty) {
  WorkerHarness worker{1};
  worker.assign(
      {{.subtask = 1, .inputs = {remote(0, 64)}},
       {.subtask = 2, .missing = {5}, .inputs = {{SubtaskIndex{0}, 0, InputPlace::Remote, WorkerId{7}, 64}}}});
  EXPECT_EQ(worker.fetches(), List{0});
  worker.fetched(0, 64);
  worker.succeed(1);
  worker.ignore();
  worker.receive(DropBatch{JobId{1}, false, {{SubtaskIndex{0}, 0}}});
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
  worker.receive(InputNoticeBatch{JobId{1}, {{SubtaskIndex{5}, EdgeKind::kOrderOnly, WorkerId{4}, 0}}});
  expect_lost(worker, 0);
}

// An output that only an order edge waits for may be lost; a reader at the same worker must not take it for empty.
TEST(Prepare, ANoticeOfALostOutputStartsWhoWaitsAndFailsWhoReads) {
  WorkerHarness worker{2};
  worker.assign({{.subtask = 1, .missing = {0}}, {.subtask = 2, .inputs = {missing_data(0)}}});
  worker.receive(InputNoticeBatch{JobId{1}, {{SubtaskIndex{0}, 0, WorkerId::none(), 64}}});
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  expect_lost(worker, 0);
}

TEST(Prepare, AFetchedDatumOfAnotherSizeIsLost) {
  for (const std::int64_t came : {63, 65}) {
    WorkerHarness worker{1};
    worker.assign({{.subtask = 1, .inputs = {remote(0, 64)}}});
    EXPECT_EQ(worker.fetches(), List{0});
    worker.fetched(0, came);
    EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
    expect_lost(worker, 0);
  }
}

TEST(Prepare, ARestoredDatumOfAnotherSizeIsLost) {
  WorkerHarness worker{1};
  const DataKey key{{JobId{1}, SubtaskIndex{0}}, 0};
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.succeed(0, {{0, 64}});
  worker.handle(worker_event::DatumSpilled{key});
  worker.assign({{.subtask = 1, .inputs = {{SubtaskIndex{0}, 0, InputPlace::Here, {}, 64}}}});
  EXPECT_EQ(worker.take<worker_action::RestoreInput>().size(), 1U);
  worker.ignore();
  worker.handle(worker_event::DatumRestored{key, true, Bytes{63}});
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
  expect_lost(worker, 0);
}

TEST(Prepare, AnEmptyOutputBesideOneWithBytesIsEmpty) {
  for (const bool elsewhere : {false, true}) {
    WorkerHarness worker{1};
    worker.template_at(0).output_count = 2;
    AssignedInput second = missing_data(0);
    second.output = 1;
    if (!elsewhere) worker.assign({{.subtask = 0}});
    worker.started();
    worker.assign({{.subtask = 1, .inputs = {second}}});
    if (elsewhere)
      worker.receive(InputNoticeBatch{JobId{1}, {{SubtaskIndex{0}, 0, WorkerId{4}, 64}}});
    else
      worker.succeed(0, {{0, 64}});
    const auto starts = worker.take<worker_action::StartSubtask>();
    ASSERT_EQ(starts.size(), 1U);
    ASSERT_EQ(starts[0].inputs.size(), 1U);
    EXPECT_TRUE(starts[0].inputs[0].empty);
    worker.ignore();
  }
}

TEST(Prepare, AnInputThatItsAssignmentCallsEmptyIsEmpty) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 1, .inputs = {{SubtaskIndex{0}, 0, InputPlace::Here, {}, 0}, remote(2, 64)}}});
  EXPECT_EQ(worker.fetches(), List{2});
  worker.fetched(2, 64);
  const auto starts = worker.take<worker_action::StartSubtask>();
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_TRUE(starts[0].inputs[0].empty);
  EXPECT_FALSE(starts[0].inputs[1].empty);
  worker.ignore();
}

TEST(Prepare, OrderEdgesAreNeverFetched) {
  WorkerHarness worker{1};
  worker.assign(
      {{.subtask = 1, .inputs = {{SubtaskIndex{0}, EdgeKind::kOrderOnly, InputPlace::Remote, WorkerId{3}, 0}}}});
  EXPECT_EQ(worker.fetches(), List{});
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  worker.ignore();
}

TEST(Prepare, ConcurrentReadersShareOneTransferAndCancellingOneLeavesTheOther) {
  WorkerHarness worker{2};
  worker.assign({{.subtask = 1, .inputs = {remote(0, 50)}}, {.subtask = 2, .inputs = {remote(0, 50)}}});
  EXPECT_EQ(worker.fetches(), List{0});
  worker.receive(CancelBatch{JobId{1}, false, {{SubtaskIndex{1}, Attempt{1}}}, Duration{0}});
  EXPECT_EQ(worker.take<worker_action::CancelFetch>().size(), 0U);
  worker.fetched(0, 50);
  EXPECT_EQ(worker.started(), List{2});
  worker.succeed(2);
  EXPECT_EQ(worker.reports(), (Lines{"1 Cancelled", "2 Succeeded"}));
}

TEST(Prepare, ATransferThatNobodyWaitsForIsCancelled) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 1, .inputs = {remote(0, 50)}}});
  worker.fetches();
  const CancelBatch all{JobId{1}, true, {}, Duration{0}};
  PENSTOCK_EXPECT_COVERAGE_MARK("a transfer lost all who waited for it", worker.receive(all));
  EXPECT_EQ(worker.take<worker_action::CancelFetch>().size(), 1U);
  worker.fetched(0, 50);  // Too late: nobody keeps it.
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
  EXPECT_EQ(worker.started(), List{});
  worker.assign({{.subtask = 2, .inputs = {remote(0, 50)}}});
  EXPECT_EQ(worker.fetches(), List{0});
  worker.fetched(0, 50);
  worker.succeed(2);
  worker.ignore();
}

TEST(Prepare, TransfersAreBoundedAndGoByPriority) {
  WorkerConfig config;
  config.fetches_max = 1;
  WorkerHarness worker{4, kGiB, config};
  worker.assign({{.subtask = 10, .priority = 1, .inputs = {remote(0, 5)}},
                 {.subtask = 11, .priority = 1, .inputs = {remote(1, 5)}},
                 {.subtask = 12, .priority = 7, .inputs = {remote(2, 5)}}});
  // All three are prepared, best first, and one transfer runs at a time.
  EXPECT_EQ(worker.fetches(), List{2});
  worker.fetched(2, 5);
  EXPECT_EQ(worker.fetches(), List{0});
  worker.fetched(0, 5);
  EXPECT_EQ(worker.fetches(), List{1});
  worker.fetched(1, 5);
  EXPECT_EQ(worker.started(), (List{12, 10, 11}));
  for (const std::uint32_t i : {10U, 11U, 12U}) worker.succeed(i);
  worker.ignore();
}

TEST(Prepare, ATransferThatIsCancelledLeavesItsPlaceToTheNext) {
  WorkerConfig config;
  config.fetches_max = 1;
  WorkerHarness worker{4, kGiB, config};
  worker.assign({{.subtask = 10, .inputs = {remote(0, 5)}}, {.subtask = 11, .inputs = {remote(1, 5)}}});
  EXPECT_EQ(worker.fetches(), List{0});
  worker.receive(CancelBatch{JobId{1}, false, {{SubtaskIndex{10}, Attempt{1}}}});
  EXPECT_EQ(worker.fetches(), List{1});
  worker.ignore();
}

TEST(Prepare, ATransferThatFailsForAPassingReasonNamesWhatCouldNotBeGot) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 1, .inputs = {remote(7, 50)}}});
  worker.fetches();
  const FetchEnd end{DataKey{{JobId{1}, SubtaskIndex{7}}, 0}, false, {}, false};
  worker.handle(worker_event::FetchesEnded{{&end, 1}});
  const auto failures = worker.failures();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].failure, FailureClass::Transport);
  EXPECT_TRUE(is_unreachable_input(failures[0]));
  EXPECT_EQ(failures[0].lost_producer, SubtaskIndex{7});
  worker.ignore();
}

TEST(Prepare, AFailedTransferFailsAllWhoWait) {
  WorkerHarness worker{2};
  worker.assign({{.subtask = 1, .inputs = {remote(0, 50)}}, {.subtask = 2, .inputs = {remote(0, 50), remote(0, 50)}}});
  worker.fetches();
  const FetchEnd end{DataKey{{JobId{1}, SubtaskIndex{0}}, 0}, false, {}, true};
  worker.handle(worker_event::FetchesEnded{std::span{&end, 1}});
  const auto failures = worker.failures();
  ASSERT_EQ(failures.size(), 2U);
  EXPECT_EQ(failures[0].failure, FailureClass::InputLost);
}

// Found by the simulator (seed 1819): the lost producer of an input that is being fetched runs again right here.
TEST(Prepare, AnInputThatIsMadeHereReplacesItsTransfer) {
  WorkerHarness worker{2};
  worker.assign({{.subtask = 1, .inputs = {remote(0, 50)}}});
  EXPECT_EQ(worker.fetches(), List{0});
  worker.assign({{.subtask = 0, .attempt = 2}});
  worker.started();
  const std::vector<OutputReport> made{{0, 50}};
  PENSTOCK_EXPECT_COVERAGE_MARK("an input was made here while it was on its way", worker.succeed(0, made));
  EXPECT_EQ(worker.take<worker_action::CancelFetch>().size(), 1U);
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  worker.receive(DropBatch{JobId{1}, false, {{SubtaskIndex{0}, 0}}});
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
  worker.ignore();
}

TEST(Prepare, AnInputThatShouldBeHereAndIsNotIsLost) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 1, .inputs = {{SubtaskIndex{0}, 0, InputPlace::Here, {}, 10}}}});
  const auto failures = worker.failures();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].failure, FailureClass::InputLost);
  EXPECT_EQ(worker.core().live_records(), 0U);
}

TEST(Prepare, PinnedBytesBoundWhatIsPreparedButNeverTheFirst) {
  WorkerConfig config;
  config.prepare_bytes_max = kMiB;
  WorkerHarness worker{4, kGiB, config};
  const std::int64_t big = (kMiB * 2).value();
  worker.assign({{.subtask = 10, .inputs = {remote(0, big)}}, {.subtask = 11, .inputs = {remote(1, big)}}});
  EXPECT_EQ(worker.fetches(), List{0});
  worker.fetched(0, big);
  EXPECT_EQ(worker.started(), List{10});
  EXPECT_EQ(worker.fetches(), List{1});
  worker.fetched(1, big);
  worker.succeed(10);
  worker.succeed(11);
  worker.ignore();
}

TEST(Quota, RequestsThatDoNotFitTogetherRunOneAfterTheOther) {
  WorkerHarness worker{2, Bytes{300}};
  worker.template_at(0).request.memory = Bytes{200};
  worker.assign({{.subtask = 0}, {.subtask = 1}});
  EXPECT_EQ(worker.started(), List{0});
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  EXPECT_EQ(worker.core().band(BandIndex{0}).quota.used(), Bytes{0});
  worker.ignore();
}

TEST(Quota, ARequestAboveTheHardLimitIsRefusedWithTheNumbers) {
  WorkerHarness worker{1, Bytes{300}};
  worker.template_at(0).request.memory = Bytes{601};
  worker.assign({{.subtask = 0}});
  const auto failures = worker.failures();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].failure, FailureClass::Refused);
  EXPECT_NE(failures[0].message.find("601"), std::string::npos);
  EXPECT_NE(failures[0].message.find("600"), std::string::npos);
}

TEST(Quota, APreparedSubtaskGivesItsMemoryToOneOfHigherPriorityWhenNothingRuns) {
  WorkerHarness worker{2, Bytes{300}};
  worker.template_at(0).request.memory = Bytes{200};
  worker.template_at(1).request.memory = Bytes{250};
  // Job 1 is allowed nothing to run, but was prepared before the plan came.
  worker.assign({{.subtask = 0}});
  EXPECT_EQ(worker.started(), List{0});
  worker.assign({{.subtask = 1}});
  worker.receive(EntitlementBatch{1, {{JobId{1}, BandIndex{0}, MilliSlots{0}, 0}}});
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{});
  const SubtaskSpec urgent{.subtask = 0, .priority = 5, .template_index = 1};
  PENSTOCK_EXPECT_COVERAGE_MARK("a prepared subtask gave its memory back", worker.assign({urgent}, 2));
  EXPECT_EQ(worker.started(), List{0});
  EXPECT_EQ(worker.core().counters().demoted, 1U);
  worker.succeed(0, {}, 2);
  worker.receive(EntitlementBatch{2, {{JobId{1}, BandIndex{0}, kOneSlot, 0}}});
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  worker.ignore();
}

TEST(Quota, ANewPriorityOfAJobReachesThoseWhoWaitForMemory) {
  WorkerHarness worker{3, Bytes{300}};
  worker.template_at(0).request.memory = Bytes{250};
  for (std::uint32_t job = 1; job <= 3; ++job) worker.assign({{.subtask = 0}}, job);
  EXPECT_EQ(worker.take<worker_action::StartSubtask>().size(), 1U);
  worker.receive(PriorityBatch{JobId{3}, true, 10, {}});
  worker.succeed(0, {}, 1);
  const auto next = worker.take<worker_action::StartSubtask>();
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].id.job, JobId{3});
  worker.ignore();
}

/// A job that may hold less than one of its runs takes, and one that waits for the memory of what it has prepared.
void prepare_what_cannot_start(WorkerHarness& worker, std::int32_t job_priority, std::uint64_t priority) {
  worker.template_at(0).request.memory = Bytes{200};
  worker.template_at(1).request.memory = Bytes{250};
  worker.receive(EntitlementBatch{1, {{JobId{1}, BandIndex{0}, MilliSlots{500}, 0}}});
  worker.assign({{.subtask = 0, .priority = priority}});
  worker.receive(PriorityBatch{JobId{1}, true, job_priority, {}});
  EXPECT_EQ(worker.started(), List{});
  worker.assign({{.subtask = 0, .priority = 5, .template_index = 1}}, 2);
}

// A subtask was granted the memory anew each time, and gave it back, for ever.
TEST(Quota, WhatWouldBeFirstInLineAgainKeepsItsMemory) {
  WorkerHarness worker{2, Bytes{300}};
  prepare_what_cannot_start(worker, 10, 1);
  EXPECT_EQ(worker.core().counters().demoted, 0U);
  EXPECT_EQ(worker.started(), List{});
  worker.receive(EntitlementBatch{2, {{JobId{1}, BandIndex{0}, kOneSlot, 0}}});
  EXPECT_EQ(worker.started(), List{0});
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{0}) << "of the second job";
  worker.ignore();
}

TEST(Quota, APreparedSubtaskOfALowerJobGivesItsMemoryBackWhateverItsOwnPriority) {
  WorkerHarness worker{2, Bytes{300}};
  prepare_what_cannot_start(worker, -10, 9);
  EXPECT_EQ(worker.started(), List{0}) << "of the second job";
  EXPECT_EQ(worker.core().counters().demoted, 1U);
  worker.ignore();
}

// Found by `penstock-lab sim --seeds 160 --faults 0 --policy`.
TEST(Quota, WhatIsPreparedForAJobWithoutSlotsLetsGoOfItsPermit) {
  WorkerHarness worker{1, Bytes{1000}};
  worker.template_at(0).request.memory = Bytes{10};
  for (std::uint32_t i = 0; i < 20; ++i) worker.assign({{.subtask = i}});
  EXPECT_EQ(worker.started(), List{0});
  worker.receive(EntitlementBatch{1, {{JobId{1}, BandIndex{0}, MilliSlots{0}, 0}}});
  worker.assign({{.subtask = 0}}, 2);
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{0}) << "of the second job";
  worker.succeed(0, {}, 2);
  worker.receive(EntitlementBatch{2, {{JobId{1}, BandIndex{0}, kOneSlot, 0}}});
  EXPECT_EQ(worker.started().size(), 1U);
  worker.ignore();
}

}  // namespace
}  // namespace penstock::worker
