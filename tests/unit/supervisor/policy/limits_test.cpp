#include <gtest/gtest.h>

#include "supervisor/policy/limits.hpp"

namespace penstock::policy {
namespace {

LimitBook book(UserLimits limits, std::int64_t hosts = 100) { return {{limits}, {{}}, {hosts}}; }

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
  EXPECT_FALSE(jobs.change(0, {.hosts = 4}));
  EXPECT_TRUE(jobs.request(0).exempt);
}

TEST(Limits, AJobIsChangedOnlyWhileItWaits) {
  LimitBook jobs = book({.active_jobs = 2, .running_jobs = 1});
  ASSERT_TRUE(jobs.submit({}));
  ASSERT_TRUE(jobs.submit({}));
  EXPECT_EQ(jobs.change(0, {.exempt = true}).error().code, ErrorCode::WrongState);
  EXPECT_TRUE(jobs.change(1, {.exempt = true}));
  jobs.end(1);
  EXPECT_EQ(jobs.change(1, {}).error().code, ErrorCode::WrongState);
}

TEST(Limits, AMoveCountsAgainstOthersOnly) {
  LimitBook jobs = book({.active_jobs = 1});
  const std::uint32_t full = jobs.add_user({.active_jobs = 1});
  ASSERT_TRUE(jobs.submit({.on_wish = true}));
  ASSERT_TRUE(jobs.submit({.user = full, .on_wish = true}));
  EXPECT_TRUE(jobs.change(0, {.on_wish = true}));
  EXPECT_EQ(jobs.change(0, {.user = full, .on_wish = true}).error().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(jobs.request(0).user, 0U);
}

// Its new queue is full: it is held again, with all that holds it.
TEST(Limits, AnEligibleJobThatMovesIsTestedAgain) {
  LimitBook jobs = book({}, 1);
  const std::uint32_t other = jobs.add_level({.running_jobs = 0});
  ASSERT_TRUE(jobs.submit({}));
  ASSERT_TRUE(jobs.submit({}));
  ASSERT_EQ(jobs.state(1), LimitedState::Eligible);
  ASSERT_TRUE(jobs.change(1, {.level = other}));
  EXPECT_EQ(jobs.holds(1), std::vector<LimitHold>{LimitHold::LevelRunningJobs});
  ASSERT_TRUE(jobs.change(1, {.level = 0}));
  EXPECT_EQ(jobs.settle().let_go, std::vector<std::uint32_t>{1});
}

TEST(Limits, AQueueBoundsWhatEachJobAsksFor) {
  LimitBook jobs = book({});
  const std::uint32_t narrow = jobs.add_level({.hosts_per_job_min = 2, .hosts_per_job_max = 4});
  EXPECT_FALSE(jobs.submit({.level = narrow, .hosts = 1}));
  EXPECT_TRUE(jobs.submit({.level = narrow, .hosts = 2}));
  EXPECT_TRUE(jobs.submit({.level = narrow, .hosts = 4}));
  EXPECT_FALSE(jobs.submit({.level = narrow, .hosts = 5}));
  EXPECT_TRUE(jobs.submit({.level = narrow, .hosts = 5, .exempt = true}));
}

TEST(Limits, CoresAreThoseOfTheHostsAskedFor) {
  LimitBook jobs{{{}}, {{}}, {.hosts = 4, .cores_per_host = 2}};
  EXPECT_EQ(jobs.submit({.hosts = 1, .cores = 3}).error().code, ErrorCode::RequestTooLarge);
  EXPECT_TRUE(jobs.submit({.hosts = 1, .cores = 8, .only_cores = true}));
  EXPECT_EQ(jobs.submit({.hosts = 1, .cores = 9, .only_cores = true}).error().code, ErrorCode::RequestTooLarge);
  ASSERT_TRUE(jobs.submit({.hosts = 1, .cores = 1}));
  EXPECT_EQ(jobs.state(1), LimitedState::Eligible);
  EXPECT_EQ(jobs.submit({.hosts = -3}).error().code, ErrorCode::InvalidArgument);
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
