#include "supervisor/core/driver/explain/start_estimate.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Positions = std::vector<std::size_t>;

/// One band of four slots that two hold.
RoomView two_on_four() {
  RoomView view;
  view.places = {{BandSlot{0}, 4000, 0, true}};
  view.holders = {{JobId{1}, kNever, {1000}}, {JobId{2}, kNever, {3000}}};
  return view;
}

TEST(StartEstimateTest, ItIsTheEndOfTheFirstThatMakesRoom) {
  const StartEstimate estimate = estimate_start(two_on_four(), {seconds{9}, seconds{5}}, {{2000, false, 0, {}}});
  EXPECT_EQ(estimate.within, seconds{5});
  EXPECT_EQ(estimate.after, Positions{1});
  const StartEstimate all = estimate_start(two_on_four(), {seconds{9}, seconds{5}}, {{4000, false, 0, {}}});
  EXPECT_EQ(all.within, seconds{9});
  EXPECT_EQ(all.after, (Positions{1, 0}));
}

TEST(StartEstimateTest, WhatNobodyKnowsTheEndOfNeverEnds) {
  const StartEstimate estimate = estimate_start(two_on_four(), {seconds{9}, std::nullopt}, {{2000, false, 0, {}}});
  EXPECT_FALSE(estimate.within.has_value());
  EXPECT_EQ(estimate.unsure, Positions{1});
  EXPECT_EQ(estimate_start(two_on_four(), {seconds{9}, std::nullopt}, {{1000, false, 0, {}}}).within, seconds{9});
}

TEST(StartEstimateTest, WhoGoesBeforeItStartsFirst) {
  const std::vector<std::optional<Duration>> ends{seconds{9}, seconds{5}};
  EXPECT_EQ(estimate_start(two_on_four(), ends, {{3000, false, 0, seconds{2}}, {3000, false, 0, {}}}).within,
            seconds{7});
  EXPECT_FALSE(
      estimate_start(two_on_four(), ends, {{3000, false, 0, std::nullopt}, {3000, false, 0, {}}}).within.has_value());
  EXPECT_EQ(estimate_start(two_on_four(), ends, {{4000, false, 0, seconds{1}}, {1000, false, 0, {}}}).within,
            seconds{10})
      << "it passes nobody, though there is room for it before";
}

TEST(StartEstimateTest, ProgressTellsOnlyWithASoundBasis) {
  const std::uint64_t second = 1'000'000;
  EXPECT_EQ(rest_of({10, 20 * second, 30, 4}), seconds{15}) << "30 of 2 s, four at once";
  EXPECT_FALSE(rest_of({7, 14 * second, 3, 1}).has_value()) << "few have ended";
  EXPECT_FALSE(rest_of({10, 20 * second, 91, 4}).has_value()) << "a small part of all";
  EXPECT_FALSE(rest_of({10, 20 * second, 30, 0}).has_value()) << "nothing runs";
  EXPECT_EQ(rest_of({8, 8 * second, 1, 2}), milliseconds{500});
}

}  // namespace
}  // namespace penstock::supervisor
