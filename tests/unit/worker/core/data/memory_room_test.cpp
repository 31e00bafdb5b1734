// Room for data in memory: back-pressure, what goes to disk and in which order, further copies (faults F41, F42).
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/worker_harness.hpp"

namespace penstock::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using List = std::vector<std::uint32_t>;
using Texts = std::vector<std::string>;

constexpr std::int64_t kStore = 1000;

WorkerConfig small_store() {
  WorkerConfig config;
  config.store_bytes_max = Bytes{kStore};
  config.store_wait_max = seconds{30};
  return config;
}

DataKey key(std::uint32_t producer) { return DataKey{{JobId{1}, SubtaskIndex{producer}}, 0}; }

AssignedInput here(std::uint32_t producer, std::int64_t bytes) {
  return {SubtaskIndex{producer}, 0, InputPlace::Here, {}, bytes};
}
AssignedInput remote(std::uint32_t producer, std::int64_t bytes) {
  return {SubtaskIndex{producer}, 0, InputPlace::Remote, WorkerId{7}, bytes};
}

List spills(WorkerHarness& worker) {
  List found;
  for (const auto& spill : worker.take<worker_action::SpillDatum>()) found.push_back(spill.key.producer.index.value());
  return found;
}
List releases(WorkerHarness& worker) {
  List found;
  for (const auto& release : worker.take<worker_action::ReleaseDatum>())
    found.push_back(release.key.producer.index.value());
  return found;
}
void spilled(WorkerHarness& worker, std::uint32_t producer, bool succeeded = true) {
  worker.handle(worker_event::DatumSpilled{key(producer), succeeded});
}

/// Runs a subtask without inputs that makes so many bytes.
void make(WorkerHarness& worker, std::uint32_t subtask, std::int64_t bytes) {
  worker.assign({{.subtask = subtask}});
  worker.started();
  worker.succeed(subtask, {{0, bytes}});
}

TEST(Room, NothingIsSpilledWithoutALimit) {
  WorkerHarness worker{1};
  make(worker, 0, std::int64_t{1} << 40);
  EXPECT_EQ(spills(worker), List{});
  EXPECT_EQ(worker.reports(), Texts{"0 Succeeded"});
}

// From 80 % on, down to 60 %, oldest first.
TEST(Room, WhatNobodyReadsGoesToDiskBeforeMemoryIsFull) {
  WorkerHarness worker{1, kGiB, small_store()};
  for (const std::uint32_t i : {0U, 1U, 2U, 3U}) make(worker, i, 200);
  EXPECT_EQ(spills(worker), List{});
  make(worker, 4, 1);
  EXPECT_EQ(spills(worker), (List{0, 1}));
  spilled(worker, 0);
  spilled(worker, 1);
  EXPECT_EQ(releases(worker), (List{0, 1}));
  worker.ignore();
}

TEST(Room, WhatIsReadLastIsSpilledFirstAndWhatIsReadNextIsNot) {
  WorkerHarness worker{1, kGiB, small_store()};
  for (const std::uint32_t i : {0U, 1U, 2U}) make(worker, i, 250);
  // One runs and pins its input, the others wait: for the slot, and for a producer that never ends here.
  worker.template_at(1).request.memory = kGiB;
  worker.assign({{.subtask = 10, .inputs = {here(1, 250)}, .template_index = 1}});
  EXPECT_EQ(worker.started(), (List{10}));
  worker.assign({{.subtask = 11, .priority = 9, .missing = {99}, .inputs = {here(0, 250)}},
                 {.subtask = 12, .priority = 1, .missing = {99}, .inputs = {here(2, 250)}}});
  worker.assign(
      {{.subtask = 13, .priority = 20, .missing = {99}, .inputs = {{SubtaskIndex{4}, 0, InputPlace::Missing, {}, 0}}}});
  worker.assign({{.subtask = 3, .priority = 20}});
  worker.succeed(10, {{0, 100}});
  EXPECT_EQ(worker.started(), List{3});
  EXPECT_EQ(spills(worker), (List{1}));  // Read by nobody any more, and older than 10.
  spilled(worker, 1);
  worker.succeed(3, {{0, 300}});
  EXPECT_EQ(spills(worker), (List{10, 3}));
  spilled(worker, 10);
  spilled(worker, 3);
  // Each of those that are left is read: 2 last of all, 4 first.
  make(worker, 4, 400);
  EXPECT_EQ(spills(worker), (List{2, 0}));
  worker.ignore();
}

