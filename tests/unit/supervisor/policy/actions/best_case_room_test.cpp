#include <gtest/gtest.h>

#include "supervisor/policy/actions/best_case_room.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

/// Two bands of two devices, all in use: two jobs of one on the first, one of two on the second; one waits for two.
class BestCaseRoomOf : public testing::Test {
 protected:
  BestCaseRoomOf() {
    first = builder.device_band(2);
    second = builder.device_band(2);
    const std::uint32_t project = builder.project("project", 4);
    builder.job("small", project);
    builder.holds(1, first);
    builder.holds(1, first);
    builder.job("large", project);
    builder.holds(2, second);
    builder.job("waits", project);
    builder.wants(2);
  }
  PolicyBuilder builder;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  const Parts parts = parts_named("quota");
};

TEST_F(BestCaseRoomOf, AFullBandHoldsNobodyUntilEnoughMayGo) {
  const Trial trial{builder.snapshot, 0, parts};
  BestCaseRoom best_case{trial};
  EXPECT_FALSE(best_case.might_hold(3, first));
  best_case.may_go(0, true, false);
  EXPECT_FALSE(best_case.might_hold(3, first));
  best_case.may_go(1, true, false);
  EXPECT_TRUE(best_case.might_hold(3, first));
  EXPECT_FALSE(best_case.might_hold(3, second)) << "nobody goes there";
}

TEST_F(BestCaseRoomOf, WhoMayNotBeLostGoesOnlyWhereThereIsRoomOnAnotherBand) {
  const Trial trial{builder.snapshot, 0, parts};
  BestCaseRoom best_case{trial};
  for (const std::uint32_t member : {0U, 1U, 2U}) best_case.may_go(member, false, false);
  EXPECT_FALSE(best_case.might_hold(3, first));
  EXPECT_FALSE(best_case.might_hold(3, second));
  builder.device_band(1);
  const Trial wider{builder.snapshot, 0, parts};
  BestCaseRoom better{wider};
  for (const std::uint32_t member : {0U, 1U, 2U}) better.may_go(member, false, false);
  EXPECT_TRUE(better.might_hold(3, first));
  EXPECT_FALSE(better.might_hold(3, second)) << "the large one does not fit one device";
}

TEST_F(BestCaseRoomOf, RoomElsewhereIsAlsoOfMemoryAndCpuBesideTheDevices) {
  const std::uint32_t third = builder.device_band(1);
  for (std::int64_t Resources::*part : {&Resources::memory, &Resources::cpu}) {
    for (const std::int64_t lacks : {1, 0}) {
      builder.snapshot.bands[third].capacity.*part = builder.snapshot.members[0].request.*part - lacks;
      const Trial trial{builder.snapshot, 0, parts};
      BestCaseRoom best_case{trial};
      for (const std::uint32_t member : {0U, 1U}) best_case.may_go(member, false, false);
      EXPECT_EQ(best_case.might_hold(3, first), lacks == 0);
    }
    builder.snapshot.bands[third].capacity = builder.snapshot.bands[first].capacity;
    builder.snapshot.bands[third].capacity.gpu = 1000;
  }
}

TEST_F(BestCaseRoomOf, WhoLeavesTogetherWithOthersElsewhereMayGoAnyway) {
  const Trial trial{builder.snapshot, 0, parts};
  BestCaseRoom best_case{trial};
  best_case.may_go(2, false, true);
  EXPECT_TRUE(best_case.might_hold(3, second));
}

TEST_F(BestCaseRoomOf, PartsOfDevicesCountByTheirMemory) {
  builder.device_band(1);
  builder.wants_part(600);
  builder.last_member().state = MemberState::Running;
  builder.last_member().places = {{2, 0}};
  builder.last_member().device_groups = {0};
  builder.wants_part(500);
  builder.wants_part(400);
  const Trial trial{builder.snapshot, 0, parts};
  BestCaseRoom best_case{trial};
  EXPECT_FALSE(best_case.might_hold(5, 2));
  EXPECT_TRUE(best_case.might_hold(6, 2));
  best_case.may_go(4, false, false);
  EXPECT_FALSE(best_case.might_hold(5, 2)) << "no other device is shared, and none is free";
  best_case.may_go(4, true, false);
  EXPECT_TRUE(best_case.might_hold(5, 2));
}

TEST(BestCaseRooms, SearchesGoOnForLongerWhereTheyAskedForTheBoundInVain) {
  BestCaseRooms rooms;
  EXPECT_EQ(rooms.patience(), 1U);
  rooms.note_search(true);
  rooms.note_search(true);
  EXPECT_EQ(rooms.patience(), 4U);
  rooms.note_search(true);
  EXPECT_EQ(rooms.patience(), 4U) << "no search goes on for ever";
  for (int i = 0; i < 3; ++i) rooms.note_search(false);
  EXPECT_EQ(rooms.patience(), 1U);
}

}  // namespace
}  // namespace penstock::policy
