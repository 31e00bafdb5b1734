// LatchedQueue: slots that are kept for a job until it may begin.
#include "worker/core/band/reservations.hpp"

#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/latched_queue_words.hpp"
#include "worker/core/band/queue_search.hpp"

namespace penstock::worker {
namespace {

ResourceVector slots(std::int64_t milli, std::int64_t milli_gpu = 0) {
  ResourceVector vector;
  vector.slots = MilliSlots{milli};
  vector.gpu = MilliGpu{milli_gpu};
  return vector;
}

const ResourceVector kOne = slots(1000);
const ResourceVector kQuarter = slots(250, 250);
constexpr JobSlot kGang{1};

class Reservations : public ::testing::Test {
 protected:
  using List = std::vector<std::uint32_t>;

  void put(std::uint32_t record, std::uint32_t job = 0, const ResourceVector& request = kOne) {
    queue.put(QueueItem{RecordIndex{record}, JobSlot{job}, 0, sequence++, &request, Bytes{0}});
  }
  List take(std::size_t max = 64) {
    std::vector<Taken> taken;
    queue.take(taken, max);
    queue.validate();
    List records;
    for (const Taken& item : taken) records.push_back(item.record.value());
    return records;
  }
  void release(std::uint32_t record) { EXPECT_TRUE(queue.release(RecordIndex{record})); }
  void reserve(const ResourceVector& wanted) {
    queue.set_entitlement(kGang, MilliSlots{}, 0);
    queue.reservations().reserve(kGang, wanted);
    queue.validate();
  }
  void open(MilliSlots entitled) {
    queue.set_entitlement(kGang, entitled, 0);
    queue.reservations().open(kGang);
  }

  std::uint64_t sequence = 0;
  LatchedQueue queue{slots(4000, 1000), {}};
};

TEST_F(Reservations, WhatIsFreeIsHeldAtOnceAndNobodyElseHasIt) {
  for (std::uint32_t i = 0; i < 4; ++i) put(i);
  reserve(slots(3000));
  EXPECT_TRUE(queue.reservations().has_slots(kGang));
  EXPECT_EQ(queue.reservations().held_for(kGang), MilliSlots{3000});
  EXPECT_EQ(take(), List{0});
}

TEST_F(Reservations, WhatBecomesFreeGoesThereBeforeAnybodyWhoWaits) {
  for (std::uint32_t i = 0; i < 6; ++i) put(i);
  EXPECT_EQ(take().size(), 4U);
  reserve(slots(2000));
  release(0);
  EXPECT_EQ(take(), List{});
  EXPECT_FALSE(queue.reservations().has_slots(kGang));
  release(1);
  EXPECT_EQ(take(), List{});
  EXPECT_TRUE(queue.reservations().has_slots(kGang));
  release(2);
  EXPECT_EQ(take(), List{4});
}

TEST_F(Reservations, TheJobBeginsOnThemBeforeOthersAndWhatItLeavesIsEverybodys) {
  reserve(slots(3000));
  for (std::uint32_t i = 0; i < 6; ++i) put(i);
  EXPECT_EQ(take(), List{0});
  put(10, 1);
  put(11, 1);
  EXPECT_EQ(take(), List{}) << "it is closed until it is opened";
  open(MilliSlots{3000});
  PENSTOCK_EXPECT_COVERAGE_MARK("a job begins on what was reserved for it", EXPECT_EQ(take(), (List{10, 11})));
  EXPECT_EQ(queue.reservations().held_for(kGang), MilliSlots{1000})
      << "members may wait for the permits of those that begin";
  EXPECT_EQ(take(), List{1}) << "none does";
  EXPECT_FALSE(queue.reservations().any());
}

TEST_F(Reservations, WhatIsDroppedIsEverybodysAtOnce) {
  reserve(slots(4000));
  put(0);
  EXPECT_EQ(take(), List{});
  queue.reservations().drop(kGang);
  queue.reservations().drop(kGang);
  EXPECT_EQ(take(), List{0});
}

TEST_F(Reservations, RunsOfTheJobThatGoOnCountAsWhatTheyHold) {
  put(0, 1);
  put(1, 1);
  EXPECT_EQ(take(), (List{0, 1}));
  reserve(slots(4000));
  EXPECT_TRUE(queue.reservations().has_slots(kGang));
  EXPECT_EQ(queue.reservations().held_for(kGang), MilliSlots{2000});
  release(0);
  EXPECT_EQ(take(), List{});
  EXPECT_TRUE(queue.reservations().has_slots(kGang)) << "its slot stays the job's";
  EXPECT_EQ(queue.reservations().held_for(kGang), MilliSlots{3000});
}

TEST_F(Reservations, PartsOfADeviceGoWithTheSlots) {
  put(0, 0, kQuarter);
  EXPECT_EQ(take(), List{0});
  reserve(slots(2000, 1000));
  EXPECT_FALSE(queue.reservations().has_slots(kGang)) << "a quarter of the device is another job's";
  put(1, 0, kQuarter);
  EXPECT_EQ(take(), List{}) << "the rest is kept";
  release(0);
  EXPECT_EQ(take(), List{});
  EXPECT_TRUE(queue.reservations().has_slots(kGang));
}

class ReservationsOfMore : public ::testing::Test {
 protected:
  static ResourceVector amounts(std::int64_t milli, std::int64_t cpu, std::int64_t licences) {
    ResourceVector vector = slots(milli);
    vector.cpu = MilliCpu{cpu};
    vector.named = {{"licence", licences}};
    return vector;
  }
  void put(std::uint32_t record, std::uint32_t job, const ResourceVector& request) {
    queue.put(QueueItem{RecordIndex{record}, JobSlot{job}, 0, record, &request, Bytes{0}});
  }
  std::vector<std::uint32_t> take() { return take_all(queue); }
  void reserve(const ResourceVector& wanted) {
    queue.set_entitlement(kGang, MilliSlots{}, 0);
    queue.reservations().reserve(kGang, wanted);
    queue.validate();
  }
  using List = std::vector<std::uint32_t>;