// Clients of this host that read results in the worker's own memory.
void mapped(WorkerHarness& worker, const std::vector<DataKey>& here, std::int64_t beyond) {
  worker.handle(worker_event::DataMapped{here, Bytes{beyond}});
}

TEST(Room, WhatAnotherProcessHasMappedIsNotSpilledForThatWouldMakeNoRoom) {
  WorkerHarness worker{1, kGiB, small_store()};
  for (const std::uint32_t i : {0U, 1U, 2U, 3U}) make(worker, i, 200);
  mapped(worker, {key(0), key(2), key(99)}, 0);
  make(worker, 4, 1);
  EXPECT_EQ(spills(worker), (List{1, 3}));
  spilled(worker, 1);
  spilled(worker, 3);
  mapped(worker, {key(2)}, 0);  // The other one is an ordinary datum again.
  worker.tick_after(seconds{1});
  make(worker, 5, 500);
  EXPECT_EQ(spills(worker), (List{0, 4, 5}));
  worker.ignore();
}

TEST(Room, WhatWasDroppedTakesItsRoomUntilOthersHaveLetGo) {
  WorkerHarness worker{1, kGiB, small_store()};
  mapped(worker, {}, 600);
  make(worker, 0, 500);
  EXPECT_EQ(worker.reports(), Texts{}) << "it waits for room";
  mapped(worker, {}, 501);
  EXPECT_EQ(worker.reports(), Texts{}) << "a byte too much";
  mapped(worker, {}, 500);
  EXPECT_EQ(worker.reports(), Texts{"0 Succeeded"});
  worker.ignore();
}

// A client that never lets go: the wait ends as any other, and its failure names the cause.
TEST(Room, OutputsThatFindNoRoomBecauseOthersDoNotLetGoFailWithTheNumbers) {
  WorkerHarness worker{1, kGiB, small_store()};
  mapped(worker, {}, 600);
  make(worker, 0, 500);
  worker.tick_after(seconds{30});
  const std::vector<FailureDetail> failed = worker.failures();
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].code, ErrorCode::StorageFull);
  EXPECT_NE(failed[0].message.find("600 bytes of them were dropped, but clients of this host still read them"),
            std::string::npos)
      << failed[0].message;
  worker.ignore();
}

TEST(Room, OutputsThatFindNoRoomWaitAndHardlyAnythingStarts) {
  WorkerHarness worker{2, kGiB, small_store()};
  make(worker, 0, 700);
  worker.reports();
  worker.assign({{.subtask = 1}, {.subtask = 2}, {.subtask = 3}});
  EXPECT_EQ(worker.started(), (List{1, 2}));
  PENSTOCK_EXPECT_COVERAGE_MARK("outputs waited for room", worker.succeed(1, {{0, 500}}));
  EXPECT_EQ(worker.reports(), Texts{});
  EXPECT_EQ(worker.started(), List{});
  EXPECT_EQ(spills(worker), List{0});
  worker.succeed(2, {});
  EXPECT_EQ(worker.started(), List{});  // The disk is at work: soon there will be room.
  spilled(worker, 0);
  EXPECT_EQ(releases(worker), List{0});
  EXPECT_EQ(worker.started(), List{3});
  worker.succeed(3);
  EXPECT_EQ(worker.reports(), (Texts{"2 Succeeded", "1 Succeeded", "3 Succeeded"}));
  worker.ignore();
}

// Found by the simulator (seed 718): a subtask gave its memory back, was granted it anew and gave it back, for ever.
TEST(Room, NobodyGivesItsMemoryBackWhileNothingStartsForLackOfRoom) {
  WorkerHarness worker{1, Bytes{300}, small_store()};
  worker.template_at(1).request.memory = Bytes{200};
  worker.template_at(2).request.memory = Bytes{250};
  make(worker, 0, 850);
  EXPECT_EQ(spills(worker), List{0});
  worker.assign({{.subtask = 1}});
  EXPECT_EQ(worker.started(), List{1});
  worker.assign({{.subtask = 2, .template_index = 1}});
  worker.succeed(1, {{0, 500}});
  worker.assign({{.subtask = 3, .priority = 5, .template_index = 2}});
  EXPECT_EQ(worker.started(), List{});
  EXPECT_EQ(worker.core().counters().demoted, 0U);
  spilled(worker, 0);
  EXPECT_EQ(worker.started(), List{2});
  worker.ignore();
}

