// LatchedQueue: an item that lacks something other than slots holds up no item that does not want it.
#include "worker/core/band/parked_items.hpp"

#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/latched_queue_words.hpp"
#include "worker/core/band/queue_search.hpp"

namespace penstock::worker {
namespace {

ResourceVector request(std::int64_t slots, std::int64_t licences, std::int64_t seats = 0) {
  ResourceVector vector;
  vector.slots = MilliSlots{slots * 1000};
  if (licences > 0) vector.named.push_back({"licence", licences});
  if (seats > 0) vector.named.push_back({"seat", seats});
  return vector;
}

const ResourceVector kPlain = request(1, 0);
const ResourceVector kLicence = request(1, 1);
const ResourceVector kBothLicences = request(1, 2);
const ResourceVector kSeat = request(1, 0, 1);
const ResourceVector kWide = request(3, 0);

class ParkedItems : public ::testing::Test {
 protected:
  void put(std::uint32_t record, std::uint64_t priority, const ResourceVector& wanted, std::uint32_t job = 0) {
    queue.put(QueueItem{RecordIndex{record}, JobSlot{job}, priority << 32U, sequence++, &wanted, Bytes{0}});
    queue.validate();
  }
  std::vector<std::uint32_t> take() { return take_all(queue); }
  std::vector<std::uint32_t> release(std::uint32_t record) {
    EXPECT_TRUE(queue.release(RecordIndex{record}));
    queue.validate();
    return take();
  }

