#include <gtest/gtest.h>

#include "supervisor/policy/policy_engine.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

// Spec: policy-determined 11.2.
TEST(StartByShare, AFullPoolRebalances) {
  PolicyBuilder builder;
  builder.band(8);
  builder.workload("first");
  builder.waiting(1, 10);
  const PolicyEngine engine{{parts_named("fair_share")}};
  builder.carry_out(engine.pass(builder.snapshot));
  EXPECT_EQ(builder.running_of("first"), 8);
  builder.workload("second");
  builder.waiting(1, 30);
  Plan plan = engine.pass(builder.snapshot);
  EXPECT_EQ(plan.preemptions.size(), 6U);
  EXPECT_TRUE(plan.starts.empty()) << "what is being left is not free yet";
  builder.carry_out(plan);
  builder.carry_out(engine.pass(builder.snapshot));
  EXPECT_EQ(builder.running_of("first"), 2);
  EXPECT_EQ(builder.running_of("second"), 6);
  plan = engine.pass(builder.snapshot);
  EXPECT_TRUE(plan.starts.empty() && plan.preemptions.empty());
  builder.snapshot.workloads[0].weight = 3000;
  EXPECT_EQ(engine.pass(builder.snapshot).preemptions.size(), 2U);
}

TEST(StartByShare, WhatCanNeverFitHasNoDemand) {
  PolicyBuilder builder;
  builder.band(4);
  builder.workload("impossible");
  builder.waiting(5);
  builder.workload("possible");
  builder.waiting(1, 9);
  const Plan plan = PolicyEngine{{parts_named("fair_share")}}.pass(builder.snapshot);
  EXPECT_EQ(plan.starts.size(), 4U);
  ASSERT_FALSE(plan.explanations.empty());
  EXPECT_EQ(plan.explanations[0].hold, Hold::NeverFits);
}

// Spec: policy-determined 12 P13.
TEST(StartByShare, LightMembersNeitherWaitForSlotsNorTakeThem) {
  PolicyBuilder builder;
  builder.band(1, 2);
  builder.workload("light");
  builder.waiting(0, 3);
  builder.workload("heavy");
  builder.waiting(1);
  EXPECT_EQ(PolicyEngine{{parts_named("fair_share")}}.pass(builder.snapshot).starts.size(), 3U);
}

}  // namespace
}  // namespace penstock::policy
