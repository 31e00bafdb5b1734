#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(Allocate, AGangStartsAsAWholeOrNotAtAll) {
  PolicyBuilder builder;
  builder.device_band(3);
  const std::uint32_t project = builder.project("p", 8);
  builder.job("gang", project).sets[0].min = 4;
  builder.wants(1, 4);
  EXPECT_TRUE(run_actions(builder, {Action::Allocate}).starts.empty());
  builder.device_band(1);
  EXPECT_EQ(run_actions(builder, {Action::Allocate}).starts.size(), 4U);
}

TEST(Allocate, IdleDevicesGoToWhoeverWants) {
  PolicyBuilder builder;
  builder.device_band(8);
  builder.job("beyond", builder.project("p", 0));
  builder.wants(1, 8);
  EXPECT_EQ(run_actions(builder, {Action::Allocate}).starts.size(), 8U);
}

TEST(Allocate, WhatMayNotBePreemptedStaysWithinTheGuarantee) {
  PolicyBuilder builder;
  builder.device_band(8);
  builder.job("interactive", builder.project("p", 2), 100);
  builder.wants(1, 8);
  EXPECT_EQ(run_actions(builder, {Action::Allocate}).starts.size(), 2U);
}

TEST(Allocate, PartsShareADevice) {
  PolicyBuilder builder;
  builder.device_band(1);
  builder.job("parts", builder.project("p", 1));
  builder.wants_part(500);
  builder.wants_part(500);
  const Plan plan = run_actions(builder, {Action::Allocate});
  ASSERT_EQ(plan.starts.size(), 2U);
  EXPECT_EQ(plan.starts[0].device_groups, plan.starts[1].device_groups);
}

}  // namespace
}  // namespace penstock::policy
