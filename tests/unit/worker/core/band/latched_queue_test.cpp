
#include "worker/core/band/latched_queue.hpp"

#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/latched_queue_words.hpp"
#include "worker/core/band/queue_search.hpp"

namespace penstock::worker {
namespace {

ResourceVector slots(std::int64_t milli) {
  ResourceVector vector;
  vector.slots = MilliSlots{milli};
  return vector;
}

const ResourceVector kOne = slots(1000);
const ResourceVector kTwo = slots(2000);
const ResourceVector kHalf = slots(500);

class LatchedQueueTest : public ::testing::Test {
 protected:
  void put(std::uint32_t record, std::uint64_t priority, const ResourceVector& request = kOne, std::uint32_t job = 0) {
    queue.put(QueueItem{RecordIndex{record}, JobSlot{job}, priority << 32U, sequence++, &request, Bytes{0}});
    queue.validate();
  }
  std::vector<std::uint32_t> take() { return take_all(queue); }
  void release(std::uint32_t record) { EXPECT_TRUE(queue.release(RecordIndex{record})); }

  using List = std::vector<std::uint32_t>;
  const std::vector<RecordIndex> running{RecordIndex{0}, RecordIndex{1}};
  std::uint64_t sequence = 0;
  LatchedQueue queue{slots(2000), {.bypass_max = 3, .scan_max = 8, .lanes_max = 64}};
};

// The first row of the reference cases (spec/mars-cases).
TEST_F(LatchedQueueTest, TakesByPriorityAndFollowsItsChanges) {
  for (std::uint32_t i = 0; i < 5; ++i) put(i, i);
  EXPECT_EQ(take(), (List{4, 3}));
  EXPECT_TRUE(queue.remove(RecordIndex{1}));
  queue.update_priority(RecordIndex{0}, std::uint64_t{3} << 32U);
  queue.update_priority(RecordIndex{4}, std::uint64_t{5} << 32U);
  EXPECT_EQ(take(), List{});
  release(3);
  release(4);
  EXPECT_EQ(take(), (List{0, 2}));
}

TEST_F(LatchedQueueTest, AnOfferedItemHasTheSlotOfTheOneThatEnds) {
  for (std::uint32_t i = 0; i < 6; ++i) put(i, 10 - i);
  put(6, 1, kOne, 1);
  EXPECT_EQ(take(), (List{0, 1}));
  std::vector<RecordIndex> offered;
  queue.offer(
      3, running, [](const QueueItem&) { return true; }, offered);
  EXPECT_EQ(offered, (std::vector<RecordIndex>{RecordIndex{2}, RecordIndex{3}, RecordIndex{4}}));
  EXPECT_EQ(queue.waiting(), 5U);
  queue.validate();
  queue.hand_over(RecordIndex{1}, RecordIndex{2});
  queue.validate();
  EXPECT_TRUE(queue.holds(RecordIndex{2}));
  EXPECT_FALSE(queue.holds(RecordIndex{1}));
  queue.offers().withdraw();
  EXPECT_EQ(take(), List{});
  put(7, 99);
  release(0);
  EXPECT_EQ(take(), List{7});
  release(2);
  EXPECT_EQ(take(), List{3});  // In its old place again.
}

TEST_F(LatchedQueueTest, AnOfferEndsWhereAnUnfitItemOrAJobThatCouldHoldTooMuchIsNext) {
  put(0, 9);
  put(1, 9);
  put(2, 8);
  put(3, 7, kOne, 1);
  put(4, 6);
  put(5, 5, kOne, 1);
  EXPECT_EQ(take(), (List{0, 1}));
  queue.set_entitlement(JobSlot{1}, kOneSlot, 0);
  std::vector<RecordIndex> offered;
  queue.offer(
      9, running, [](const QueueItem&) { return true; }, offered);
  // Job 1 may hold one slot of two: if 3 runs for long, 5 must not.
  EXPECT_EQ(offered, (std::vector<RecordIndex>{RecordIndex{2}, RecordIndex{3}, RecordIndex{4}}));
  queue.offers().withdraw();
  queue.validate();
  offered.clear();
  queue.offer(
      9, running, [](const QueueItem& item) { return item.record != RecordIndex{2}; }, offered);
  EXPECT_TRUE(offered.empty());
}

// A held slot goes from one job to the other, and with it the amount that either may still hold.
TEST_F(LatchedQueueTest, AnItemOfAnotherJobTakesTheSlotOver) {
  put(0, 9);
  put(1, 8, kOne, 1);
  put(2, 7, kOne, 1);
  put(3, 6);
  queue.set_entitlement(JobSlot{0}, kOneSlot, 0);
  queue.set_entitlement(JobSlot{1}, kOneSlot, 0);
  EXPECT_EQ(take(), (List{0, 1}));
  queue.release(RecordIndex{1});
  std::vector<RecordIndex> offered;
  queue.offer(
      9, std::span{running}.first(1), [](const QueueItem&) { return true; }, offered);
  // Job 0 holds all that it may, and is in line for the slot that it gives back.
  EXPECT_EQ(offered, (std::vector<RecordIndex>{RecordIndex{2}, RecordIndex{3}}));
  queue.validate();
  queue.hand_over(RecordIndex{0}, RecordIndex{2});
  queue.validate();
  EXPECT_EQ(queue.items().held_by(JobSlot{0}), MilliSlots{0});
  EXPECT_EQ(queue.items().held_by(JobSlot{1}), kOneSlot);
  queue.offers().withdraw();
  EXPECT_EQ(take(), List{3});
}

// Spec: worker 2, the second latch, where one lane is enough for all.
TEST_F(LatchedQueueTest, OneSlotIsSharedByWhatJobsAreEntitledTo) {
  queue.set_entitlement(JobSlot{0}, kOneSlot, 0);
  queue.set_entitlement(JobSlot{1}, MilliSlots{2000}, 0);
  for (std::uint32_t i = 0; i < 60; ++i) put(i, 1, kOne, 0);
  for (std::uint32_t i = 60; i < 120; ++i) put(i, 1, kOne, 1);
  std::vector<Taken> taken;
  queue.take(taken, 1);
  RecordIndex runs = taken[0].record;
  std::uint32_t of_second = 0;
  std::uint32_t total = 0;
  for (int round = 0; round < 10; ++round) {
    std::vector<RecordIndex> offered;
    queue.offer(
        6, {&runs, 1}, [](const QueueItem&) { return true; }, offered);
    ASSERT_EQ(offered.size(), 6U);
    // Three offers are taken back each time: they count for nothing.
    for (std::size_t i = 0; i < 3; ++i) {
      queue.hand_over(runs, offered[i]);
      runs = offered[i];
      of_second += runs.value() >= 60;
      ++total;
    }
    queue.offers().withdraw();
    queue.validate();
  }
  EXPECT_EQ(total, 30U);
  EXPECT_NEAR(of_second, 20, 2);  // Each round is one turn, of which three runs have come to pass.
}

// Each waiting job holds all that it may: each run can be followed by one of its own job and of no other.
TEST_F(LatchedQueueTest, AtFullEntitlementRunsAreFollowedByThoseOfTheirOwnJob) {
  queue.set_entitlement(JobSlot{0}, kOneSlot, 0);
  queue.set_entitlement(JobSlot{1}, kOneSlot, 0);
  for (std::uint32_t i = 0; i < 8; ++i) put(i, 9 - i, kOne, i % 2);
  EXPECT_EQ(take(), (List{0, 1}));
  std::vector<RecordIndex> offered;
  queue.offer(
      4, running, [](const QueueItem&) { return true; }, offered);
  EXPECT_TRUE(queue.offers().within_jobs());
  EXPECT_EQ(offered, (std::vector<RecordIndex>{RecordIndex{2}, RecordIndex{4}, RecordIndex{3}, RecordIndex{5}}));
  queue.validate();
  queue.hand_over(RecordIndex{1}, RecordIndex{3});
  queue.hand_over(RecordIndex{3}, RecordIndex{5});
  queue.validate();
  EXPECT_EQ(queue.items().held_by(JobSlot{1}), kOneSlot);
  queue.offers().withdraw();
  queue.validate();
  EXPECT_EQ(take(), List{});
  release(5);
  EXPECT_EQ(take(), List{7});
  release(0);
  EXPECT_EQ(take(), List{2});  // In its old place again.
}

TEST_F(LatchedQueueTest, WhoHoldsMoreThanHeMayIsOfferedNothing) {
  for (std::uint32_t i = 0; i < 4; ++i) put(i, 9 - i);
  EXPECT_EQ(take(), (List{0, 1}));
  queue.set_entitlement(JobSlot{0}, kOneSlot, 0);
  std::vector<RecordIndex> offered;
  queue.offer(
      4, running, [](const QueueItem&) { return true; }, offered);
  EXPECT_TRUE(offered.empty());
}

// By count: the next one among limited jobs is asked for once a turn, not for each item.
TEST_F(LatchedQueueTest, LimitedJobsAreServedInTurns) {
  queue.set_entitlement(JobSlot{0}, kOneSlot, 0);
  queue.set_entitlement(JobSlot{1}, kOneSlot, 0);
  for (std::uint32_t i = 0; i < 200; ++i) put(i, 1, kOne, i % 2);
  std::vector<Taken> taken;
  queue.take(taken, 1);
  std::vector<RecordIndex> offered;
  queue.offer(
      160, {&taken[0].record, 1}, [](const QueueItem&) { return true; }, offered);
  ASSERT_EQ(offered.size(), 160U);
  int changes = 0;
  int of_second = 0;
  for (std::size_t i = 1; i < offered.size(); ++i) changes += offered[i].value() % 2 != offered[i - 1].value() % 2;
  for (const RecordIndex record : offered) of_second += record.value() % 2 == 1;
  EXPECT_LE(changes, 10);
  EXPECT_EQ(of_second, 80);
  queue.offers().withdraw();
}

// A turn ends where the job's next item comes behind those of others.
TEST_F(LatchedQueueTest, ATurnPutsNobodyBehindALowerPriority) {
  queue.set_entitlement(JobSlot{0}, kOneSlot, 0);
  queue.set_entitlement(JobSlot{1}, kOneSlot, 0);
  put(0, 2);
  put(1, 2);
  put(2, 0);
  put(3, 1, kOne, 1);
  std::vector<Taken> taken;
  queue.take(taken, 1);
  std::vector<RecordIndex> offered;
  queue.offer(
      3, {&taken[0].record, 1}, [](const QueueItem&) { return true; }, offered);
  EXPECT_EQ(offered, (std::vector<RecordIndex>{RecordIndex{1}, RecordIndex{3}, RecordIndex{2}}));
  queue.offers().withdraw();
}

TEST_F(LatchedQueueTest, WhatNobodyHasTakenOverHasServedNobody) {
  queue.set_entitlement(JobSlot{0}, kOneSlot, 0);
  queue.set_entitlement(JobSlot{1}, kOneSlot, 0);
  for (std::uint32_t i = 0; i < 4; ++i) put(i, 1, kOne, i % 2);
  std::vector<Taken> taken;
  queue.take(taken, 1);
  ASSERT_EQ(taken.at(0).record, RecordIndex{0});
  for (int round = 0; round < 9; ++round) {
    std::vector<RecordIndex> offered;
    queue.offer(
        1, std::span{running}.first(1), [](const QueueItem&) { return true; }, offered);
    EXPECT_EQ(offered, std::vector<RecordIndex>{RecordIndex{1}});
    queue.offers().withdraw();
    queue.validate();
  }
  release(0);
  EXPECT_EQ(take(), (List{1, 2}));
}

// Found by seed 53 of the simulator with policy: successors of what has ended come before the withdrawal.
TEST_F(LatchedQueueTest, ABetterItemMayComeWhileOthersAreOnOffer) {
  queue.set_entitlement(JobSlot{0}, kOneSlot, 0);
  put(0, 1);
  put(1, 1);
  put(2, 1, kOne, 1);
  std::vector<Taken> taken;
  queue.take(taken, 1);
  std::vector<RecordIndex> offered;
  queue.offer(
      2, std::span{running}.first(1), [](const QueueItem&) { return true; }, offered);
  EXPECT_EQ(offered, (std::vector<RecordIndex>{RecordIndex{2}, RecordIndex{1}}));
  put(3, 5);
  queue.offers().withdraw();
  queue.validate();
  release(0);
  EXPECT_EQ(take(), (List{3, 2}));
}

// A forgotten job ends with its last run, which may be followed by runs of others that are on offer.
TEST_F(LatchedQueueTest, AJobMayLeaveWhileOthersAreOnOffer) {
  queue.set_entitlement(JobSlot{1}, kOneSlot, 0);
  put(0, 9, kOne, 1);
  put(1, 5);
  put(2, 4);
  put(3, 3);
  EXPECT_EQ(take(), (List{0, 1}));
  std::vector<RecordIndex> offered;
  queue.offer(
      2, running, [](const QueueItem&) { return true; }, offered);
  ASSERT_EQ(offered, (std::vector<RecordIndex>{RecordIndex{2}, RecordIndex{3}}));
  queue.remove(RecordIndex{0});
  queue.set_entitlement(JobSlot{1}, MilliSlots::max(), 0);
  queue.hand_over(RecordIndex{1}, RecordIndex{2});
  queue.offers().withdraw();
  queue.validate();
  EXPECT_EQ(take(), List{3});
}

TEST_F(LatchedQueueTest, WhoComesLateHasSavedNothingUp) {
  queue.set_entitlement(JobSlot{0}, kOneSlot, 0);
  queue.set_entitlement(JobSlot{1}, kOneSlot, 0);
  for (std::uint32_t i = 0; i < 20; ++i) put(i, 1, kOne, 0);
  const auto take_one = [&] {
    std::vector<Taken> taken;
    queue.take(taken, 1);
    release(taken.at(0).record.value());
    return taken[0].record.value();
  };
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(take_one(), i);
  for (std::uint32_t i = 20; i < 26; ++i) put(i, 1, kOne, 1);
  std::uint32_t of_second = 0;
  for (int i = 0; i < 6; ++i) of_second += take_one() >= 20;
  EXPECT_LE(of_second, 4U);
}

// A job alone in line has its place among the jobs brought up to date once, when the last of its items is on offer.
TEST_F(LatchedQueueTest, AnOfferLeavesTheJobsInOrderWhereverItEnds) {
  for (std::uint32_t i = 0; i < 6; ++i) put(i, 10 - i);
  EXPECT_EQ(take(), (List{0, 1}));
  std::vector<RecordIndex> offered;
  const auto up_to_3 = [](const QueueItem& item) { return item.record != RecordIndex{4}; };
  queue.offer(9, running, up_to_3, offered);
  EXPECT_EQ(offered, (std::vector<RecordIndex>{RecordIndex{2}, RecordIndex{3}}));
  queue.validate();
  EXPECT_EQ(queue.first_waiting(), RecordIndex{4});
  queue.offers().withdraw();
  queue.validate();
  offered.clear();
  const auto any = [](const QueueItem&) { return true; };
  queue.offer(9, running, any, offered);
  EXPECT_EQ(offered.size(), 4U);
  queue.validate();
  EXPECT_FALSE(queue.first_waiting().valid());
}

// Spec: worker 2, atomic match. The item that arrives last but is best is the next to run.
TEST_F(LatchedQueueTest, ItemLeavesOnlyTogetherWithItsSlot) {
  put(0, 1);
  put(1, 1);
  put(2, 1);
  EXPECT_EQ(take(), (List{0, 1}));
  EXPECT_EQ(take(), List{});
  put(3, 9);
  EXPECT_EQ(take(), List{});
  release(0);
  EXPECT_EQ(take(), List{3});
}

TEST_F(LatchedQueueTest, TiesLeaveInOrderOfArrival) {
  for (std::uint32_t i = 0; i < 4; ++i) put(i, 7);
  EXPECT_EQ(take(), (List{0, 1}));
  release(0);
  release(1);
  EXPECT_EQ(take(), (List{2, 3}));
}

TEST_F(LatchedQueueTest, JobPriorityThenUserPriorityThenFairRankThenArrival) {
  put(0, 1, kOne, 0);
  put(1, 1, kOne, 1);
  put(2, 5, kOne, 1);
  put(3, 0, kOne, 2);
  queue.set_job_priority(JobSlot{2}, 1);
  EXPECT_EQ(take(), (List{3, 2}));
  queue.set_entitlement(JobSlot{1}, MilliSlots::max(), -1);
  release(3);
  release(2);
  EXPECT_EQ(take(), (List{1, 0}));
}

TEST_F(LatchedQueueTest, TheGraphsOrderIsNotComparedAcrossJobs) {
  queue.put(QueueItem{RecordIndex{0}, JobSlot{0}, 5, 0, &kOne, Bytes{0}});
  queue.put(QueueItem{RecordIndex{1}, JobSlot{1}, 900, 1, &kOne, Bytes{0}});
  queue.put(QueueItem{RecordIndex{2}, JobSlot{0}, 6, 2, &kOne, Bytes{0}});
  // Inside job 0 the larger order goes first; between the jobs, the head that arrived first (1 before 2).
  EXPECT_EQ(take(), (List{1, 2}));
}

TEST_F(LatchedQueueTest, AnItemTooLargeForNowIsPassedOnlySoOften) {
  put(0, 5);
  put(1, 5, kTwo);
  for (std::uint32_t i = 2; i < 10; ++i) put(i, 1);
  EXPECT_EQ(take(), (List{0, 2}));  // 1 is passed once.
  release(2);
  EXPECT_EQ(take(), List{3});
  release(3);
  EXPECT_EQ(take(), List{4});
  release(4);
  // Three have passed: it reserves.
  PENSTOCK_EXPECT_COVERAGE_MARK("a large item reserves", EXPECT_EQ(take(), List{}));
  release(0);
  EXPECT_EQ(take(), List{1});
}

TEST_F(LatchedQueueTest, FractionsShareASlot) {
  for (std::uint32_t i = 0; i < 6; ++i) put(i, 1, kHalf);
  EXPECT_EQ(take(), (List{0, 1, 2, 3}));
  EXPECT_EQ(queue.available().slots, MilliSlots{0});
}

TEST_F(LatchedQueueTest, LanesAreNeverShared) {
  for (std::uint32_t i = 0; i < 4; ++i) put(i, 1, kHalf);
  std::vector<Taken> taken;
  queue.take(taken);
  std::vector<std::uint16_t> lanes;
  for (const Taken& item : taken) lanes.push_back(item.lane.value());
  std::sort(lanes.begin(), lanes.end());
  EXPECT_EQ(lanes, (std::vector<std::uint16_t>{0, 1, 2, 3}));
}

TEST_F(LatchedQueueTest, AJobHoldsAtMostItsEntitlement) {
  queue.set_entitlement(JobSlot{0}, kOneSlot, 0);
  put(0, 9);
  put(1, 9);
  put(2, 1, kOne, 1);
  EXPECT_EQ(take(), (List{0, 2}));
  release(2);
  EXPECT_EQ(take(), List{});
  EXPECT_NE(obstacle(queue, RecordIndex{1}).find("entitlement"), std::string::npos);
  queue.set_entitlement(JobSlot{0}, kOneSlot * 2, 0);
  EXPECT_EQ(take(), List{1});
}

TEST_F(LatchedQueueTest, ReleaseByANonOwnerChangesNothing) {
  put(0, 1);
  EXPECT_FALSE(queue.release(RecordIndex{0}));
  EXPECT_FALSE(queue.release(RecordIndex{77}));
  EXPECT_EQ(take(), List{0});
  release(0);
  EXPECT_FALSE(queue.release(RecordIndex{0}));
  EXPECT_EQ(queue.available().slots, MilliSlots{2000});
}

TEST_F(LatchedQueueTest, RemoveIsIdempotentAndGivesBackTheSlot) {
  put(0, 1);
  put(1, 1);
  put(2, 1);
  take();
  EXPECT_TRUE(queue.remove(RecordIndex{0}));
  EXPECT_FALSE(queue.remove(RecordIndex{0}));
  EXPECT_EQ(take(), List{2});
}

// Reference case: 4 slots, 9 waiters, one cancelled: 8 run, no slot lost.
TEST(LatchedQueueSlots, NoneIsLostWhenAWaiterIsCancelled) {
  LatchedQueue queue{slots(4000), {}};
  for (std::uint32_t i = 0; i < 9; ++i) queue.put(QueueItem{RecordIndex{i}, JobSlot{0}, 0, i, &kOne, Bytes{0}});
  EXPECT_TRUE(queue.remove(RecordIndex{6}));
  std::vector<Taken> taken;
  std::size_t ran = 0;
  for (queue.take(taken); !taken.empty(); queue.take(taken)) {
    ran += taken.size();
    for (const Taken& item : taken) EXPECT_TRUE(queue.release(item.record));
    taken.clear();
    queue.validate();
  }
  EXPECT_EQ(ran, 8U);
  EXPECT_EQ(queue.available().slots, MilliSlots{4000});
}

TEST_F(LatchedQueueTest, AShrinkingResizeTakesNothingAndStartsNothingUntilItFits) {
  put(0, 1);
  put(1, 1);
  put(2, 1);
  take();
  queue.resize(slots(1000));
  queue.validate();
  release(0);
  EXPECT_EQ(take(), List{});
  release(1);
  EXPECT_EQ(take(), List{2});
  queue.resize(slots(3000));
  put(3, 1);
  put(4, 1);
  EXPECT_EQ(take(), (List{3, 4}));
}

TEST_F(LatchedQueueTest, IdleRunnersRestartAndATakeWaitsForThem) {
  put(0, 1);
  put(1, 1);
  take();
  release(1);
  const std::vector<SlotIndex> lanes = queue.lanes().restart_idle();
  ASSERT_EQ(lanes.size(), 1U);
  EXPECT_EQ(queue.lanes().restart_idle().size(), 0U);
  put(2, 1);
  EXPECT_EQ(take(), List{});
  queue.lanes().restarted(lanes[0]);
  queue.lanes().restarted(lanes[0]);
  EXPECT_EQ(take(), List{2});
}

TEST_F(LatchedQueueTest, AYieldedSlotRunsAnotherAndComesBackOnItsOwnLane) {
  put(0, 1);
  put(1, 1);
  put(2, 1);
  std::vector<Taken> taken;
  queue.take(taken);
  const SlotIndex lane = taken[0].lane;
  EXPECT_TRUE(queue.yield_slot(RecordIndex{0}));
  EXPECT_FALSE(queue.yield_slot(RecordIndex{0}));
  EXPECT_EQ(take(), List{2});
  EXPECT_TRUE(queue.resume_slot(RecordIndex{0}, ~std::uint64_t{0}));
  put(3, 9);
  release(1);
  taken.clear();
  queue.take(taken);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0], (Taken{RecordIndex{0}, lane, true}));
}

