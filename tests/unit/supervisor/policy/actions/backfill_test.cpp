#include <gtest/gtest.h>

#include "supervisor/policy/policy_engine.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

PolicyBuilder blocked_head() {
  PolicyBuilder builder;
  const std::uint32_t band = builder.band(8);
  builder.workload("runs").ends_by = Instant{std::chrono::seconds{10}};
  builder.running(6, band);
  builder.workload("head").time_limit = std::chrono::seconds{5};
  builder.snapshot.workloads.back().quality_factor = 1;
  builder.waiting(8);
  builder.workload("short").time_limit = std::chrono::seconds{10};
  builder.waiting(2);
  builder.workload("long").time_limit = std::chrono::seconds{11};
  builder.waiting(1);
  return builder;
}

TEST(Backfill, FillsGapsBeforeAReservedStart) {
  const PolicyBuilder builder = blocked_head();
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.starts.size(), 1U);
  EXPECT_EQ(builder.snapshot.members[plan.starts[0].member].workload, 2U);
  EXPECT_TRUE(plan.starts[0].backfilled);
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(plan.reservations[0].starts_by, Instant{std::chrono::seconds{10}});
  EXPECT_EQ(plan.priorities.size(), 4U);
}

TEST(Backfill, TellsWhatBlocks) {
  const PolicyBuilder builder = blocked_head();
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.explanations.size(), 2U);
  EXPECT_EQ(plan.explanations[0].hold, Hold::NoRoom);
}

TEST(Backfill, TellsWhomAStartWouldDelay) {
  PolicyBuilder builder = blocked_head();
  builder.snapshot.members.erase(builder.snapshot.members.begin() + 2);  // Of the short one.
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  EXPECT_TRUE(plan.starts.empty());
  ASSERT_EQ(plan.explanations.size(), 2U);
  EXPECT_EQ(plan.explanations[0].other, kNone);
  EXPECT_EQ(plan.explanations[1].hold, Hold::BehindReservation);
  EXPECT_EQ(plan.explanations[1].other, 1U) << "the head";
}

}  // namespace
}  // namespace penstock::policy
