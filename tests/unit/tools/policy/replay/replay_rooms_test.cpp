#include "tools/policy/replay/replay_rooms.hpp"

#include <gtest/gtest.h>

namespace penstock::policy {
namespace {

constexpr RoomDemand kPart{0, 0, 0, 600};

TEST(ReplayRooms, APartTakesTheFullestDeviceWithRoom) {
  const ReplayTrace trace;
  const TypicalRequests typical{trace};
  ReplayRooms rooms{equal_trace_bands(1, 2), typical};
  std::vector<RoomHolding> first{{0, kPart, kNone}};
  std::vector<RoomHolding> second{{0, {0, 0, 0, 400}, kNone}};
  ASSERT_TRUE(rooms.take(first));
  ASSERT_TRUE(rooms.take(second));
  EXPECT_EQ(first[0].device, second[0].device);
  EXPECT_EQ(rooms.room_for(0, {0, 0, 1, 0}, 9), 1);
  rooms.give_back(first);
  rooms.give_back(second);
  EXPECT_EQ(rooms.room_for(0, {0, 0, 2, 0}, 9), 1);
}

TEST(ReplayRooms, WhatDoesNotFitWhollyTakesNothing) {
  const ReplayTrace trace;
  const TypicalRequests typical{trace};
  ReplayRooms rooms{equal_trace_bands(1, 2), typical};
  std::vector<RoomHolding> three(3, RoomHolding{0, kPart, kNone});
  EXPECT_FALSE(rooms.take(three));
  EXPECT_EQ(rooms.room_for(0, {0, 0, 2, 0}, 9), 1);
  EXPECT_EQ(rooms.room_for(0, {16'000, 0, 0, 0}, 9), 2);  // 32 processors.
  std::vector<RoomHolding> processors{{0, {32'001, 0, 0, 0}, kNone}};
  EXPECT_FALSE(rooms.take(processors));
}

}  // namespace
}  // namespace penstock::policy
