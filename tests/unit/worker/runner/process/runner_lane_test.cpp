#include "worker/runner/process/runner_lane.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace penstock::worker {
namespace {

using std::chrono::seconds;
using Lanes = std::vector<std::size_t>;

std::optional<Instant> at(int second) { return instant_at(seconds{second}); }

TEST(SpareLanes, ThoseIdleForLongestBeyondAsManyAsAreKept) {
  const std::vector<std::optional<Instant>> idle{at(5), at(9), at(1), at(7)};
  EXPECT_EQ(spare_lanes(idle, 2, *at(100)), (Lanes{0, 2}));
  EXPECT_EQ(spare_lanes(idle, 4, *at(100)), Lanes{});
  EXPECT_EQ(spare_lanes(idle, 9, *at(100)), Lanes{});
}

TEST(SpareLanes, OnlyThoseThatWereIdleBefore) {
  const std::vector<std::optional<Instant>> idle{at(5), at(9), at(1), at(7)};
  EXPECT_EQ(spare_lanes(idle, 1, *at(5)), (Lanes{0, 2}));
  EXPECT_EQ(spare_lanes(idle, 1, *at(4)), (Lanes{2}));
}

TEST(SpareLanes, LanesThatAreNotIdleDoNotCount) {
  EXPECT_EQ(spare_lanes({std::nullopt, at(2), std::nullopt, at(3)}, 1, *at(100)), (Lanes{1}));
  EXPECT_EQ(spare_lanes({std::nullopt, std::nullopt}, 1, *at(100)), Lanes{});
}

TEST(SameKind, WhatAChildIsStartedWithDecides) {
  Template one;
  one.program = "python";
  one.arguments = {"-c", "x"};
  Template other = one;
  other.name = "another";
  other.payload = "of its own";
  EXPECT_TRUE(same_kind(one, other));
  EXPECT_TRUE(kind_of(other).payload.empty());
  other.environment = {"A=1"};
  EXPECT_FALSE(same_kind(kind_of(one), kind_of(other)));
}

TEST(RunnerLane, ARunnerServesOneUser) {
  Template hers;
  hers.user = Seldom{std::string{"ada"}};
  Template his = hers;
  EXPECT_TRUE(same_kind(kind_of(hers), kind_of(his)));
  his.user = Seldom{std::string{"bob"}};
  EXPECT_FALSE(same_kind(kind_of(hers), kind_of(his)));
  EXPECT_FALSE(same_kind(kind_of(hers), kind_of(Template{}))) << "the worker's own";
}

}  // namespace
}  // namespace penstock::worker
