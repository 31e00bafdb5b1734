#include <gtest/gtest.h>

#include "supervisor/policy/limits.hpp"

namespace penstock::policy {
namespace {

LimitBook book(UserLimits limits, std::int64_t hosts = 100) { return {{limits}, {{}}, hosts}; }

TEST(Limits, AHeldJobGoesOnWhenAnotherEnds) {
  LimitBook jobs = book({.running_jobs = 1});
  ASSERT_EQ(jobs.submit({}).value(), 0U);
  ASSERT_EQ(jobs.submit({}).value(), 1U);
  EXPECT_EQ(jobs.state(1), LimitedState::Held);
  EXPECT_EQ(jobs.holds(1), std::vector<LimitHold>{LimitHold::RunningJobs});
  jobs.end(0);
  EXPECT_EQ(jobs.settle().let_go, std::vector<std::uint32_t>{1});
  EXPECT_EQ(jobs.state(1), LimitedState::Running);
}

TEST(Limits, TooManyAreRefused) {
  LimitBook jobs = book({.active_jobs = 1});
  ASSERT_TRUE(jobs.submit({}));
  EXPECT_EQ(jobs.submit({}).error().code, ErrorCode::LimitExceeded);
}

// The weakness of the page's program: several past the test must not start together.
TEST(Limits, TheTestIsRepeatedAtTheStart) {
  LimitBook jobs = book({.running_jobs = 1}, 1);
  ASSERT_TRUE(jobs.submit({.hosts = 1}));
  jobs.set_limits(0, {.running_jobs = 3});
  ASSERT_TRUE(jobs.submit({.hosts = 1}));
  ASSERT_TRUE(jobs.submit({.hosts = 1}));
  jobs.set_limits(0, {.running_jobs = 1});
  jobs.end(0);
  EXPECT_EQ(jobs.settle().started.size(), 1U);
}

TEST(Limits, StandbyIsExemptFromSizeButNotFromTheMachine) {
  LimitBook jobs = book({.hosts = 2}, 8);
  EXPECT_FALSE(jobs.submit({.hosts = 4}));
  EXPECT_TRUE(jobs.submit({.hosts = 4, .exempt = true}));
  EXPECT_EQ(jobs.submit({.hosts = 9, .exempt = true}).error().code, ErrorCode::RequestTooLarge);
  EXPECT_FALSE(jobs.set_exempt(0, false));
}

TEST(Limits, ServiceNeedsAGrant) {
  const ServiceGrants grants{{"alice"}, {"urgent"}};
  EXPECT_EQ(grant_service(grants, "bob", "x", "").value(), "normal");
  EXPECT_TRUE(grant_service(grants, "alice", "x", "expedite"));
  EXPECT_TRUE(grant_service(grants, "bob", "urgent", "expedite"));
  EXPECT_FALSE(grant_service(grants, "bob", "x", "expedite"));
  EXPECT_FALSE(grant_service(grants, "bob", "x", "nonesuch"));
}

TEST(Limits, AccessNamesWhatIsValid) {
  const Result<void> refused =
      check_access({true, true, {"bronze", "silver"}}, "gold", {"bronze", "silver", "gold"}, true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().remedy, "use one of: bronze, silver");
  EXPECT_TRUE(check_access({true, true, {}}, "unheard-of", {}, false));
}

}  // namespace
}  // namespace penstock::policy
