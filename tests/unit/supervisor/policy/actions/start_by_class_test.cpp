#include "supervisor/policy/actions/start_by_class.hpp"

#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

std::int64_t held_on(const PolicyBuilder& builder, std::uint32_t workload, std::uint32_t band) {
  return std::count_if(builder.snapshot.members.begin(), builder.snapshot.members.end(), [&](const Member& member) {
    return member.workload == workload && !member.places.empty() && member.places[0].band == band;
  });
}

/// Two bands of two slots; the older job may be on both, the younger on the one that best fit chose for the older.
class StartByClassTest : public testing::Test {
 protected:
  void SetUp() override {
    builder_.band(2);
    builder_.band(2);
    builder_.workload("anywhere");
    builder_.waiting(1, 2);
    builder_.workload("bound");
    builder_.waiting(1);
    builder_.only_on({0});
    builder_.waiting(1);
    builder_.only_on({0});
  }
  Plan pass() {
    const Plan plan = PolicyEngine{{parts_named("fair_share")}}.pass(builder_.snapshot);
    builder_.carry_out(plan);
    return plan;
  }
  PolicyBuilder builder_;
};

TEST_F(StartByClassTest, WhoMayBeElsewhereStartsElsewhere) {
  EXPECT_EQ(pass().starts.size(), 4U);
  EXPECT_EQ(held_on(builder_, 0, 1), 2);
  EXPECT_EQ(held_on(builder_, 1, 0), 2);
}

TEST_F(StartByClassTest, WhoRunsWhereAnotherMustBeMovesOnceAndStays) {
  for (std::uint32_t member : {0U, 1U}) {
    builder_.snapshot.members[member].state = MemberState::Running;
    builder_.snapshot.members[member].places = {{0, 1}};
  }
  const Plan plan = pass();
  ASSERT_EQ(plan.preemptions.size(), 2U);
  EXPECT_EQ(plan.preemptions[0].reason, PreemptionReason::Consolidation);
  EXPECT_EQ(pass().starts.size(), 4U);
  EXPECT_EQ(held_on(builder_, 1, 0), 2);
  const Plan rest = pass();
  EXPECT_TRUE(rest.starts.empty() && rest.preemptions.empty());
}

// Its share was half of all, two bands of four: more than its band has, and nobody had what was left.
TEST(StartByClass, NobodyIsDueWhatHeCannotUse) {
  PolicyBuilder builder;
  builder.band(2);
  builder.band(6);
  builder.workload("anywhere");
  builder.waiting(1, 8);
  builder.workload("bound");
  for (int i = 0; i < 8; ++i) {
    builder.waiting(1);
    builder.only_on({0});
  }
  const Plan plan = PolicyEngine{{parts_named("fair_share")}}.pass(builder.snapshot);
  EXPECT_EQ(plan.workload_targets[0].amount.gpu, 6000);
  EXPECT_EQ(plan.workload_targets[1].amount.gpu, 2000);
  EXPECT_EQ(plan.starts.size(), 8U);
}

}  // namespace
}  // namespace penstock::policy
