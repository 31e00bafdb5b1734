#include "supervisor/policy/actions/give_turn.hpp"

#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow{1000s};

Parts with_turns(const char* preset = "fair_share") {
  Parts parts = parts_named(preset);
  parts.starvation_after = 60s;
  return parts;
}

/// 100 single members, eight of which run on one band, and a gang of four without a share.
class GiveTurnTest : public ::testing::Test {
 protected:
  GiveTurnTest() {
    builder.snapshot.now = kNow;
    builder.band(8);
    builder.workload("many");
    builder.running(1, 0, 8);
    builder.waiting(1, 92);
    builder.workload("gang").waits_since = kNow - 60s;
    builder.waiting(4);
  }
  Workload& gang() { return builder.snapshot.workloads[1]; }
  Plan pass() { return PolicyEngine{{with_turns()}}.pass(builder.snapshot); }

  PolicyBuilder builder;
};

TEST_F(GiveTurnTest, AGangWithoutAShareGetsThePlaceOfOthersWhenItHasWaitedForSoLong) {
  gang().waits_since = kNow - 60s + Duration{1};
  EXPECT_TRUE(pass().preemptions.empty());
  gang().waits_since = kNow - 60s;
  Plan plan = pass();
  ASSERT_EQ(plan.preemptions.size(), 4U);
  for (const Preemption& each : plan.preemptions) {
    EXPECT_EQ(each.reason, PreemptionReason::Turn);
    EXPECT_EQ(each.beneficiary, 1U);
    EXPECT_GE(each.member, 4U) << "the youngest leave";
  }
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(plan.reservations[0].places, (std::vector<Place>{{0, 4}}));
  builder.carry_out(plan);
  builder.snapshot.carried = {{plan.reservations[0].member, plan.reservations[0].places}};
  plan = pass();
  EXPECT_TRUE(plan.preemptions.empty());
  EXPECT_EQ(plan.starts.size(), 1U);
  builder.carry_out(plan);
  EXPECT_EQ(builder.running_of("gang"), 1);
}

TEST_F(GiveTurnTest, AJobThatHasNotRunForItsMinimumLosesNothing) {
  builder.snapshot.workloads[0].protected_until = kNow + Duration{1};
  EXPECT_EQ(pass().reservations.size(), 0U);
  builder.snapshot.workloads[0].protected_until = kNow;
  EXPECT_EQ(pass().reservations.size(), 1U);
}

TEST_F(GiveTurnTest, OneTurnIsGivenAfterTheOther) {
  builder.workload("another").waits_since = kNow - 70s;
  builder.waiting(4);
  Plan plan = pass();
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(builder.snapshot.members[plan.reservations[0].member].workload, 2U) << "it has waited longest";
  builder.snapshot.carried = {{plan.reservations[0].member, plan.reservations[0].places}};
  for (const Preemption& each : plan.preemptions) builder.snapshot.members[each.member].state = MemberState::Leaving;
  plan = pass();
  EXPECT_EQ(plan.reservations.size(), 1U) << "the promised one";
  EXPECT_TRUE(plan.preemptions.empty());
}

TEST_F(GiveTurnTest, ALimitIsNoTurn) {
  gang().slots_max = 3;
  EXPECT_TRUE(pass().reservations.empty());
  gang().slots_max = kUnlimited;
  builder.snapshot.share_nodes = {{.name = "p", .slots_max = 3}};
  gang().share_node = 0;
  EXPECT_TRUE(pass().reservations.empty());
}

TEST_F(GiveTurnTest, AnOwnerAtItsLimitFirstGetsSlotsBackFromItsOtherJobs) {
  builder.snapshot.share_nodes = {{.name = "p", .slots_max = 8}};
  builder.snapshot.workloads[0].share_node = gang().share_node = 0;
  builder.band(8);
  Plan plan = pass();
  EXPECT_TRUE(plan.starts.empty()) << "with it the owner would hold twelve";
  EXPECT_EQ(plan.preemptions.size(), 4U);
  builder.carry_out(plan);
  plan = pass();
  EXPECT_EQ(plan.starts.size(), 1U);
}

// Room in pieces: four slots are free, but on no band together.
TEST(GiveTurn, AFragmentedPoolMakesRoomOnOneBand) {
  PolicyBuilder builder;
  builder.snapshot.now = kNow;
  for (int band = 0; band < 2; ++band) builder.band(4);
  builder.workload("a");
  builder.running(1, 0, 2);
  builder.running(1, 1, 2);
  builder.workload("run").waits_since = kNow - 60s;
  builder.waiting(4);
  builder.last_member().single_band = true;
  const Plan plan = PolicyEngine{{with_turns()}}.pass(builder.snapshot);
  EXPECT_EQ(plan.preemptions.size(), 2U);
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(plan.reservations[0].places.size(), 1U);
}

}  // namespace
}  // namespace penstock::policy
