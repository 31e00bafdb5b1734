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

// Spec: policy-determined 3.1. A pass sees no more members than fit the pool.
TEST(StartByShare, WantsBeyondTheMembersCountInTheShare) {
  PolicyBuilder builder;
  builder.band(8);
  builder.workload("first").beyond = 2;
  builder.waiting(1, 8);
  builder.workload("second").beyond = 22;
  builder.waiting(1, 8);
  builder.carry_out(PolicyEngine{{parts_named("fair_share")}}.pass(builder.snapshot));
  EXPECT_EQ(builder.running_of("first"), 2);
  EXPECT_EQ(builder.running_of("second"), 6);
}

// docs/policy.md: a rule of our own.
TEST(StartByShare, AGangThatDoesNotFitLeavesTheSharesOfOthersAlone) {
  PolicyBuilder builder;
  builder.band(2);
  for (const auto& [name, weight] : {std::pair{"light", 2000}, std::pair{"heavy", 3000}}) {
    builder.workload(name).weight = weight;
    builder.waiting(1, 5);
  }
  builder.workload("gang").weight = 500;
  builder.waiting(2, 2);
  builder.carry_out(PolicyEngine{{parts_named("fair_share_max_min")}}.pass(builder.snapshot));
  EXPECT_EQ(builder.running_of("light"), 1);
  EXPECT_EQ(builder.running_of("heavy"), 1);
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

// A job that is tried in another pool meanwhile.
TEST(StartByShare, AKeptPlaceLeavesItsShareFreeAndTakesNothingBack) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.band(4);
  builder.workload("grows");
  builder.running(1, band);
  builder.waiting(1, 3);
  builder.workload("listed").keeps_place = true;
  builder.waiting(1, 4);
  Plan plan = PolicyEngine{{parts_named("fair_share")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.starts.size(), 1U) << "the other half is not its own";
  EXPECT_EQ(builder.snapshot.members[plan.starts[0].member].workload, 0U);
  EXPECT_EQ(plan.reservations.size(), 2U);
  for (Member& member : builder.snapshot.members)
    if (member.workload == 0) member.state = MemberState::Running, member.places = {{band, 1}};
  plan = PolicyEngine{{parts_named("fair_share")}}.pass(builder.snapshot);
  EXPECT_TRUE(plan.preemptions.empty());
  builder.snapshot.workloads[1].keeps_place = false;
  EXPECT_EQ(PolicyEngine{{parts_named("fair_share")}}.pass(builder.snapshot).preemptions.size(), 2U);
}

}  // namespace
}  // namespace penstock::policy