  LatchedQueue queue{amounts(4000, 8000, 3), {}};
  const ResourceVector large = amounts(1000, 6000, 2);
  const ResourceVector small = amounts(1000, 1000, 1);
  const ResourceVector licensed = amounts(1000, 500, 2);
  const ResourceVector tiny = amounts(1000, 500, 0);
};

TEST_F(ReservationsOfMore, ProcessorsAndNamedAmountsAreKeptAsWell) {
  put(0, 0, large);
  EXPECT_EQ(take(), List{0});
  reserve(amounts(2000, 4000, 2));
  EXPECT_TRUE(queue.reservations().has_slots(kGang)) << "its slots are there";
  EXPECT_FALSE(queue.reservations().is_whole(kGang));
  put(1, 0, small);
  EXPECT_EQ(take(), List{}) << "what is left of the processors and licences is kept";
  EXPECT_TRUE(queue.release(RecordIndex{0}));
  EXPECT_EQ(take(), List{1});
  EXPECT_TRUE(queue.reservations().is_whole(kGang));
  put(10, 1, small);
  put(11, 1, small);
  put(2, 0, small);
  EXPECT_EQ(take(), List{});
  queue.set_entitlement(kGang, MilliSlots{2000}, 0);
  queue.reservations().open(kGang);
  EXPECT_EQ(take(), (List{10, 11})) << "of the third licence of three, the first has it";
}

// Found by the simulator (seed 171): the first member waited for licences, those behind it for the others' turn.
TEST_F(ReservationsOfMore, MembersThatFitBeginThoughOneBeforeThemDoesNot) {
  put(0, 0, licensed);
  EXPECT_EQ(take(), List{0});
  reserve(amounts(2000, 1000, 0));
  put(2, 0, tiny);
  put(3, 0, tiny);
  put(10, 1, licensed);
  put(11, 1, tiny);
  EXPECT_EQ(take(), List{2});
  queue.set_entitlement(kGang, MilliSlots{2000}, 0);
  queue.reservations().open(kGang);
  EXPECT_EQ(take(), List{11});
  EXPECT_EQ(take(), List{3});
}

TEST_F(ReservationsOfMore, WhatIsDroppedOrReplacedIsEverybodysAgain) {
  reserve(amounts(1000, 8000, 3));
  EXPECT_TRUE(queue.reservations().is_whole(kGang));
  put(0, 0, small);
  EXPECT_EQ(take(), List{});
  reserve(amounts(1000, 7000, 2));
  EXPECT_TRUE(queue.reservations().is_whole(kGang));
  EXPECT_EQ(take(), List{0});
  queue.reservations().drop(kGang);
  put(1, 0, large);
  EXPECT_EQ(take(), List{1});
}

TEST_F(ReservationsOfMore, RunsThatGoOnCountAsTheirPartOfAllOfIt) {
  put(0, 1, small);
  EXPECT_EQ(take(), List{0});
  reserve(amounts(2000, 2000, 2));
  EXPECT_TRUE(queue.reservations().is_whole(kGang));
  EXPECT_EQ(queue.available().cpu, MilliCpu{6000});
  EXPECT_EQ(amount_of(queue.available().named, "licence"), 1);
}

TEST_F(Reservations, AnotherSizeReplacesTheOneBefore) {
  reserve(slots(4000));
  reserve(slots(1000));
  EXPECT_EQ(queue.reservations().held_for(kGang), MilliSlots{1000});
  for (std::uint32_t i = 0; i < 4; ++i) put(i);
  EXPECT_EQ(take(), (List{0, 1, 2}));
}

TEST_F(Reservations, NothingIsOfferedToRunsWhoseSlotsAreWanted) {
  for (std::uint32_t i = 0; i < 8; ++i) put(i);
  EXPECT_EQ(take().size(), 4U);
  const std::vector<RecordIndex> running{RecordIndex{0}, RecordIndex{1}, RecordIndex{2}, RecordIndex{3}};
  const auto offers = [&] {
    std::vector<RecordIndex> offered;
    queue.offer(
        4, running, [](const QueueItem&) { return true; }, offered);
    const std::size_t count = offered.size();
    queue.offers().withdraw();
    return count;
  };
  reserve(slots(1000));
  EXPECT_EQ(offers(), 0U);
  queue.reservations().drop(kGang);
  EXPECT_EQ(offers(), 4U);
}

TEST_F(Reservations, NothingIsOfferedWhileTheJobThatReservesRuns) {
  put(0, 1);
  for (std::uint32_t i = 1; i < 8; ++i) put(i);
  EXPECT_EQ(take().size(), 4U);
  const std::vector<RecordIndex> running{RecordIndex{0}, RecordIndex{1}, RecordIndex{2}, RecordIndex{3}};
  reserve(slots(1000));
  EXPECT_TRUE(queue.reservations().has_slots(kGang));
  std::vector<RecordIndex> offered;
  queue.offer(
      4, running, [](const QueueItem&) { return true; }, offered);
  EXPECT_EQ(offered.size(), 0U) << "another job would follow its run on the lane, and it would be one short";
}

TEST_F(Reservations, WhoHasAllOfItKeepsItWhenARunOfItsOwnEnds) {
  constexpr JobSlot kEarlier{2};
  put(0);
  put(1);
  put(2, 1);
  put(3, 1);
  EXPECT_EQ(take().size(), 4U);
  queue.set_entitlement(kEarlier, MilliSlots{}, 0);
  queue.reservations().reserve(kEarlier, slots(2000));
  reserve(slots(2000));
  EXPECT_TRUE(queue.reservations().has_slots(kGang));
  release(3);
  EXPECT_EQ(take(), List{});
  EXPECT_TRUE(queue.reservations().has_slots(kGang)) << "it has been said to be held";
  EXPECT_EQ(queue.reservations().held_for(kEarlier), MilliSlots{});
  release(0);
  EXPECT_EQ(take(), List{});
  EXPECT_EQ(queue.reservations().held_for(kEarlier), MilliSlots{1000});
}

TEST_F(Reservations, WhoWantsLessKeepsThatAndAnEarlierOneGetsTheRest) {
  constexpr JobSlot kEarlier{2};
  put(0);
  EXPECT_EQ(take().size(), 1U);
  reserve(slots(3000));
  EXPECT_TRUE(queue.reservations().has_slots(kGang));
  queue.set_entitlement(kEarlier, MilliSlots{}, 0);
  queue.reservations().reserve(kEarlier, slots(4000));
  put(1, 3);
  release(0);
  EXPECT_EQ(take(), List{});
  queue.reservations().reserve(kEarlier, slots(3000));
  EXPECT_TRUE(queue.reservations().has_slots(kGang));
  EXPECT_EQ(queue.reservations().held_for(kEarlier), MilliSlots{1000});
  reserve(slots(2000));
  EXPECT_TRUE(queue.reservations().has_slots(kGang)) << "it had more than that";
  EXPECT_EQ(queue.reservations().held_for(kEarlier), MilliSlots{2000});
  reserve(slots(4000));
  EXPECT_FALSE(queue.reservations().has_slots(kGang));
  EXPECT_EQ(queue.reservations().held_for(kGang), MilliSlots{2000}) << "what it has stays";
}

TEST_F(Reservations, WhoMayNotBeginWithAllAtOnceKeepsTheRest) {
  reserve(slots(3000));
  put(0);
  put(1);
  put(10, 1);
  put(11, 1);
  EXPECT_EQ(take(), List{0});
  open(MilliSlots{3000});
  PENSTOCK_EXPECT_COVERAGE_MARK("a job begins on a part of what was reserved for it", EXPECT_EQ(take(0), List{}));
  EXPECT_EQ(queue.reservations().held_for(kGang), MilliSlots{3000});
  EXPECT_EQ(take(1), List{10});
  EXPECT_EQ(queue.reservations().held_for(kGang), MilliSlots{2000});
  EXPECT_EQ(take(), List{11});
  EXPECT_EQ(take(), List{1}) << "what it leaves in the end is everybody's";
  EXPECT_FALSE(queue.reservations().any());
}

TEST_F(Reservations, WhoWaitsIsToldHowMuchIsReserved) {
  for (std::uint32_t i = 0; i < 3; ++i) put(i);
  EXPECT_EQ(take().size(), 3U);
  reserve(slots(3000));
  put(9, 1);
  EXPECT_EQ(obstacle(queue, RecordIndex{9}), "barrier: of 3000 milli-slots of its gang here 1000 are reserved");
}

}  // namespace
}  // namespace penstock::worker