  using List = std::vector<std::uint32_t>;
  std::uint64_t sequence = 0;
  LatchedQueue queue{request(4, 2, 1), {.bypass_max = 3, .scan_max = 8, .lanes_max = 64}};
};

// A search that passed an item which only lacks slots took the parked ones for items that may fit now, for ever.
TEST_F(ParkedItems, ASearchEndsBesideAnItemThatWaitsForSlots) {
  put(0, 9, kBothLicences);
  put(1, 8, kLicence);
  put(2, 7, kPlain);
  put(3, 6, kWide);
  EXPECT_EQ(take(), (List{0, 2})) << "two slots are left, and three are wanted";
  EXPECT_EQ(release(2), List{3});
}

// Four slots and one licence took 10.6 s where 4.1 s were enough: items that had waited for the licence for long kept
// slots.
TEST_F(ParkedItems, ASlotIsNeverFreeBesideAnItemThatMayUseIt) {
  for (std::uint32_t i = 0; i < 40; ++i) put(i, 9, kLicence);
  for (std::uint32_t i = 40; i < 60; ++i) put(i, 1, kPlain);
  EXPECT_EQ(take(), (List{0, 1, 40, 41})) << "forty wait for two licences, more than are searched in one go";
  std::uint32_t plain = 42;
  for (std::uint32_t ended = 40; ended < 58; ++ended) {
    const List next = release(ended);
    ASSERT_EQ(next, List{plain}) << "the licences are not free, and the slots are";
    ++plain;
  }
  EXPECT_EQ(queue.available().slots, MilliSlots{0});
  EXPECT_EQ(release(0), List{2});
}

// Seeds 745 with a policy and 10027414: two of one job came back for two licences, and its entitlement allowed one.
TEST_F(ParkedItems, WhatOneMayNotTakeIsLeftToTheNext) {
  queue.set_entitlement(JobSlot{1}, kOneSlot, 0);
  put(0, 9, kBothLicences);
  EXPECT_EQ(take(), List{0});
  put(1, 8, kLicence, 1);
  put(2, 7, kLicence, 1);
  put(3, 1, kLicence, 2);
  EXPECT_EQ(take(), List{});
  EXPECT_EQ(release(0), (List{1, 3}));
  EXPECT_FALSE(left_idle(queue).valid());
}

// Seed 7998: an item of too many bypasses was parked, and the one behind it stopped the search for the slots that it
// lacked, although the licence which it wants was kept for the first.
TEST_F(ParkedItems, AnItemFromWhichSomethingIsKeptStopsNoSearch) {
  const ResourceVector keeps = request(3, 2);
  const ResourceVector wide = request(2, 1);
  for (std::uint32_t i = 0; i < 3; ++i) put(i, 9, kPlain);
  EXPECT_EQ(take(), (List{0, 1, 2}));
  put(3, 8, keeps);
  put(4, 7, wide);
  for (std::uint32_t small = 5; small < 8; ++small) {
    put(small, 1, kPlain);
    ASSERT_EQ(take(), List{small}) << "both are bypassed";
    ASSERT_TRUE(queue.release(RecordIndex{small}));
  }
  put(8, 9, kLicence);
  EXPECT_EQ(take(), List{8});
  put(9, 1, kPlain);
  EXPECT_EQ(release(0), List{9});
}

TEST_F(ParkedItems, WhatTheyLackGoesToTheBestOfThem) {
  put(0, 9, kLicence);
  put(1, 9, kLicence);
  EXPECT_EQ(take(), (List{0, 1}));
  put(2, 1, kLicence, 1);
  put(3, 5, kLicence, 2);
  EXPECT_EQ(take(), List{});
  put(4, 3, kLicence, 1);
  EXPECT_EQ(release(0), List{3});
  queue.update_priority(RecordIndex{2}, std::uint64_t{7} << 32U);
  EXPECT_EQ(release(1), List{2});
  queue.set_job_priority(JobSlot{1}, 4);
  EXPECT_EQ(release(2), List{4});
}

// Else those that want one licence would pass the one that wants both for ever.
TEST_F(ParkedItems, WhoWasPassedTooOftenKeepsWhatItLacks) {
  put(0, 9, kLicence);
  put(1, 9, kLicence);
  EXPECT_EQ(take(), (List{0, 1}));
  put(2, 8, kBothLicences);
  for (std::uint32_t i = 3; i < 9; ++i) put(i, 1, kLicence);
  EXPECT_EQ(take(), List{});
  EXPECT_EQ(release(0), List{3});
  EXPECT_EQ(release(1), List{4});
  EXPECT_EQ(release(3), List{5}) << "three have passed it";
  PENSTOCK_EXPECT_COVERAGE_MARK("an item keeps what it lacks from those behind it", EXPECT_EQ(release(4), List{}));
  put(9, 0, kLicence);
  EXPECT_EQ(take(), List{}) << "who comes late neither";
  put(10, 0, kPlain);
  put(11, 0, kSeat);
  EXPECT_EQ(take(), (List{10, 11})) << "nothing else is kept";
  EXPECT_EQ(release(5), List{2});
  EXPECT_EQ(release(2), (List{6, 7}));
}

TEST_F(ParkedItems, WhoKeepsSomethingAndIsCancelledKeepsItNoMore) {
  put(0, 9, kLicence);
  put(1, 9, kLicence);
  EXPECT_EQ(take(), (List{0, 1}));
  put(2, 8, kBothLicences);
  for (std::uint32_t i = 3; i < 9; ++i) put(i, 1, kLicence);
  for (const std::uint32_t ended : {0U, 1U, 3U, 4U}) release(ended);
  EXPECT_TRUE(queue.remove(RecordIndex{2}));
  EXPECT_EQ(take(), List{6});
}

// An item stood aside for one that had been passed often, and that one was passed once more.
TEST_F(ParkedItems, WhatWasKeptForOneThatIsStillShortGoesToOthers) {
  static const ResourceVector kBothKinds = request(1, 2, 1);
  put(0, 9, kLicence);
  put(1, 9, kLicence);
  EXPECT_EQ(take(), (List{0, 1}));
  put(2, 5, kBothKinds);
  for (std::uint32_t i = 3; i < 9; ++i) put(i, 1, kLicence);
  for (const std::uint32_t ended : {0U, 1U, 3U, 4U}) release(ended);
  put(9, 9, kLicence);
  put(10, 0, kSeat);
  EXPECT_EQ(take(), (List{9, 10})) << "2 lacks licences, and keeps nothing else";
}

TEST_F(ParkedItems, OneMayBeTakenOutAndIsListed) {
  put(0, 9, kSeat);
  put(1, 8, kSeat);
  put(2, 7, kSeat);
  EXPECT_EQ(take(), List{0});
  std::vector<RecordIndex> waiting;
  for_each_waiting(queue, [&](RecordIndex record) { waiting.push_back(record); });
  EXPECT_EQ(waiting.size(), 2U);
  EXPECT_EQ(position_of(queue, RecordIndex{2}), 1U);
  EXPECT_EQ(obstacle(queue, RecordIndex{1}), "seat 1 > 0");
  EXPECT_EQ(lowest_waiting(queue, [](RecordIndex) { return true; }), RecordIndex{2});
  EXPECT_TRUE(queue.remove(RecordIndex{1}));
  EXPECT_FALSE(queue.remove(RecordIndex{1}));
  EXPECT_EQ(queue.waiting(), 1U);
  EXPECT_EQ(release(0), List{2});
}

// Such an item would hold up all others although none can help it: the slots that it waits for are its own job's.
TEST_F(ParkedItems, WhoExceedsItsEntitlementHoldsUpItsOwnJobOnly) {
  queue.set_entitlement(JobSlot{0}, MilliSlots{3000}, 0);
  put(0, 9, kPlain);
  EXPECT_EQ(take(), List{0});
  put(1, 8, kWide);
  for (std::uint32_t i = 2; i < 20; ++i) put(i, 1, kPlain, 1);
  EXPECT_EQ(take(), (List{2, 3, 4}));
  std::uint32_t next = 5;
  for (std::uint32_t ended = 2; ended < 15; ++ended) ASSERT_EQ(release(ended), List{next++});
}

TEST_F(ParkedItems, WhoIsNoLongerEntitledLetsTheNextHaveIt) {
  put(0, 9, kSeat);
  EXPECT_EQ(take(), List{0});
  put(1, 8, kSeat, 1);
  put(2, 7, kSeat, 2);
  EXPECT_EQ(take(), List{});
  queue.set_entitlement(JobSlot{1}, MilliSlots{0}, 0);
  EXPECT_EQ(release(0), List{2});
  queue.set_entitlement(JobSlot{1}, MilliSlots{1000}, 0);
  EXPECT_EQ(release(2), List{1});
}

}  // namespace
}  // namespace penstock::worker
