#include <gtest/gtest.h>

#include "supervisor/policy/actions/give_way.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

/// A job of two devices runs on the first band and has just been moved to the second; an older job waits.
struct OneMoved {
  explicit OneMoved(std::int64_t waiting_wants) {
    const std::uint32_t first = builder.device_band(2);
    builder.device_band(2);
    const std::uint32_t project = builder.project("p", 2);
    builder.job("waits", project);
    builder.wants(waiting_wants);
    builder.job("moves", project).last_start = builder.snapshot.now;
    builder.holds(2, first);
  }
  void give_way_to_the_first() {
    pass.emplace(builder.snapshot, 0, parts);
    pass->trial().leave(1);
    const std::optional<BandFit> fit = pass->trial().fit(1, 1, Trial::When::Later);
    ASSERT_TRUE(fit);
    pass->trial().place(1, 1, *fit);
    give_way(*pass, 0, {1}, kNone);
  }
  MemberState state(std::uint32_t member) const { return pass->trial().state(member); }

  PolicyBuilder builder;
  Parts parts = parts_named("quota");
  std::optional<QuotaPass> pass;
};

TEST(GiveWay, TheOlderJobOfTheProjectHasThePlace) {
  OneMoved one{2};
  one.give_way_to_the_first();
  EXPECT_EQ(one.state(0), MemberState::Starting);
  EXPECT_EQ(one.state(1), MemberState::Leaving);
  EXPECT_TRUE(one.pass->trial().sums_are_right());
}

TEST(GiveWay, ASmallerJobDoesNotCostItsProjectWhatItHolds) {
  OneMoved one{1};
  one.give_way_to_the_first();
  EXPECT_EQ(one.state(0), MemberState::Pending);
  EXPECT_EQ(one.state(1), MemberState::Promised);
}

TEST(GiveWay, AYoungerJobWaits) {
  OneMoved one{2};
  one.builder.snapshot.workloads[0].submitted = 100;
  one.give_way_to_the_first();
  EXPECT_EQ(one.state(1), MemberState::Promised);
}

TEST(GiveWay, AProtectedJobKeepsItsPlace) {
  OneMoved one{2};
  one.parts.preempt_min_runtime = std::chrono::seconds{60};
  one.give_way_to_the_first();
  EXPECT_EQ(one.state(0), MemberState::Pending);
  EXPECT_EQ(one.state(1), MemberState::Promised);
}

}  // namespace
}  // namespace penstock::policy
