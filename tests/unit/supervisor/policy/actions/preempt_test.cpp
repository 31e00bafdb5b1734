#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(Preempt, InteractiveTakesFromTrainingOfItsProject) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(2);
  const std::uint32_t project = builder.project("p", 2);
  builder.job("training", project, 50);
  builder.holds(2, band);
  builder.job("interactive", project, 100);
  builder.wants(1);
  const Plan plan = run_actions(builder, {Action::Preempt});
  ASSERT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(plan.preemptions[0].beneficiary, 1U);
  EXPECT_EQ(plan.reservations.size(), 1U);
}

// D2 of issue 23: the limit was tested while the less important still held it.
TEST(Preempt, WithinALimitTheMoreImportantReplacesTheLess) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(8);
  const std::uint32_t project = builder.project("p", 1);
  builder.snapshot.projects[project].shares[2].limit = 1000;
  builder.job("training", project, 50);
  builder.holds(1, band);
  builder.job("interactive", project, 100);
  builder.wants(1);
  const Plan plan = run_actions(builder, {Action::Allocate, Action::Preempt});
  ASSERT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(plan.preemptions[0].beneficiary, 1U);
  EXPECT_EQ(plan.reservations.size(), 1U);
}

TEST(Preempt, EqualsStay) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(1);
  const std::uint32_t project = builder.project("p", 1);
  builder.job("first", project);
  builder.holds(1, band);
  builder.job("second", project);
  builder.wants(1);
  EXPECT_TRUE(run_actions(builder, {Action::Preempt}).preemptions.empty());
}

/// Two projects of two devices each on a band of four, all of which one of them holds with two small jobs.
PolicyBuilder beyond_its_share() {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(4);
  const std::uint32_t project = builder.project("p", 2);
  builder.job("small", project);
  builder.holds(2, band);
  builder.job("other", project);
  builder.holds(2, band);
  builder.job("waits", builder.project("q", 2));
  builder.wants(3);
  return builder;
}

// The other project could reclaim all of the gang, of the small ones only what is beyond the share: it would come and
// go.
TEST(Preempt, BeyondItsShareNoLargerGangTakesTheirPlace) {
  PolicyBuilder builder = beyond_its_share();
  builder.job("gang", 0, 75).sets[0].min = 2;
  builder.wants(2, 2);
  EXPECT_TRUE(run_actions(builder, {Action::Preempt}).preemptions.empty());
  EXPECT_EQ(run_actions(builder, {Action::Preempt}, Rules::OfThePages).preemptions.size(), 2U) << "the page has it so";
}

// Found by an independent model of the page: its guarantee was not met.
TEST(Preempt, InteractiveWithinTheGuaranteeStartsThoughItsProjectIsBeyondItsShare) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(3);
  const std::uint32_t project = builder.project("p", 2);
  builder.snapshot.projects[project].shares[2].weight = 0;
  for (int i = 0; i < 3; ++i) {
    builder.job("training" + std::to_string(i), project);
    builder.holds(1, band);
  }
  builder.job("interactive", project, 100);
  builder.wants(2);
  const Plan plan = run_actions(builder, {Action::Preempt});
  EXPECT_EQ(plan.preemptions.size(), 2U);
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(plan.reservations[0].member, 3U);
}

TEST(Preempt, BeyondItsShareOneOfTheSameSizeDoes) {
  PolicyBuilder builder = beyond_its_share();
  builder.job("single", 0, 75);
  builder.wants(2);
  const Plan plan = run_actions(builder, {Action::Preempt});
  ASSERT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(builder.snapshot.members[plan.preemptions[0].member].workload, 1U);
}

TEST(Preempt, InsideAProjectALevelTakesFromTheLevelThatItNamesAndFromNoOther) {
  for (const std::uint32_t level : {1U, kNone}) {
    PolicyBuilder builder;
    const std::uint32_t band = builder.device_band(1);
    const std::uint32_t project = builder.project("p", 1);
    builder.snapshot.level_takes = {{false, true}, {false, false}};
    builder.job("holds", project, 60).level = level;
    builder.holds(1, band);
    Workload& waits = builder.job("waits", project, 50);
    waits.level = 0;
    waits.rank = 1;
    waits.priority += 1000;
    builder.wants(1);
    const Plan plan = run_actions(builder, {Action::Allocate, Action::Preempt});
    EXPECT_EQ(plan.preemptions.size(), level == 1 ? 1U : 0U);
  }
}

}  // namespace
}  // namespace penstock::policy
