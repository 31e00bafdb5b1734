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

// Found by the simulator (seed 283): work of a job that waits for one band kept its work for others from idle ones.
TEST(Allocate, WhoWaitsForOneBandKeepsNoneOfItsJobFromAnother) {
  PolicyBuilder builder;
  const std::uint32_t full = builder.device_band(1);
  const std::uint32_t idle = builder.device_band(1);
  const std::uint32_t project = builder.project("a", 2);
  builder.workload("job").project = project;
  for (const std::uint32_t band : {full, full, idle}) {
    builder.waiting(1);
    builder.last_member().request = {0, 0, 1000};
    builder.only_on({band});
  }
  const Plan plan = PolicyEngine{{parts_named("quota")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.starts.size(), 2U);
  EXPECT_NE(plan.starts[0].places[0].band, plan.starts[1].places[0].band);
  EXPECT_EQ(run_actions(builder, {Action::Allocate}, Rules::OfThePages).starts.size(), 1U)
      << "there a job that fails is not tried again";
}

// A job that is tried in another pool meanwhile.
TEST(Allocate, AKeptPlaceIsNobodyElsesAndNobodyLeavesForIt) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(4);
  const std::uint32_t poor = builder.project("poor", 4);
  const std::uint32_t rich = builder.project("rich", 0);
  builder.job("runs", rich);
  builder.holds(1, band, 2);
  builder.job("listed", poor).keeps_place = true;
  builder.wants(2);
  builder.wants(2);
  builder.job("later", rich);
  builder.wants(1);
  Plan plan = PolicyEngine{{parts_named("quota")}}.pass(builder.snapshot);
  EXPECT_TRUE(plan.starts.empty());
  EXPECT_TRUE(plan.preemptions.empty());
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_TRUE(plan.reservations[0].places.empty());
  builder.snapshot.workloads[1].keeps_place = false;
  plan = PolicyEngine{{parts_named("quota")}}.pass(builder.snapshot);
  EXPECT_EQ(plan.starts.size(), 1U);
  EXPECT_FALSE(plan.preemptions.empty());
}

}  // namespace
}  // namespace penstock::policy
