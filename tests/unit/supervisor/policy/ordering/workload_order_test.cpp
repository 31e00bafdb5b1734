#include <gtest/gtest.h>

#include "supervisor/policy/ordering/workload_order.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

/// One band, one project, a job with a gang of 2 and up to 4 members.
PolicyBuilder elastic(int running, int waiting) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(8);
  builder.job("elastic", builder.project("p", 8)).sets[0].min = 2;
  builder.holds(1, band, running);
  builder.wants(1, waiting);
  return builder;
}

std::size_t next(const PolicyBuilder& builder) {
  const Parts parts = parts_named("quota");
  const Trial trial{builder.snapshot, 0, parts};
  const WorkloadOrder order{trial};
  return order.next_members(0, [&](std::uint32_t member) { return trial.state(member) == MemberState::Pending; })
      .size();
}

// Spec: policy-runai 5.
TEST(WorkloadOrder, AGangAtOnceThenOneByOne) {
  EXPECT_EQ(next(elastic(0, 4)), 2U);
  EXPECT_EQ(next(elastic(1, 3)), 1U);
  EXPECT_EQ(next(elastic(2, 2)), 1U);
}

TEST(WorkloadOrder, SurplusGoesFirstThenTheWholeCore) {
  for (const int running : {2, 4}) {
    const PolicyBuilder builder = elastic(running, 0);
    const Parts parts = parts_named("quota");
    const Trial trial{builder.snapshot, 0, parts};
    const std::vector<std::uint32_t> victims = WorkloadOrder{trial}.next_victims(0, [](std::uint32_t) { return true; });
    EXPECT_EQ(victims.size(), running == 2 ? 2U : 1U);
    EXPECT_EQ(victims.back(), static_cast<std::uint32_t>(running - 1)) << "the youngest";
  }
}

TEST(WorkloadOrder, GangStates) {
  EXPECT_EQ(gang_state(std::vector<SetCount>{{1, 1}}), GangState::AtMin);
  EXPECT_EQ(gang_state(std::vector<SetCount>{{2, 1}, {0, 1}}), GangState::BelowMin);
  EXPECT_EQ(gang_state(std::vector<SetCount>{{2, 1}, {1, 1}}), GangState::AboveMin);
}

}  // namespace
}  // namespace penstock::policy
