#include "supervisor/core/policy_pass.hpp"

#include <gtest/gtest.h>

#include "supervisor/policy/plan.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {
namespace {

supervisor_action::RunPass pass_of_one_job(std::int64_t slots) {
  supervisor_action::RunPass pass;
  pass.number = 7;
  pass.parts = {policy::preset("fair_share").value()};
  pass.snapshot.bands = {{.name = "w1/0", .slots = 2}};
  pass.snapshot.workloads = {{.name = "job-1"}};
  pass.snapshot.members = {{.name = "job-1.0", .slots = slots}};
  return pass;
}

TEST(PolicyPass, APlanComesWithTheNumberOfItsPass) {
  const supervisor_event::PassEnded ended = run_pass(pass_of_one_job(1));
  EXPECT_EQ(ended.number, 7U);
  EXPECT_EQ(ended.failure, "");
  EXPECT_EQ(ended.plan.starts.size(), 1U);
}

TEST(PolicyPass, AnUnsoundSnapshotIsAFailureAndNoPlan) {
  const supervisor_event::PassEnded ended = run_pass(pass_of_one_job(-1));
  EXPECT_NE(ended.failure, "");
  EXPECT_TRUE(ended.plan.starts.empty());
}

}  // namespace
}  // namespace penstock::supervisor
