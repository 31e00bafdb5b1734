#include "supervisor/policy/replay/replay_figures.hpp"

#include <gtest/gtest.h>

namespace penstock::policy {
namespace {

TEST(ReplayFigures, JainsIndex) {
  EXPECT_DOUBLE_EQ(jain_index({}), 1);
  EXPECT_DOUBLE_EQ(jain_index({3, 3, 3}), 1);
  EXPECT_DOUBLE_EQ(jain_index({1, 0, 0, 0}), 0.25);
}

TEST(ReplayFigures, EqualSharesGiveWhatIsLeftToThoseWhoWantMore) {
  EXPECT_EQ(equal_shares({1, 10, 4}, 9), (std::vector<double>{1, 4, 4}));
  EXPECT_EQ(equal_shares({1, 2}, 9), (std::vector<double>{1, 2}));
}

TEST(ReplayFigures, Waits) {
  const ReplayWaits waits = waits_of("p", {5, 1, 3}, 2);
  EXPECT_EQ(waits.jobs, 5);
  EXPECT_DOUBLE_EQ(waits.mean_s, 3);
  EXPECT_EQ(waits.median_s, 3);
  EXPECT_EQ(waits.max_s, 5);
}

TEST(ReplayFigures, WhatAJobCannotUseIsFragmented) {
  ReplayTrace trace;
  trace.jobs = {{.devices = 1, .device_share = 500}, {.devices = 2}};
  const TypicalRequests requests{trace};
  // Half a device: half of the requests fit; two whole ones: all do.
  EXPECT_DOUBLE_EQ(requests.unusable_part({{0, {500}, 0}}), 0.5);
  EXPECT_DOUBLE_EQ(requests.unusable_part({{2000, {}, 0}}), 0);
  EXPECT_DOUBLE_EQ(requests.unusable_part({{0, {}, 0}}), 0);
}

}  // namespace
}  // namespace penstock::policy