// Found by the simulator (seed 500075249 with a policy): the outputs of one job waited beside the inputs of another one
// that policy let hold nothing, until they failed as `StorageFull`.
TEST(Room, WhatIsPreparedAndMayNotRunGivesItsInputsBackForOutputsThatWait) {
  WorkerHarness worker{1, kGiB, small_store()};
  make(worker, 0, 700);
  worker.assign({{.subtask = 9}}, 2);
  EXPECT_EQ(worker.started(), List{9});
  worker.assign({{.subtask = 1, .inputs = {here(0, 700)}}});
  worker.receive(EntitlementBatch{1, {{JobId{1}, BandIndex{0}, MilliSlots{0}, 0}}});
  EXPECT_EQ(spills(worker), List{}) << "it is prepared, and its input is in use";
  PENSTOCK_EXPECT_COVERAGE_MARK("a prepared subtask gave its inputs back", worker.succeed(9, {{0, 500}}, 2));
  EXPECT_EQ(spills(worker), List{0});
  worker.reports();
  spilled(worker, 0);
  EXPECT_EQ(worker.reports(), Texts{"9 Succeeded"});
  // Subtask 1 is prepared again as soon as its job may hold a slot.
  EXPECT_EQ(worker.take<worker_action::RestoreInput>().size(), 0U);
  worker.receive(EntitlementBatch{2, {{JobId{1}, BandIndex{0}, MilliSlots{1000}, 0}}});
  EXPECT_EQ(worker.take<worker_action::RestoreInput>().size(), 1U);
  worker.ignore();
}

// Found by the simulator (seed 22): an output on its way to the disk was dropped, and nothing started for 30 s.
TEST(Room, WhenNothingRunsOrLeavesAnyMoreTheNextOneStarts) {
  WorkerHarness worker{1, kGiB, small_store()};
  make(worker, 0, 250);
  make(worker, 1, 600);
  EXPECT_EQ(spills(worker), List{0});
  worker.assign({{.subtask = 2}, {.subtask = 3, .inputs = {here(1, 600)}}});
  EXPECT_EQ(worker.started(), List{2});
  worker.succeed(2, {{0, 500}});
  EXPECT_EQ(worker.started(), List{});  // The disk is at work.
  worker.receive(DropBatch{JobId{1}, false, {{SubtaskIndex{0}, 0}}});
  EXPECT_EQ(worker.started(), List{3});
  worker.succeed(3);
  worker.ignore();
}

// Found by the simulator (seed 2247): the drop took the output that the run had just stored, and its readers would
// never have found it.
TEST(Room, ADropWhileTheSameIsMadeAgainLeavesWhatIsMade) {
  WorkerHarness worker{1};
  worker.assign({{.subtask = 1, .inputs = {remote(0, 8)}}});
  worker.fetched(0, 8);
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  worker.assign({{.subtask = 0, .attempt = 2}});
  EXPECT_EQ(worker.started(), List{0});
  const DropBatch drop{JobId{1}, false, {{SubtaskIndex{0}, 0}}};
  PENSTOCK_EXPECT_COVERAGE_MARK("a datum was dropped while it was made again", worker.receive(drop));
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 0U);
  worker.succeed(0, {{0, 8}});
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 0U);
  worker.receive(drop);
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
  worker.ignore();
}

TEST(Room, ADropWhileTheSameIsMadeAgainIsMadeUpForIfItIsNotMade) {
  WorkerHarness worker{1};
  make(worker, 0, 8);
  worker.assign({{.subtask = 0, .attempt = 2}});
  worker.ignore();
  worker.receive(DropBatch{JobId{1}, true, {{SubtaskIndex{0}, 0}}});
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 0U);
  worker.fail(0);
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
  worker.ignore();
}

// Found by the simulator (seed 1377): memory was let go, and the core believed that it was still there.
TEST(Room, WhatIsOnDiskStaysThereWhenItIsMadeAgain) {
  WorkerHarness worker{1, kGiB, small_store()};
  make(worker, 0, 850);
  EXPECT_EQ(spills(worker), List{0});
  worker.assign({{.subtask = 0, .attempt = 2}});
  EXPECT_EQ(worker.started(), List{0});
  spilled(worker, 0);
  EXPECT_EQ(releases(worker), List{0});
  PENSTOCK_EXPECT_COVERAGE_MARK("an output was on disk when it was made again", worker.succeed(0, {{0, 850}}));
  EXPECT_EQ(releases(worker), List{0});
  worker.ignore();
  worker.assign({{.subtask = 1, .inputs = {here(0, 850)}}});
  EXPECT_EQ(worker.take<worker_action::RestoreInput>().size(), 1U);
  worker.ignore();
}