// Runs that wait for nested work keep their lanes: were those counted, the nested work would find none.
TEST_F(LatchedQueueTest, LanesOfYieldedRecordsAreBeyondThoseOfTheOthers) {
  LatchedQueue narrow{slots(1000), {.bypass_max = 3, .scan_max = 8, .lanes_max = 1, .yields_max = 2}};
  const ResourceVector request = slots(1000);
  std::vector<Taken> taken;
  for (std::uint32_t i = 0; i < 3; ++i) narrow.put(QueueItem{RecordIndex{i}, JobSlot{0}, 0, i, &request, Bytes{0}});
  for (std::uint32_t i = 0; i < 2; ++i) {
    narrow.take(taken);
    ASSERT_EQ(taken.size(), i + 1);
    EXPECT_TRUE(narrow.yield_slot(RecordIndex{i}));
    narrow.validate();
  }
  narrow.take(taken);
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_FALSE(narrow.yield_slot(RecordIndex{2})) << "two have";
  EXPECT_EQ(narrow.yielded(), 2U);
  EXPECT_TRUE(narrow.resume_slot(RecordIndex{0}, 9));
  EXPECT_TRUE(narrow.has_yielded(RecordIndex{0})) << "until it has its slot";
  EXPECT_TRUE(narrow.remove(RecordIndex{0})) << "one may end before";
  EXPECT_TRUE(narrow.remove(RecordIndex{1}));
  EXPECT_EQ(narrow.yielded(), 0U);
  narrow.validate();
  EXPECT_TRUE(narrow.yield_slot(RecordIndex{2}));
  EXPECT_TRUE(narrow.resume_slot(RecordIndex{2}, 9));
  taken.clear();
  narrow.take(taken);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_TRUE(taken[0].resumed);
  EXPECT_FALSE(narrow.has_yielded(RecordIndex{2}));
  narrow.validate();
}

