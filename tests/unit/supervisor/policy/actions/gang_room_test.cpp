#include "supervisor/policy/actions/gang_room.hpp"

#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

/// Two bands of four devices, three of each in use by one job each; a gang of two waits, with two devices each.
class GangRoomOf : public testing::Test {
 protected:
  GangRoomOf() {
    first = builder.device_band(4);
    second = builder.device_band(4);
    const std::uint32_t project = builder.project("project", 8);
    builder.job("first", project);
    builder.holds(3, first);
    builder.job("second", project);
    builder.holds(3, second);
    builder.job("gang", project).sets[0].min = 2;
    builder.wants(2, 2);
  }
  Resources room(std::int64_t devices) const { return {1'000'000, std::int64_t{1} << 50, devices * 1000}; }

  PolicyBuilder builder;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  const Parts parts = parts_named("quota");
  const std::vector<std::uint32_t> gang{2, 3};
};

TEST_F(GangRoomOf, AllNeedRoomTogether) {
  const Trial trial{builder.snapshot, 0, parts};
  const GangRoom room_for{trial, gang};
  EXPECT_FALSE(room_for.fits_anyway());
  EXPECT_FALSE(room_for.might_fit({{first, room(3)}})) << "for one of them only";
  EXPECT_TRUE(room_for.might_fit({{first, room(4)}}));
  EXPECT_TRUE(room_for.might_fit({{first, room(3)}, {second, room(2)}}));
  EXPECT_EQ(room_for.gain(first, room(3)), 1);
  EXPECT_FALSE(room_for.is_enough(1));
  EXPECT_TRUE(room_for.is_enough(2));
  EXPECT_TRUE(GangRoom{}.is_enough(GangRoom{}.gain(first, room(1)))) << "nothing is known";
}

TEST_F(GangRoomOf, OnlyBandsThatTheyMayUseCount) {
  builder.snapshot.band_lists = {{first}};
  for (const std::uint32_t member : gang) builder.snapshot.members[member].band_list = 0;
  const Trial trial{builder.snapshot, 0, parts};
  const GangRoom room_for{trial, gang};
  EXPECT_FALSE(room_for.might_fit({{first, room(3)}, {second, room(4)}}));
  EXPECT_TRUE(room_for.might_fit({{first, room(4)}}));
}

TEST_F(GangRoomOf, WhatIsThereCountsWithWhatIsLeft) {
  builder.device_band(3);
  const Trial trial{builder.snapshot, 0, parts};
  EXPECT_TRUE((GangRoom{trial, gang}.might_fit({{first, room(3)}})));
  builder.device_band(2);
  const Trial wider{builder.snapshot, 0, parts};
  EXPECT_TRUE((GangRoom{wider, gang}.fits_anyway()));
}

TEST_F(GangRoomOf, WhenAllHaveGoneWhoCanTheSameIsAsked) {
  const Trial trial{builder.snapshot, 0, parts};
  const GangRoom room_for{trial, gang};
  BestCaseRoom best_case{trial};
  EXPECT_FALSE(room_for.might_fit(best_case));
  best_case.may_go(0, true, false);
  EXPECT_TRUE(room_for.might_fit(best_case));
}

TEST_F(GangRoomOf, OfMembersThatDifferNothingIsKnown) {
  builder.snapshot.members[3].request.gpu = 1000;
  const Trial trial{builder.snapshot, 0, parts};
  const GangRoom room_for{trial, gang};
  EXPECT_TRUE(room_for.might_fit(BestCaseRoom{trial}));
  EXPECT_TRUE(room_for.might_fit({{first, room(1)}}));
}

}  // namespace
}  // namespace penstock::policy
