#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(BreakStaleGangs, AfterTheGraceTheRestLeaves) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(2);
  builder.job("gang", builder.project("p", 2), 100).sets[0].min = 2;
  builder.holds(1, band);
  builder.wants(1);
  builder.last_member().state = MemberState::Failed;
  builder.snapshot.now = Instant{std::chrono::seconds{100}};
  builder.snapshot.workloads[0].stale_since = Instant{std::chrono::seconds{50}};
  EXPECT_TRUE(run_actions(builder, {Action::BreakStaleGangs}).preemptions.empty());
  builder.snapshot.workloads[0].stale_since = Instant{std::chrono::seconds{39}};
  const Plan plan = run_actions(builder, {Action::BreakStaleGangs});
  ASSERT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(plan.preemptions[0].reason, PreemptionReason::StaleGang);
}

}  // namespace
}  // namespace penstock::policy