TEST(LatchedQueueResources, EveryKindIsMetered) {
  ResourceVector capacity = slots(4000);
  capacity.gpu = MilliGpu{1000};
  capacity.device_memory = kGiB;
  capacity.named = {{"licence", 1}};
  LatchedQueue queue{capacity, {}};
  ResourceVector gpu = slots(500);
  gpu.gpu = MilliGpu{600};
  ResourceVector licence = slots(500);
  licence.named = {{"licence", 1}};
  for (std::uint32_t i = 0; i < 2; ++i) queue.put(QueueItem{RecordIndex{i}, JobSlot{0}, 0, i, &gpu, Bytes{0}});
  for (std::uint32_t i = 2; i < 4; ++i) queue.put(QueueItem{RecordIndex{i}, JobSlot{0}, 0, i, &licence, Bytes{0}});
  std::vector<Taken> taken;
  queue.take(taken);
  queue.validate();
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].record, RecordIndex{0});
  EXPECT_EQ(taken[1].record, RecordIndex{2});
  EXPECT_EQ(obstacle(queue, RecordIndex{1}), "milli-gpu 600 > 400");
  EXPECT_EQ(obstacle(queue, RecordIndex{3}), "licence 1 > 0");
}

}  // namespace
}  // namespace penstock::worker
