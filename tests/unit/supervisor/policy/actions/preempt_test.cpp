#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(Preempt, InteractiveTakesFromTrainingOfItsProject) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(2);
  const std::uint32_t project = builder.project("p", 2);
  builder.job("training", project, 50);
  builder.holds(2, band);
  builder.job("interactive", project, 100);
  builder.wants(1);
  const Plan plan = run_actions(builder, {Action::Preempt});
  ASSERT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(plan.preemptions[0].beneficiary, 1U);
  EXPECT_EQ(plan.reservations.size(), 1U);
}

TEST(Preempt, EqualsStay) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(1);
  const std::uint32_t project = builder.project("p", 1);
  builder.job("first", project);
  builder.holds(1, band);
  builder.job("second", project);
  builder.wants(1);
  EXPECT_TRUE(run_actions(builder, {Action::Preempt}).preemptions.empty());
}

}  // namespace
}  // namespace penstock::policy
