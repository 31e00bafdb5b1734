#include <gtest/gtest.h>

#include "supervisor/policy/actions/limit_relief.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

/// A department that may hold three devices and holds three: two of the first project, one of the second.
PolicyBuilder department_at_its_limit() {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(8);
  const std::uint32_t department = builder.project("d", 3);
  builder.snapshot.projects[department].shares[2].limit = 3000;
  builder.job("first", builder.project("a", 2, department));
  builder.holds(1, band, 2);
  builder.job("second", builder.project("b", 1, department));
  builder.holds(1, band);
  builder.project("elsewhere", 1);
  return builder;
}

TEST(LimitRelief, WhatLeavesBelowTheOwnerAtItsLimitCounts) {
  const PolicyBuilder builder = department_at_its_limit();
  const Parts parts = parts_named("quota");
  const Trial trial{builder.snapshot, 0, parts};
  LimitRelief limits{trial, 2, {.gpu = 2000}};
  EXPECT_FALSE(limits.lifted());
  EXPECT_TRUE(limits.is_helped_by(1, {.gpu = 1000}));
  EXPECT_FALSE(limits.is_helped_by(3, {.gpu = 1000})) << "of another department";
  EXPECT_FALSE(limits.is_helped_by(1, {.cpu = 1000})) << "the limit is one of devices";
  limits.take(3, {.gpu = 9000});
  limits.take(1, {.gpu = 1000});
  EXPECT_FALSE(limits.lifted());
  limits.take(2, {.gpu = 1000});
  EXPECT_TRUE(limits.lifted());
}

TEST(LimitRelief, WithinAllLimitsNothingHasToLeave) {
  PolicyBuilder builder = department_at_its_limit();
  builder.snapshot.projects[0].shares[2].limit = 4000;
  const Parts parts = parts_named("quota");
  const Trial trial{builder.snapshot, 0, parts};
  EXPECT_TRUE((LimitRelief{trial, 2, {.gpu = 1000}}.lifted()));
  EXPECT_FALSE((LimitRelief{trial, 2, {.gpu = 1001}}.lifted()));
  EXPECT_TRUE((LimitRelief{trial, 2, {.cpu = 1000}}.lifted())) << "only amounts that are asked for are tested";
}

TEST(LimitRelief, MemoryOfADeviceCountsForAStepMoreThanWhileItWaits) {
  PolicyBuilder builder = department_at_its_limit();
  builder.job("part", 2);
  builder.wants_part(0);
  builder.last_member().device_memory_mib = 50;
  const Parts parts = parts_named("quota");
  const Trial trial{builder.snapshot, 0, parts};
  EXPECT_EQ(amount_at_most(trial, 3).gpu, 510);
  EXPECT_EQ(amount_at_most(trial, 0).gpu, 1000);
}

}  // namespace
}  // namespace penstock::policy
