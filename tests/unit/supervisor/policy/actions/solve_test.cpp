#include <gtest/gtest.h>

#include "supervisor/policy/actions/solve.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(Solve, FailureChangesNothing) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(2);
  const std::uint32_t project = builder.project("p", 2);
  builder.job("runs", project);
  builder.holds(2, band);
  builder.job("wants", project, 60);
  builder.wants(2);
  const Parts parts = parts_named("quota");
  QuotaPass pass{builder.snapshot, 0, parts};
  SolveRules rules;
  rules.is_candidate = [](std::uint32_t) { return true; };
  rules.validate = [](const std::vector<TakenMembers>&) { return false; };
  EXPECT_FALSE(solve(pass, 1, rules));
  EXPECT_EQ(pass.trial().state(0), MemberState::Running);
  EXPECT_EQ(pass.trial().room(band).idle.gpu, 0);
  rules.validate = [](const std::vector<TakenMembers>&) { return true; };
  EXPECT_TRUE(solve(pass, 1, rules));
  EXPECT_EQ(pass.trial().state(1), MemberState::Promised);
  EXPECT_EQ(lost_pieces(pass, {0, {0}}).size(), 1U);
  EXPECT_TRUE(pass.trial().sums_are_right());
}

// Found by an independent model of the page.
TEST(Solve, AGangThatIsBrokenAlreadyBlocksNobody) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(1);
  const std::uint32_t project = builder.project("p", 2);
  builder.job("single", project, 50);
  builder.holds(1, band);
  builder.job("broken", project, 49).sets[0].min = 2;
  builder.holds(0, band);
  builder.wants(0);
  builder.job("wants", project, 75);
  builder.wants(1);
  const Plan plan = run_actions(builder, {Action::Preempt});
  ASSERT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(plan.preemptions[0].member, 0U);
}

// Spec: policy-runai 9c. The member was given the promise of a place that it had.
TEST(Solve, WhoWasToStartAndIsPutBackWhereHeWasStarts) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(4);
  const std::uint32_t project = builder.project("p", 4);
  builder.job("runs", project);
  builder.holds(3, band);
  builder.job("starts", project);
  builder.wants(1);
  builder.job("gang", project, 75).sets[0].min = 2;
  builder.wants(1, 2);
  const Plan plan = run_actions(builder, {Action::Allocate, Action::Preempt});
  ASSERT_EQ(plan.starts.size(), 1U);
  EXPECT_EQ(plan.starts[0].member, 1U);
  EXPECT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(plan.reservations.size(), 2U);
}

}  // namespace
}  // namespace penstock::policy