// Found by the simulator (seed 5060752): a reader that was about to start had the datum pinned, and its memory was let
// go all the same.
TEST(Room, WhatIsMadeAgainWhileAReaderWaitsForItsRestoreIsRead) {
  WorkerConfig config;
  config.fetches_max = 1;
  WorkerHarness worker{3, kGiB, config};
  make(worker, 0, 64);
  spilled(worker, 0);
  EXPECT_EQ(releases(worker), List{0});
  worker.assign({{.subtask = 1, .inputs = {remote(7, 64)}},
                 {.subtask = 2, .inputs = {here(0, 64)}},
                 {.subtask = 0, .attempt = 2}});
  EXPECT_EQ(worker.fetches(), List{7});
  EXPECT_EQ(worker.take<worker_action::RestoreInput>().size(), 0U) << "it waits for its turn";
  EXPECT_EQ(worker.started(), List{0});
  worker.succeed(0, {{0, 64}});
  EXPECT_EQ(releases(worker), List{});
  EXPECT_EQ(worker.started(), List{2});
  worker.ignore();
}

// Fault F42: a full disk is back-pressure first, then a clear error.
TEST(Room, AFullDiskHoldsBackAndThenFailsWithTheNumbers) {
  WorkerHarness worker{1, kGiB, small_store()};
  make(worker, 0, 900);
  worker.ignore();
  PENSTOCK_EXPECT_COVERAGE_MARK("the disk would not take a datum", spilled(worker, 0, false));
  worker.assign({{.subtask = 1}, {.subtask = 2}});
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1, {{0, 200}});
  // Nothing else could make room: one more runs, in case it reads what can be dropped then.
  EXPECT_EQ(worker.started(), List{2});
  worker.tick_after(seconds{1});
  EXPECT_EQ(spills(worker), List{0});  // The disk is asked again.
  spilled(worker, 0, false);
  PENSTOCK_EXPECT_COVERAGE_MARK("outputs found no room for too long", worker.tick_after(seconds{30}));
  const auto failures = worker.failures();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].failure, FailureClass::Refused);
  EXPECT_EQ(failures[0].code, ErrorCode::StorageFull) << "room may be found next time";
  EXPECT_NE(failures[0].message.find("200 bytes found no room beside 900 bytes of 1000 bytes"), std::string::npos)
      << failures[0].message;
  const auto drops = worker.take<worker_action::DropDatum>();
  ASSERT_EQ(drops.size(), 1U);
  EXPECT_EQ(drops[0].key, key(1));
  worker.succeed(2);
  worker.ignore();
}

TEST(Room, OutputsThatCanNeverFitFailAtOnce) {
  WorkerHarness worker{1, kGiB, small_store()};
  make(worker, 0, kStore);
  EXPECT_EQ(worker.reports(), Texts{"0 Succeeded"});
  worker.assign({{.subtask = 1}});
  worker.started();
  PENSTOCK_EXPECT_COVERAGE_MARK("outputs were larger than the store", worker.succeed(1, {{0, kStore + 1}}));
  const auto failures = worker.failures();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_NE(failures[0].message.find("1001 bytes can never fit"), std::string::npos) << failures[0].message;
  EXPECT_EQ(failures[0].code, ErrorCode::LimitExceeded);
  EXPECT_EQ(failures[0].outputs_bytes, kStore + 1) << "the supervisor looks for a larger store";
  worker.ignore();
}

TEST(Room, ASmallOutputPassesALargeOneThatFindsNoRoom) {
  WorkerHarness worker{2, kGiB, small_store()};
  make(worker, 0, 700);
  worker.assign({{.subtask = 1}, {.subtask = 2}});
  worker.started();
  worker.ignore();
  worker.succeed(1, {{0, 500}});
  worker.succeed(2, {{0, 100}});
  EXPECT_EQ(worker.reports(), Texts{"2 Succeeded"});
  worker.ignore();
}

