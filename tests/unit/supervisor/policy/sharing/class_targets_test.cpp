#include "supervisor/policy/sharing/class_targets.hpp"

#include <gtest/gtest.h>

namespace penstock::policy {
namespace {

using Amounts = std::vector<std::int64_t>;

/// Groups of weight 1 that each want that many slots of one class.
struct Classed {
  std::vector<ShareGroup> groups;
  ClassedPool pool;

  void group(std::uint32_t kind, std::int64_t slots) {
    groups.push_back({.demand = slots, .smallest_pending = 1});
    pool.demands.push_back({{kind, slots}});
    pool.holdings.emplace_back();
  }
};

/// Rooms of 4 and 4; class 0 may be in both, class 1 in the first only.
Classed two_rooms() {
  Classed made;
  made.pool.rooms = {4, 4};
  made.pool.classes = {{0, 1}, {0}};
  return made;
}

TEST(ClassTargets, WhereBandsDoNotCrowdTheyAreThoseOfAll) {
  Classed made = two_rooms();
  made.group(0, 8);
  made.group(1, 8);
  EXPECT_TRUE(can_be_placed(made.groups, made.pool, {4, 4}));
  EXPECT_EQ(class_targets(made.groups, made.pool, Slope::Weight), (Amounts{4, 4}));
}

// By thirds of all each had 2 or 3; the two that may be in one room only have that room's half each.
TEST(ClassTargets, WhoCrowdsSharesWhatIsThereAndOthersHaveTheRest) {
  Classed made = two_rooms();
  made.pool.rooms = {2, 8};
  made.group(1, 5);
  made.group(0, 10);
  made.group(1, 5);
  EXPECT_FALSE(can_be_placed(made.groups, made.pool, {3, 4, 3}));
  EXPECT_EQ(class_targets(made.groups, made.pool, Slope::Weight), (Amounts{1, 8, 1}));
  EXPECT_EQ(class_targets(made.groups, made.pool, Slope::Demand), (Amounts{1, 8, 1}));
}

TEST(ClassTargets, WhatIsPinnedElsewhereCounts) {
  Classed made = two_rooms();
  made.group(0, 4);
  made.group(1, 4);
  made.groups[1].demand += 3;
  made.groups[1].pinned = made.groups[1].held = 3;
  made.pool.rooms = {1, 4};
  EXPECT_EQ(class_targets(made.groups, made.pool, Slope::Weight), (Amounts{4, 4}));
}

TEST(ClassTargets, OfTwoGangsInOneRoomTheYoungerGivesWay) {
  Classed made;
  made.pool.rooms = {2, 2};
  made.pool.classes = {{0}, {1}};
  made.group(0, 2);
  made.group(0, 2);
  made.group(1, 1);
  made.groups[0].smallest_pending = made.groups[1].smallest_pending = 2;
  EXPECT_EQ(class_targets(made.groups, made.pool, Slope::Weight), (Amounts{2, 0, 1}));
}

}  // namespace
}  // namespace penstock::policy
