#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(Consolidate, MovesASmallJobSoThatALargeOneFits) {
  PolicyBuilder builder;
  const std::uint32_t left = builder.device_band(2);
  const std::uint32_t right = builder.device_band(2);
  const std::uint32_t project = builder.project("p", 4);
  builder.job("a", project);
  builder.holds(1, left);
  builder.job("b", project);
  builder.holds(1, right);
  builder.job("large", project);
  builder.wants(2);
  const Plan plan = run_actions(builder, {Action::Allocate, Action::Consolidate});
  EXPECT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(plan.reservations.size(), 2U) << "the large one, and a new place for who moves";
}

TEST(Consolidate, NobodyLosesHisPlaceForGood) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(2);
  const std::uint32_t project = builder.project("p", 4);
  builder.job("a", project);
  builder.holds(1, band);
  builder.job("large", project);
  builder.wants(2);
  EXPECT_TRUE(run_actions(builder, {Action::Consolidate}).preemptions.empty());
}

}  // namespace
}  // namespace penstock::policy
