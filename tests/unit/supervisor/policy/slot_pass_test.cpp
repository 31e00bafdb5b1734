#include <gtest/gtest.h>

#include "supervisor/policy/slot_pass.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(SlotPass, AFailedShapeIsSearchedForOnce) {
  KnownShapes failed;
  Member member;
  member.slots = 3;
  failed.add(member);
  EXPECT_TRUE(failed.contains(member));
  member.slots = 2;
  EXPECT_FALSE(failed.contains(member));
  member.blocked_bands = {1};
  failed.add(member);
  EXPECT_FALSE(failed.contains(member)) << "its bands are its own affair";
}

TEST(SlotPass, HeldWorkloadsDoNotCompete) {
  PolicyBuilder builder;
  builder.band(1);
  builder.workload("one").held = true;
  builder.waiting(1);
  Plan plan;
  const Parts parts = parts_named("priority");
  const SlotPass pass{builder.snapshot, 0, parts, plan};
  EXPECT_TRUE(pass.waiting().empty());
  ASSERT_EQ(plan.explanations.size(), 1U);
  EXPECT_EQ(plan.explanations[0].hold, Hold::Held);
}

TEST(SlotPass, AFailedShapeIsOfItsListOfBands) {
  KnownShapes failed;
  Member member;
  member.slots = 3;
  member.band_list = 0;
  failed.add(member);
  EXPECT_TRUE(failed.contains(member)) << "thousands of members name the same list";
  member.band_list = 1;
  EXPECT_FALSE(failed.contains(member));
  for (; member.band_list < 100; ++member.band_list) failed.add(member);
  member.band_list = 99;
  EXPECT_TRUE(failed.contains(member)) << "however many lists there are";
}

}  // namespace
}  // namespace penstock::policy
