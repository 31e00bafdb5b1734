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
  member.slots = 3;
  member.band_list = 1;
  EXPECT_FALSE(failed.contains(member)) << "other bands";
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

// Beside seed 500030820 of the simulator with a policy: the pass of each other pool promised a gang its place once
// more.
TEST(SlotPass, CarriedReservationsAreSettledInTheirOwnPoolOnly) {
  PolicyBuilder builder;
  builder.band(2);
  const std::uint32_t other = builder.band(2);
  builder.snapshot.bands[other].pool = 1;
  builder.workload("leaves").pool = 1;
  builder.running(2, other);
  builder.snapshot.members[0].state = MemberState::Leaving;
  builder.workload("gang").pool = 1;
  builder.waiting(2);
  builder.snapshot.carried = {{1, {{other, 2}}}};
  const Parts parts = parts_named("priority");
  const auto reservations_of = [&](std::uint32_t pool) {
    Plan plan;
    SlotPass{builder.snapshot, pool, parts, plan}.settle_carried();
    return plan.reservations.size();
  };
  EXPECT_EQ(reservations_of(0), 0U);
  EXPECT_EQ(reservations_of(1), 1U);
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
