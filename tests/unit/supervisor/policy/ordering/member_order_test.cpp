#include <gtest/gtest.h>

#include "supervisor/policy/ordering/member_order.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(MemberOrder, PriorityThenPositionThenAge) {
  PolicyBuilder builder;
  builder.workload("late", 42);
  builder.waiting(1, 2);
  builder.workload("urgent", 1);
  builder.waiting(1);
  builder.workload("moved", 42).position = -5;
  builder.waiting(1);
  EXPECT_TRUE(more_important(builder.snapshot, 2, 3)) << "the priority of urgent";
  EXPECT_TRUE(more_important(builder.snapshot, 3, 0)) << "moved before late";
  EXPECT_FALSE(more_important(builder.snapshot, 0, 3));
  EXPECT_TRUE(more_important(builder.snapshot, 0, 1)) << "the member that was asked for first";
}

TEST(MemberOrder, NamesEndTies) { EXPECT_EQ(compare_age({1, 2}, "a", {1, 2}, "b"), -1); }

}  // namespace
}  // namespace penstock::policy
