#include "supervisor/policy/sharing/limited_targets.hpp"

#include <gtest/gtest.h>

namespace penstock::policy {
namespace {

using Amounts = std::vector<std::int64_t>;

std::vector<ShareGroup> wanting(const Amounts& demands) {
  std::vector<ShareGroup> groups;
  for (const std::int64_t demand : demands) groups.push_back({.demand = demand});
  return groups;
}

TEST(LimitedTargets, WithoutLimitsAllIsDividedAsEver) {
  const std::vector<ShareGroup> groups = wanting({10, 30, 7});
  EXPECT_EQ(limited_targets(groups, {}, 8, fair_targets), fair_targets(groups, 8));
  EXPECT_EQ(limited_targets(groups, {{{0, 1}, 40}}, 8, fair_targets), fair_targets(groups, 8))
      << "one that never binds";
}

TEST(LimitedTargets, WhatALimitedGroupCannotUseIsTheOthers) {
  EXPECT_EQ(limited_targets(wanting({100, 100}), {{{0}, 2}}, 10, fair_targets), (Amounts{2, 8}));
  EXPECT_EQ(limited_targets(wanting({100, 100}), {{{0}, 2}}, 10, max_min_targets), (Amounts{2, 8}));
}

TEST(LimitedTargets, AnotherLimitBindsOnlyForWhatTheFirstOneLeaves) {
  // The second is passed when the third group gets what the first cannot use.
  const std::vector<ShareLimit> limits{{{0}, 1}, {{1}, 4}};
  EXPECT_EQ(limited_targets(wanting({30, 30, 30}), limits, 10, fair_targets), (Amounts{1, 4, 5}));
}

TEST(LimitedTargets, OfLimitsWithinEachOtherTheTighterComesFirst) {
  const std::vector<ShareLimit> limits{{{0, 1}, 6}, {{0}, 1}};
  EXPECT_EQ(limited_targets(wanting({50, 50, 50}), limits, 18, fair_targets), (Amounts{1, 5, 12}));
  // And where the outer one leaves less than the inner one has, that counts.
  EXPECT_EQ(limited_targets(wanting({50, 50, 50}), {{{0, 1}, 4}, {{0}, 3}}, 18, fair_targets), (Amounts{2, 2, 14}));
}

TEST(LimitedTargets, AUnionBindsWhereItsPartsDoNot) {
  // Bands 1, 2, 3 of one slot each: two groups may use 1 and 2, or 2 and 3, and only three slots are there.
  const std::vector<ShareLimit> limits{{{0}, 2}, {{1}, 2}, {{0, 1}, 3}};
  EXPECT_EQ(limited_targets(wanting({9, 9, 9}), limits, 9, fair_targets), (Amounts{2, 1, 6}));
}

TEST(LimitedTargets, NobodyIsBelowOneWhereThereIsRoomAndNothingPinnedIsTaken) {
  std::vector<ShareGroup> groups = wanting({1000, 1, 1000});
  EXPECT_EQ(limited_targets(groups, {{{0, 1}, 3}}, 12, fair_targets), (Amounts{2, 1, 9}));
  groups[0].held = groups[0].pinned = 5;
  EXPECT_EQ(limited_targets(groups, {{{0, 1}, 5}}, 12, fair_targets), (Amounts{5, 0, 7}));
}

}  // namespace
}  // namespace penstock::policy
