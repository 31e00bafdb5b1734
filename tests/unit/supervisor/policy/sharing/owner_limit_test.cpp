#include "supervisor/policy/sharing/owner_limit.hpp"

#include <gtest/gtest.h>

namespace penstock::policy {
namespace {

/// A department of 6 with a project of 4, in which two jobs have 3 and 1 slots, and one beside it with 1.
struct Case {
  Case() {
    snapshot.share_nodes = {{"d", kNone, 1000, 6}, {"a", 0, 1000, 4}, {"b", 0, 1000, kUnlimited}};
    snapshot.workloads.resize(3);
    snapshot.workloads[0].share_node = snapshot.workloads[1].share_node = 1;
    snapshot.workloads[2].share_node = 2;
    snapshot.members.resize(3);
    for (std::uint32_t i = 0; i < 3; ++i) snapshot.members[i].workload = i, snapshot.members[i].slots = 1;
    plan.workload_targets = {{0, {.gpu = 3000}}, {1, {.gpu = 1000}}, {2, {.gpu = 1000}}};
  }
  std::optional<OwnerLimit> limit(std::uint32_t workload, std::int64_t have, Hold hold = Hold::AtFairShare) const {
    return OwnerLimits{snapshot, plan}.of({workload, workload, hold, have, have});
  }
  Snapshot snapshot;
  Plan plan;
};

TEST(OwnerLimits, TheFirstOwnerThatMayNotHoldOneMoreIsTold) {
  Case it;
  EXPECT_EQ(it.limit(1, 1), (OwnerLimit{1, 5, 4}));
  it.snapshot.share_nodes[1].slots_max = kUnlimited;
  EXPECT_EQ(it.limit(1, 1), std::nullopt) << "the department may hold 6";
  it.snapshot.members[1].slots = 2;
  EXPECT_EQ(it.limit(1, 1), (OwnerLimit{0, 7, 6}));
}

TEST(OwnerLimits, OthersCountWithTheirSharesAndTheJobWithWhatItHolds) {
  Case it;
  it.plan.workload_targets[1].amount.gpu = 2000;
  it.plan.workload_targets[0].amount.gpu = 2000;
  EXPECT_EQ(it.limit(1, 1), std::nullopt);
  EXPECT_EQ(it.limit(1, 2), (OwnerLimit{1, 5, 4}));
}

TEST(OwnerLimits, NothingIsToldOfAJobThatAnotherRuleHolds) {
  EXPECT_EQ(Case{}.limit(1, 1, Hold::NoRoom), std::nullopt);
  EXPECT_EQ(Case{}.limit(2, 1), std::nullopt);
}

TEST(OwnerLimits, ALimitOfAUserHoldsTheJobsUnderItWhenItsSharesTakeAllOfIt) {
  Case it;
  const auto is_held = [&it](std::uint32_t workload, std::int64_t have) {
    return OwnerLimits{it.snapshot, it.plan}.is_at_slot_limit({workload, workload, Hold::AtFairShare, have, have});
  };
  EXPECT_FALSE(is_held(0, 3));
  it.snapshot.slot_limits = {{4, {0, 2}}};
  EXPECT_TRUE(is_held(0, 3)) << "with one more it would be 4 and 1";
  EXPECT_FALSE(is_held(1, 1)) << "the limit is of others";
  it.snapshot.slot_limits[0].slots = 5;
  EXPECT_FALSE(is_held(0, 3));
}

}  // namespace
}  // namespace penstock::policy
