#include <gtest/gtest.h>

#include "supervisor/policy/sharing/usage_decay.hpp"

namespace penstock::policy {
namespace {

constexpr double kWeek = 604800;

// Spec: policy-flux 6.1.
TEST(UsageDecay, HalfIsLeftAfterTheHalfLife) {
  UsageTally tally{kWeek, 1000};
  EXPECT_DOUBLE_EQ(tally.value_at(kWeek), 500);
  EXPECT_DOUBLE_EQ(tally.value_at(4 * kWeek), 62.5);
  tally.advance(kWeek / 2);
  tally.advance(kWeek);
  EXPECT_NEAR(tally.value(), 500, 1e-9);
}

TEST(UsageDecay, CuttingAnIntervalChangesNothing) {
  UsageTally whole{kWeek};
  whole.charge_rate(8, 0, 86400);
  UsageTally cut{kWeek};
  for (int hour = 0; hour < 24; ++hour) cut.charge_rate(8, hour * 3600, (hour + 1) * 3600);
  EXPECT_NEAR(whole.value(), cut.value(), 1e-6);
  EXPECT_NEAR(whole.value(), 658080.470669, 1e-5);
}

TEST(UsageDecay, PartialTalliesMergeInAnyOrder) {
  UsageTally early{kWeek};
  early.charge(100, 10);
  UsageTally late{kWeek};
  late.charge(50, kWeek);
  UsageTally one = early;
  one.merge(late);
  UsageTally other = late;
  other.merge(early);
  EXPECT_NEAR(one.value(), other.value(), 1e-12 * one.value());
}

TEST(UsageDecay, WithoutAHalfLifeNothingFades) {
  UsageTally tally{0, 7};
  tally.charge_rate(2, 0, 10);
  EXPECT_EQ(tally.value_at(1e9), 27);
}

}  // namespace
}  // namespace penstock::policy
