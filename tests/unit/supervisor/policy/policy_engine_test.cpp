#include <gtest/gtest.h>

#include "supervisor/policy/policy_engine.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(PolicyEngine, EntitlesToWhatIsKeptAndWhatStarts) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.band(4);
  builder.workload("one");
  builder.running(1, band);
  builder.waiting(2);
  const Plan plan = PolicyEngine{{parts_named("priority")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.entitlements.size(), 1U);
  EXPECT_EQ(plan.entitlements[0], (Entitlement{0, band, 3000}));
}

TEST(PolicyEngine, PoolsAreDecidedApart) {
  PolicyBuilder builder;
  builder.band(1);
  builder.snapshot.bands[builder.band(1)].pool = 1;
  builder.workload("here");
  builder.waiting(1, 3);
  builder.workload("there").pool = 1;
  builder.waiting(1, 3);
  const Plan plan = PolicyEngine{{parts_named("priority"), parts_named("fair_share")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.starts.size(), 2U);
  EXPECT_EQ(plan.starts[0].places[0].band, 0U);
  EXPECT_EQ(plan.starts[1].places[0].band, 1U);
}

}  // namespace
}  // namespace penstock::policy
