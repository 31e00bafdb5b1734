#include <gtest/gtest.h>

#include "supervisor/policy/policy_engine.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

/// Five slots are wanted at once where bands have four, before everybody else; one slot by one that is less important.
PolicyBuilder impossible_before_possible() {
  PolicyBuilder builder;
  builder.band(4);
  builder.workload("impossible", 1).submitted_at = Instant{};
  builder.snapshot.workloads.back().quality_factor = 1;
  builder.waiting(5);
  builder.workload("possible", 50);
  builder.snapshot.workloads.back().preemptible = false;
  builder.waiting(1);
  builder.last_member().preemptible = false;
  return builder;
}

// Spec: faults F24, it never starves others.
TEST(Eligibility, WhoFitsNoEmptyPoolKeepsNobodyWaiting) {
  for (const char* preset : {"fair_share", "fair_share_max_min", "priority", "multifactor"}) {
    for (const std::uint32_t depth : {0U, 1U, kReserveAll}) {
      Parts parts = parts_named(preset);
      parts.reserve_depth = depth;
      const PolicyBuilder builder = impossible_before_possible();
      const Plan plan = PolicyEngine{{parts}}.pass(builder.snapshot);
      ASSERT_EQ(plan.starts.size(), 1U) << preset;
      EXPECT_EQ(plan.starts[0].member, 1U) << preset;
      ASSERT_FALSE(plan.explanations.empty()) << preset;
      EXPECT_EQ(plan.explanations[0].workload, 0U) << preset;
      EXPECT_EQ(plan.explanations[0].hold, Hold::NeverFits) << preset;
    }
  }
}

TEST(Eligibility, WhoFitsAnEmptyPoolIsWaitedFor) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.band(4);
  builder.workload("runs", 1);
  builder.running(3, band);
  builder.workload("large", 2);
  builder.waiting(4);
  builder.workload("small", 50);
  builder.waiting(1);
  const Plan plan = PolicyEngine{{parts_named("priority")}}.pass(builder.snapshot);
  EXPECT_TRUE(plan.starts.empty());
}

/// Behind the first member, which starts, waits a gang that needs all 8 slots, and behind that somebody less important.
Plan pass_with_a_gang_behind(PolicyBuilder& builder) {
  builder.workload("gang", 1);
  builder.waiting(8);
  builder.workload("overtakes", 42);
  builder.waiting(4);
  Parts parts = parts_named("priority");
  parts.preemption = false;
  Plan plan = PolicyEngine{{parts}}.pass(builder.snapshot);
  EXPECT_EQ(plan.starts.size(), 1U);
  for (const Start& each : plan.starts) EXPECT_EQ(each.member, 0U);
  for (const Explanation& each : plan.explanations) EXPECT_NE(each.hold, Hold::NeverFits) << each.workload;
  return plan;
}

// A job that the pass itself has started takes a place of the empty pool no more than others do.
TEST(Eligibility, WhoFitsAnEmptyPoolIsWaitedForAfterAnEqualStartedInTheSamePass) {
  PolicyBuilder builder;
  builder.band(8);
  builder.workload("starts", 1);
  builder.waiting(1);
  const Plan plan = pass_with_a_gang_behind(builder);
  ASSERT_FALSE(plan.explanations.empty());
  EXPECT_EQ(plan.explanations.back().workload, 2U);
  EXPECT_EQ(plan.explanations.back().hold, Hold::HigherPriority);
}

// Nor does a place that is kept for a carried reservation.
TEST(Eligibility, WhoFitsAnEmptyPoolIsWaitedForWhilePlacesAreKept) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.band(8);
  builder.workload("claims", 1);
  builder.waiting(4);
  builder.snapshot.carried.push_back({0, {{band, 4}}});
  pass_with_a_gang_behind(builder);
}

// A gang that only waits for those that may not be preempted has no share yet, and is not infeasible either.
TEST(Eligibility, WhoWaitsForWhatMayNotBePreemptedHasNoRoomAndFitsAllTheSame) {
  for (const char* preset : {"fair_share", "fair_share_max_min"}) {
    PolicyBuilder builder;
    const std::uint32_t band = builder.band(4);
    builder.workload("stays", 1).preemptible = false;
    builder.running(1, band);
    builder.last_member().preemptible = false;
    builder.workload("gang", 1);
    builder.waiting(4);
    const Plan plan = PolicyEngine{{parts_named(preset)}}.pass(builder.snapshot);
    EXPECT_TRUE(plan.starts.empty()) << preset;
    ASSERT_EQ(plan.explanations.size(), 1U) << preset;
    EXPECT_EQ(plan.explanations[0], (Explanation{1, 1, Hold::NoRoom, 4, 3})) << preset;
  }
}

TEST(Eligibility, QuotasNameWhatNoBandHasAtAll) {
  PolicyBuilder builder;
  builder.device_band(4);
  const std::uint32_t project = builder.project("project", 4);
  builder.job("impossible", project);
  builder.wants(5);
  const Plan plan = PolicyEngine{{parts_named("quota")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.explanations.size(), 1U);
  EXPECT_EQ(plan.explanations[0].hold, Hold::NeverFits);
  EXPECT_EQ(plan.explanations[0].need, 5000);
  EXPECT_EQ(plan.explanations[0].have, 4000);
}

}  // namespace
}  // namespace penstock::policy
