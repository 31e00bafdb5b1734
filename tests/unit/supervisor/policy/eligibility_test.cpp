#include <gtest/gtest.h>

#include "supervisor/policy/policy_engine.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

/// Five slots are wanted at once where bands have four, before everybody else; one slot by one who is less important.
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
