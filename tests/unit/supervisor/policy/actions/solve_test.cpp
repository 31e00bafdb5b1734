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

}  // namespace
}  // namespace penstock::policy