TEST(Room, ACancelEndsTheWaitForRoom) {
  WorkerHarness worker{2, kGiB, small_store()};
  make(worker, 0, 700);
  worker.assign({{.subtask = 1}});
  worker.started();
  worker.succeed(1, {{0, 500}});
  worker.ignore();
  worker.receive(CancelBatch{JobId{1}, false, {{SubtaskIndex{1}, Attempt{1}}}, Duration{0}, true});
  EXPECT_EQ(worker.reports(), Texts{"1 Cancelled"});
  worker.ignore();
}

// Else the store would be kept the emptier, the more had been cancelled.
TEST(Room, WhatWasCancelledKeepsNoRoom) {
  WorkerHarness worker{2, kGiB, small_store()};
  make(worker, 0, 700);
  worker.assign({{.subtask = 1}});
  worker.started();
  worker.succeed(1, {{0, 500}});
  worker.receive(CancelBatch{JobId{1}, false, {{SubtaskIndex{1}, Attempt{1}}}, Duration{0}, true});
  spilled(worker, 0);
  worker.ignore();
  worker.tick_after(seconds{1});
  make(worker, 2, 700);
  EXPECT_EQ(spills(worker), List{}) << "700 bytes of 1000 are no reason";
  EXPECT_EQ(worker.reports(), Texts{"2 Succeeded"});
  worker.ignore();
}

TEST(Room, WhatIsPinnedWhileItIsSpilledStaysAndGoesAtOnceLater) {
  WorkerHarness worker{1, kGiB, small_store()};
  make(worker, 0, 900);
  EXPECT_EQ(spills(worker), List{0});
  worker.assign({{.subtask = 1, .inputs = {here(0, 900)}}});
  EXPECT_EQ(worker.started(), List{1});
  PENSTOCK_EXPECT_COVERAGE_MARK("a datum was pinned while it was spilled", spilled(worker, 0));
  EXPECT_EQ(releases(worker), List{});
  worker.succeed(1);
  EXPECT_EQ(releases(worker), List{});  // A look at everything is not taken for each event.
  PENSTOCK_EXPECT_COVERAGE_MARK("the disk had a datum already", worker.tick_after(milliseconds{2}));
  EXPECT_EQ(releases(worker), List{0});
  EXPECT_EQ(spills(worker), List{});
  worker.ignore();
}

TEST(Room, ATransferWaitsForRoomButOneIsAlwaysOnItsWay) {
  WorkerHarness worker{4, kGiB, small_store()};
  worker.assign({{.subtask = 10, .inputs = {remote(0, 800)}}, {.subtask = 11, .inputs = {remote(1, 800)}}});
  EXPECT_EQ(worker.fetches(), List{0});
  worker.fetched(0, 800);
  EXPECT_EQ(worker.started(), List{10});
  EXPECT_EQ(worker.fetches(), List{1});  // Its input is pinned and cannot leave: waiting would be for ever.
  worker.fetched(1, 800);
  worker.ignore();
}

// Fault F41: a damaged block on disk is a lost datum, never wrong data.
TEST(Room, ADatumThatFailsItsChecksumIsLostAndItsFileGoes) {
  WorkerHarness worker{1, kGiB, small_store()};
  make(worker, 0, 900);
  spilled(worker, 0);
  worker.ignore();
  worker.assign({{.subtask = 1, .inputs = {here(0, 900)}}});
  EXPECT_EQ(worker.take<worker_action::RestoreInput>().size(), 1U);
  worker.handle(worker_event::DatumRestored{key(0), false});
  EXPECT_EQ(worker.take<worker_action::DropDatum>().size(), 1U);
  const auto failures = worker.failures();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].failure, FailureClass::InputLost);
  EXPECT_EQ(failures[0].lost_producer, SubtaskIndex{0});
  worker.ignore();
}

