#include "worker/core/band/memory_quota.hpp"

#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"

namespace penstock::worker {
namespace {

class MemoryQuotaTest : public ::testing::Test {
 protected:
  QuotaAnswer request(std::uint32_t record, std::int64_t bytes, std::uint64_t priority = 0) {
    const QuotaAnswer answer = quota.request({RecordIndex{record}, Bytes{bytes}, 0, priority, sequence++});
    quota.validate();
    return answer;
  }
  bool try_request(std::uint32_t record, std::int64_t bytes, std::uint64_t priority = 0) {
    const bool granted = quota.try_request({RecordIndex{record}, Bytes{bytes}, 0, priority, sequence++});
    quota.validate();
    return granted;
  }
  std::vector<std::uint32_t> granted() {
    std::vector<RecordIndex> records;
    quota.take_granted(records);
    quota.validate();
    std::vector<std::uint32_t> numbers;
    for (const RecordIndex record : records) numbers.push_back(record.value());
    return numbers;
  }
  void release(std::uint32_t record) {
    quota.release(RecordIndex{record});
    quota.validate();
  }

  using List = std::vector<std::uint32_t>;
  std::uint64_t sequence = 0;
  MemoryQuota quota{Bytes{300}, Bytes{600}, {.overtake_max = 2, .scan_max = 8, .forward_bypass_max = 2}};
};

TEST_F(MemoryQuotaTest, TwoRequestsOfTwoThirdsAreServedOneAfterTheOther) {
  EXPECT_EQ(request(0, 200), QuotaAnswer::Granted);
  EXPECT_EQ(request(1, 200), QuotaAnswer::Waits);
  EXPECT_EQ(quota.granted_to(RecordIndex{1}), Bytes{0});
  EXPECT_EQ(granted(), List{});
  release(0);
  EXPECT_EQ(granted(), List{1});
  release(1);
  EXPECT_EQ(quota.used(), Bytes{0});
}

TEST_F(MemoryQuotaTest, ARequestAboveCapacityRunsAlone) {
  EXPECT_EQ(request(0, 100), QuotaAnswer::Granted);
  EXPECT_EQ(request(1, 500), QuotaAnswer::Waits);
  EXPECT_EQ(request(2, 10), QuotaAnswer::Waits);
  EXPECT_EQ(granted(), List{});
  release(0);
  EXPECT_EQ(granted(), List{1});
  EXPECT_EQ(quota.exclusive_count(), 1U);
  release(1);
  EXPECT_EQ(granted(), List{2});
}

TEST_F(MemoryQuotaTest, ARequestAboveTheHardLimitIsRefusedAtOnce) {
  EXPECT_EQ(request(0, 601), QuotaAnswer::Refused);
  EXPECT_EQ(quota.waiting(), 0U);
}

TEST_F(MemoryQuotaTest, WhenTheHeadIsCancelledTheNextIsGrantedAtOnce) {
  request(0, 200);
  request(1, 200, 5);
  request(2, 100, 1);
  release(1);
  EXPECT_EQ(granted(), List{2});
}

TEST_F(MemoryQuotaTest, TheSameIdAdjustsItsOwnGrant) {
  request(0, 200);
  EXPECT_EQ(request(0, 300), QuotaAnswer::Granted);
  EXPECT_EQ(quota.used(), Bytes{300});
  EXPECT_EQ(request(0, 50), QuotaAnswer::Granted);
  EXPECT_EQ(quota.used(), Bytes{50});
  request(1, 200);
  EXPECT_EQ(request(0, 200), QuotaAnswer::Waits);
  EXPECT_EQ(quota.granted_to(RecordIndex{0}), Bytes{50});
  release(1);
  EXPECT_EQ(granted(), List{0});
  EXPECT_EQ(quota.used(), Bytes{200});
}

TEST_F(MemoryQuotaTest, WaitsAreOrderedByPriorityThenArrival) {
  request(0, 300);
  request(1, 100, 1);
  request(2, 100, 7);
  request(3, 100, 7);
  release(0);
  EXPECT_EQ(granted(), (List{2, 3, 1}));
}

TEST_F(MemoryQuotaTest, ASmallerOneOvertakesOnlyIfTheHeadCouldStillFitBesideIt) {
  request(0, 200);
  request(1, 200, 9);
  request(2, 100, 1);  // 100 + 200 <= 300
  request(3, 60, 0);
  EXPECT_EQ(granted(), List{2});
  release(2);
  // 60 + 200 fits beside the head.
  EXPECT_EQ(granted(), List{3});
}

// Each alone would: a run of 2 s that waited behind one of 2 s ended after 12 s.
TEST_F(MemoryQuotaTest, AllWhoHaveOvertakenTheHeadLeaveRoomForItTogether) {
  request(0, 150);
  request(1, 200, 9);
  request(2, 60, 1);
  request(3, 60, 1);
  EXPECT_EQ(granted(), List{2}) << "60 + 60 + 200 is more than there is";
  release(0);
  EXPECT_EQ(granted(), List{1});
  release(2);
  EXPECT_EQ(granted(), List{3});
}

// Memory held from before the head came is no overtaking, and counts for no request that comes later.
TEST_F(MemoryQuotaTest, AnOvertakerOfOneThatWasServedMayBeOvertakenBesides) {
  request(0, 150);
  request(1, 200, 9);
  request(2, 100, 1);
  EXPECT_EQ(granted(), List{2});
  release(0);
  EXPECT_EQ(granted(), List{1});
  request(3, 150, 9);
  request(4, 10, 1);
  EXPECT_EQ(granted(), List{}) << "nothing is free";
  quota.shrink(RecordIndex{2}, Bytes{80});
  EXPECT_EQ(granted(), List{4}) << "10 + 150 fit beside each other, once the others end";
  release(1);
  EXPECT_EQ(granted(), List{3});
}

TEST_F(MemoryQuotaTest, OvertakingIsBounded) {
  request(0, 250);
  request(1, 200, 9);
  for (std::uint32_t i = 2; i < 6; ++i) request(i, 10, 1);
  EXPECT_EQ(granted(), (List{2, 3}));
  release(2);
  EXPECT_EQ(granted(), List{});
  release(0);
  EXPECT_EQ(granted(), (List{1, 4, 5}));
}

TEST_F(MemoryQuotaTest, AForwardedOnePassesWaitersOnlyWithHigherPriorityAndNotForEver) {
  request(0, 200);
  request(1, 200, 5);
  EXPECT_FALSE(try_request(2, 10, 5));
  PENSTOCK_EXPECT_COVERAGE_MARK("a forwarded successor passed those who wait for memory",
                                EXPECT_TRUE(try_request(3, 10, 6)));
  EXPECT_TRUE(try_request(4, 10, 6));
  EXPECT_FALSE(try_request(5, 10, 6));
  release(0);
  EXPECT_EQ(granted(), List{1});
  request(6, 200, 5);
  EXPECT_TRUE(try_request(7, 10, 6));
}

TEST_F(MemoryQuotaTest, AFailedTryLeavesNoTrace) {
  request(0, 250);
  EXPECT_FALSE(try_request(1, 100, 9));
  EXPECT_EQ(quota.waiting(), 0U);
  EXPECT_EQ(quota.used(), Bytes{250});
}

TEST_F(MemoryQuotaTest, WhilePausedNothingNewIsGranted) {
  quota.set_paused(true);
  EXPECT_EQ(request(0, 10), QuotaAnswer::Waits);
  EXPECT_FALSE(try_request(1, 10));
  EXPECT_EQ(granted(), List{});
  quota.set_paused(false);
  EXPECT_EQ(granted(), List{0});
}

TEST_F(MemoryQuotaTest, ShrinkingGivesTheDifferenceToOthers) {
  request(0, 300);
  request(1, 100);
  quota.shrink(RecordIndex{0}, Bytes{150});
  quota.shrink(RecordIndex{0}, Bytes{999});
  EXPECT_EQ(granted(), List{1});
  EXPECT_EQ(quota.used(), Bytes{250});
}

TEST_F(MemoryQuotaTest, AGrantGrowsAsFarAsOthersHaveLeftRoom) {
  EXPECT_EQ(request(0, 100), QuotaAnswer::Granted);
  EXPECT_EQ(request(1, 100), QuotaAnswer::Granted);
  quota.grow(RecordIndex{0}, Bytes{150});
  quota.validate();
  EXPECT_EQ(quota.granted_to(RecordIndex{0}), Bytes{150});
  quota.grow(RecordIndex{0}, Bytes{120});
  EXPECT_EQ(quota.granted_to(RecordIndex{0}), Bytes{150});
  quota.grow(RecordIndex{0}, Bytes{500});
  quota.validate();
  EXPECT_EQ(quota.used(), Bytes{300});
  quota.grow(RecordIndex{1}, Bytes{101});
  quota.validate();
  EXPECT_EQ(quota.granted_to(RecordIndex{1}), Bytes{100});
  release(1);
  quota.grow(RecordIndex{0}, Bytes{1000});
  quota.validate();
  EXPECT_EQ(quota.granted_to(RecordIndex{0}), Bytes{600}) << "alone it may have all up to the hard limit";
}

TEST_F(MemoryQuotaTest, WhoHoldsNothingDoesNotGrow) {
  quota.grow(RecordIndex{3}, Bytes{100});
  EXPECT_EQ(request(0, 300), QuotaAnswer::Granted);
  EXPECT_EQ(request(1, 100), QuotaAnswer::Waits);
  quota.grow(RecordIndex{1}, Bytes{200});
  quota.validate();
  EXPECT_EQ(quota.used(), Bytes{300});
}

}  // namespace
}  // namespace penstock::worker
