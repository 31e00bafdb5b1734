#include <gtest/gtest.h>

#include <numeric>

#include "supervisor/policy/sharing/fair_targets.hpp"

namespace penstock::policy {
namespace {

using Amounts = std::vector<std::int64_t>;

std::vector<ShareGroup> groups(const std::vector<std::pair<std::int64_t, std::int64_t>>& demands_and_weights) {
  std::vector<ShareGroup> all;
  for (const auto& [demand, weight] : demands_and_weights)
    all.push_back({.demand = demand, .weight = weight * 1000, .smallest_pending = 1});
  return all;
}

// Spec: policy-determined 11.1.
TEST(FairTargets, FollowWeightTimesDemand) {
  EXPECT_EQ(fair_targets(groups({{10, 1}, {30, 1}}), 8), (Amounts{2, 6}));
  EXPECT_EQ(fair_targets(groups({{10, 3}, {30, 1}}), 8), (Amounts{4, 4}));
  EXPECT_EQ(fair_targets(groups({{3, 1}, {3, 1}, {3, 1}}), 8), (Amounts{3, 3, 2}));
  EXPECT_EQ(fair_targets(groups({{1, 1}, {1000, 1}}), 8), (Amounts{1, 7}));
  EXPECT_EQ(fair_targets(groups(std::vector<std::pair<std::int64_t, std::int64_t>>(10, {1, 1})), 8),
            (Amounts{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}));
}

TEST(FairTargets, NobodyGetsMoreThanHisDemand) {
  EXPECT_EQ(fair_targets(groups({{2, 1000}, {30, 1}}), 8), (Amounts{2, 6}));
  EXPECT_EQ(fair_targets(groups({{2, 1}, {3, 1}}), 8), (Amounts{2, 3}));
}

TEST(FairTargets, WhatMayNotBeTakenIsKeptFirst) {
  std::vector<ShareGroup> all = groups({{4, 1}, {4, 1}});
  all[1].pinned = all[1].held = 3;
  EXPECT_EQ(fair_targets(all, 4), (Amounts{1, 3}));
  all[1].pinned = all[1].held = all[1].demand = 6;
  EXPECT_EQ(fair_targets(all, 4), (Amounts{0, 6}));
}

// Slots that a bag holds in other pools are not wanted here, and are a part of the demand by which it shares.
TEST(FairTargets, ABagGrowsByItsWholeDemandAndIsCappedByTheRestOfIt) {
  std::vector<ShareGroup> all = groups({{6, 1}, {3, 1}});
  EXPECT_EQ(fair_targets(all, 6), (Amounts{4, 2}));
  all[1].elsewhere = 3;
  EXPECT_EQ(fair_targets(all, 6), (Amounts{3, 3}));
  all[1] = {.demand = 1, .elsewhere = 5, .smallest_pending = 1};
  EXPECT_EQ(fair_targets(all, 6), (Amounts{5, 1}));
}

TEST(MaxMinTargets, OfTooFewSlotsTheJobOfTheSmallestWholeDemandHasOneFirst) {
  std::vector<ShareGroup> all = groups({{2, 1}, {1, 1}});
  EXPECT_EQ(max_min_targets(all, 1), (Amounts{0, 1}));
  all[1].elsewhere = 2;
  EXPECT_EQ(max_min_targets(all, 1), (Amounts{1, 0}));
}

// Two gangs of 2 on 2 slots: 1 and 1 would block both for ever. Spec: policy-determined 3.3.
TEST(FairTargets, OfTwoGangsTheYoungerGivesWay) {
  std::vector<ShareGroup> all = groups({{2, 1}, {2, 1}});
  all[0].smallest_pending = all[1].smallest_pending = 2;
  EXPECT_EQ(fair_targets(all, 2), (Amounts{2, 0}));
}

// Spec: policy-determined 4.6.
TEST(MaxMinTargets, DemandOnlyCaps) {
  EXPECT_EQ(max_min_targets(groups({{10, 1}, {30, 1}}), 8), (Amounts{4, 4}));
  EXPECT_EQ(max_min_targets(groups({{10, 3}, {30, 1}}), 8), (Amounts{6, 2}));
  EXPECT_EQ(max_min_targets(groups({{3, 10}, {7, 30}}), 8), (Amounts{2, 6}));
  EXPECT_EQ(max_min_targets(groups({{1, 1}, {8, 1}}), 8), (Amounts{1, 7}));
  EXPECT_EQ(max_min_targets(groups({{8, 1}, {8, 1}, {8, 1}}), 8), (Amounts{3, 3, 2}));
}

// Q1 of 4.9: pinned slots are paid from the offer, whatever their number.
TEST(MaxMinTargets, PinnedSlotsCount) {
  std::vector<ShareGroup> all = groups({{8, 1}, {8, 1}});
  all[0].pinned = all[0].held = 2;
  EXPECT_EQ(max_min_targets(all, 8), (Amounts{4, 4}));
}

// Q4 of 4.9.
TEST(MaxMinTargets, EndWhenPinnedSlotsExceedTheCap) {
  std::vector<ShareGroup> all = groups({{3, 1}, {8, 1}});
  all[0].pinned = all[0].held = 3;
  EXPECT_EQ(max_min_targets(all, 8), (Amounts{3, 5}));
}

// Spec: policy-determined 4.5: what we do instead.
TEST(MaxMinTargets, AGangThatDoesNotFitGivesBackItsOffer) {
  std::vector<ShareGroup> all = groups({{5, 4}, {5, 6}, {4, 1}});
  all[2].smallest_pending = 4;
  EXPECT_EQ(max_min_targets(all, 2), (Amounts{1, 1, 0}));
  // The job keeps what it holds (Q3 of 4.9).
  all[2].held = 1;
  all[2].demand = 5;
  EXPECT_EQ(max_min_targets(all, 3), (Amounts{1, 1, 1}));
}

}  // namespace
}  // namespace penstock::policy