TEST(Copies, OneThatIsKeptForSafetyIsFetchedAfterWhatSomebodyWaitsFor) {
  WorkerConfig config;
  config.fetches_max = 1;
  WorkerHarness worker{2, kGiB, config};
  worker.assign({{.subtask = 9, .inputs = {remote(8, 10)}}});
  EXPECT_EQ(worker.fetches(), List{8});
  worker.receive(KeepBatch{JobId{1}, {{SubtaskIndex{0}, 0, WorkerId{7}, 100, {}}}});
  worker.assign({{.subtask = 10, .inputs = {remote(1, 100)}}});
  worker.fetched(8, 10);
  EXPECT_EQ(worker.fetches(), List{1});
  worker.fetched(1, 100);
  EXPECT_EQ(worker.fetches(), List{0});
  worker.ignore();
  worker.fetched(0, 100);
  worker.tick_after(seconds{1});
  const auto reports = worker.take<worker_action::SendReport>();
  ASSERT_FALSE(reports.empty());
  ASSERT_EQ(reports[0].batch.replicas.size(), 2U);
  EXPECT_EQ(reports[0].batch.replicas[1], (ReplicaReport{{JobId{1}, SubtaskIndex{0}}, 0, false}));
  // The replica is used like any other.
  worker.assign({{.subtask = 11, .inputs = {here(0, 100)}}});
  worker.succeed(9);
  EXPECT_EQ(worker.started(), List{11});
  worker.ignore();
}

TEST(Copies, OneOfAJobThatIsNewHereIsAskedForAndGivenByItsIdentity) {
  WorkerHarness worker{1};
  const KeepBatch batch{JobId{1}, {{SubtaskIndex{0}, 0, WorkerId{7}, 100, {}}}, JobIdentity{3, 4}};
  worker.receive(batch);
  const auto named = worker.take<worker_action::NameJob>();
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].identity, (JobIdentity{3, 4}));
  const auto fetches = worker.take<worker_action::FetchInput>();
  ASSERT_EQ(fetches.size(), 1U);
  EXPECT_EQ(fetches[0].identity, (JobIdentity{3, 4}));
  KeepBatch other = batch;
  other.identity = JobIdentity{3, 5};
  other.data[0].producer = SubtaskIndex{1};
  worker.receive(other);
  EXPECT_EQ(worker.take<worker_action::Reject>().size(), 1U);
  EXPECT_TRUE(worker.fetches().empty());
  worker.ignore();
}

TEST(Copies, ADropOrTheEndOfTheJobEndsItsFetch) {
  WorkerHarness worker{1};
  worker.receive(
      KeepBatch{JobId{1}, {{SubtaskIndex{0}, 0, WorkerId{7}, 100, {}}, {SubtaskIndex{1}, 0, WorkerId{7}, 100, {}}}});
  EXPECT_EQ(worker.fetches(), (List{0, 1}));
  worker.receive(DropBatch{JobId{1}, false, {{SubtaskIndex{0}, 0}}});
  EXPECT_EQ(worker.take<worker_action::CancelFetch>().size(), 1U);
  worker.receive(ForgetJob{JobId{1}});
  EXPECT_EQ(worker.take<worker_action::CancelFetch>().size(), 1U);
  EXPECT_EQ(worker.core().data_count(), 0U);
  worker.ignore();
}

TEST(Copies, ACheckpointIsWrittenAfterASuccessAndReportedWhenItIsSafe) {
  WorkerHarness worker{1};
  worker.template_at(0).checkpoint = true;
  worker.assign({{.subtask = 0}, {.subtask = 1}});
  worker.started();
  worker.succeed(0, {{0, 10}});
  EXPECT_EQ(worker.take<worker_action::CheckpointDatum>().size(), 1U);
  worker.ignore();
  worker.handle(worker_event::DatumCheckpointed{key(0), true});
  worker.started();
  worker.succeed(1, {});
  EXPECT_EQ(worker.take<worker_action::CheckpointDatum>().size(), 0U);
  const auto reports = worker.take<worker_action::SendReport>();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].batch.replicas, (std::vector<ReplicaReport>{{{JobId{1}, SubtaskIndex{0}}, 0, true}}));
}

TEST(Copies, WhatIsOnSharedStorageIsReadWhenItIsWanted) {
  WorkerHarness worker{1};
  worker.receive(KeepBatch{JobId{1}, {{SubtaskIndex{0}, 0, WorkerId::none(), 100, Incarnation{5}}}});
  const auto adopted = worker.take<worker_action::AdoptCheckpoint>();
  ASSERT_EQ(adopted.size(), 1U);
  EXPECT_EQ(adopted[0].writer, Incarnation{5});
  worker.assign({{.subtask = 1, .inputs = {here(0, 100)}}});
  EXPECT_EQ(worker.take<worker_action::RestoreInput>().size(), 1U);
  worker.handle(worker_event::DatumRestored{key(0), true});
  EXPECT_EQ(worker.started(), List{1});
  worker.succeed(1);
  worker.ignore();
}

}  // namespace
}  // namespace penstock::worker
