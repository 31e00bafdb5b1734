#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(Reclaim, TakesBackWhatIsGuaranteedAndNoMore) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(4);
  const std::uint32_t greedy = builder.project("greedy", 2);
  const std::uint32_t late = builder.project("late", 2);
  for (int i = 0; i < 4; ++i) {
    builder.job("greedy" + std::to_string(i), greedy);
    builder.holds(1, band);
  }
  for (int i = 0; i < 4; ++i) {
    builder.job("late" + std::to_string(i), late);
    builder.wants(1);
  }
  const Plan plan = run_actions(builder, {Action::Reclaim});
  EXPECT_EQ(plan.preemptions.size(), 2U);
  EXPECT_EQ(plan.reservations.size(), 2U);
  for (const Preemption& each : plan.preemptions) EXPECT_EQ(each.reason, PreemptionReason::Reclaim);
}

TEST(Reclaim, NeverFromWhatMayNotBePreempted) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(1);
  builder.job("interactive", builder.project("a", 0), 100);
  builder.holds(1, band);
  builder.job("late", builder.project("b", 1));
  builder.wants(1);
  EXPECT_TRUE(run_actions(builder, {Action::Reclaim}).preemptions.empty());
}

// The search takes the least important first, and places all of them again before the job that waits: its project has
// more of what is guaranteed to it than theirs would have.
TEST(Reclaim, WhatIsGuaranteedIsTakenFromOneJobAloneIfNotInCompany) {
  PolicyBuilder builder;
  const std::uint32_t large = builder.device_band(4);
  const std::uint32_t small = builder.device_band(1);
  const std::uint32_t beyond = builder.project("beyond", 3);
  const std::uint32_t within = builder.project("within", 9);
  builder.job("big", beyond, 75);
  builder.holds(3, large);
  builder.job("elastic", beyond);
  builder.holds(1, small);
  builder.holds(1, large);
  builder.job("runs", within, 100);
  builder.holds(6, builder.device_band(6));
  builder.job("waits", within);
  builder.wants(3);
  const Plan plan = run_actions(builder, {Action::Reclaim});
  ASSERT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(plan.preemptions[0].member, 0U);
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(plan.reservations[0].member, 4U);
  EXPECT_TRUE(run_actions(builder, {Action::Reclaim}, Rules::OfThePages).preemptions.empty());
}

// The smaller job's project would have it back in the next pass, within what is guaranteed to it.
TEST(Reclaim, NothingGoesThatWouldComeBack) {
  PolicyBuilder builder;
  const std::uint32_t large = builder.device_band(5);
  builder.device_band(1);
  builder.device_band(1);
  const std::uint32_t beyond = builder.project("beyond", 2);
  builder.snapshot.projects[beyond].shares[2].weight = 0;
  builder.job("large", beyond);
  builder.holds(3, large);
  builder.job("small", beyond);
  builder.holds(2, large);
  builder.job("waits", builder.project("late", 1));
  builder.wants(5);
  EXPECT_TRUE(run_actions(builder, {Action::Reclaim}).preemptions.empty());
  EXPECT_EQ(run_actions(builder, {Action::Reclaim}, Rules::OfThePages).preemptions.size(), 2U);
}

/// A department that may hold four devices, and holds four in two bands beside an empty one.
PolicyBuilder department_at_its_limit() {
  PolicyBuilder builder;
  const std::uint32_t first = builder.device_band(2);
  const std::uint32_t second = builder.device_band(2);
  builder.device_band(4);
  const std::uint32_t department = builder.project("d", 4);
  builder.snapshot.projects[department].shares[2].limit = 4000;
  const std::uint32_t greedy = builder.project("greedy", 2, department);
  builder.project("late", 2, department);
  for (const std::uint32_t band : {first, second, first, second}) {
    builder.job("greedy" + std::to_string(builder.snapshot.workloads.size()), greedy);
    builder.holds(1, band);
  }
  return builder;
}

// D2 of issue 23.
TEST(Reclaim, WhatVictimsGiveUpCountsBeforeTheLimitOfTheirDepartmentIsTested) {
  PolicyBuilder builder = department_at_its_limit();
  builder.job("late", 2);
  builder.wants(2);
  const Plan plan = run_actions(builder, {Action::Allocate, Action::Reclaim});
  ASSERT_EQ(plan.preemptions.size(), 2U) << "of two bands, although there is room without them";
  EXPECT_EQ(plan.preemptions[0].member, 2U);
  EXPECT_EQ(plan.preemptions[1].member, 3U);
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(plan.reservations[0].member, 4U);
}

TEST(Reclaim, VictimsOfAnotherDepartmentLiftNoLimit) {
  PolicyBuilder builder = department_at_its_limit();
  const std::uint32_t other = builder.project("elsewhere", 1);
  builder.snapshot.projects[other].created = 100;
  builder.job("elsewhere", other);
  builder.holds(2, 2, 2);
  builder.job("late", 2);
  builder.wants(1);
  const Plan plan = run_actions(builder, {Action::Reclaim});
  ASSERT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(plan.preemptions[0].member, 3U);
  builder.snapshot.workloads[0].preemptible = builder.snapshot.workloads[1].preemptible = false;
  builder.snapshot.workloads[2].preemptible = builder.snapshot.workloads[3].preemptible = false;
  EXPECT_TRUE(run_actions(builder, {Action::Reclaim}).preemptions.empty()) << "whoever may leave is elsewhere";
}

/// Of a project that holds all: an older job with one device of the larger band, a gang with the other one and that of
/// the smaller band, and a job that waits and is the oldest. Another project wants the larger band.
PolicyBuilder two_go_and_one_finds_room(std::int64_t oldest_wants) {
  PolicyBuilder builder;
  const std::uint32_t large = builder.device_band(2);
  const std::uint32_t small = builder.device_band(1);
  const std::uint32_t beyond = builder.project("beyond", 1);
  builder.job("oldest", beyond);
  builder.wants(oldest_wants);
  builder.job("older", beyond);
  builder.holds(1, large);
  builder.job("gang", beyond).sets[0].min = 2;
  builder.holds(1, large);
  builder.holds(1, small);
  builder.job("reclaims", builder.project("late", 2));
  builder.wants(2);
  return builder;
}

// D10 of issue 23.
TEST(Reclaim, AVictimFindsAnotherPlaceOnlyBehindItsBetters) {
  const PolicyBuilder builder = two_go_and_one_finds_room(1);
  const Plan plan = run_actions(builder, {Action::Allocate, Action::Reclaim, Action::Preempt});
  ASSERT_EQ(plan.reservations.size(), 2U);
  EXPECT_EQ(plan.reservations[0].member, 0U);
  EXPECT_EQ(plan.reservations[0].places.front().band, 1U);
  EXPECT_EQ(plan.reservations[1].member, 4U);
  EXPECT_EQ(plan.preemptions.size(), 3U);
  EXPECT_EQ(run_actions(builder, {Action::Allocate, Action::Reclaim}, Rules::OfThePages).reservations[0].member, 1U);
}

TEST(Reclaim, AVictimFindsAnotherPlaceThatItsBettersCannotUse) {
  const PolicyBuilder builder = two_go_and_one_finds_room(3);
  const Plan plan = run_actions(builder, {Action::Allocate, Action::Reclaim, Action::Preempt});
  ASSERT_EQ(plan.reservations.size(), 2U);
  EXPECT_EQ(plan.reservations[0].member, 1U);
  EXPECT_EQ(plan.reservations[0].places.front().band, 1U);
}

// Found by a review: the slots that the same pass had promised the job before were counted among the holdings of its
// project, and again among its demand.
TEST(Reclaim, WhatThePassHasPromisedAlreadyCountsOnce) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(3);
  const std::uint32_t greedy = builder.project("greedy", 1);
  const std::uint32_t late = builder.project("late", 2);
  builder.job("leaves", greedy);
  builder.holds(1, band);
  builder.last_member().state = MemberState::Leaving;
  for (int i = 0; i < 2; ++i) {
    builder.job("greedy" + std::to_string(i), greedy);
    builder.holds(1, band);
  }
  builder.job("elastic", late);
  builder.wants(1, 2);
  const Plan plan = run_actions(builder, {Action::Allocate, Action::Reclaim});
  EXPECT_EQ(plan.reservations.size(), 2U) << "one where somebody leaves anyway, one that is reclaimed";
  ASSERT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(plan.preemptions[0].reason, PreemptionReason::Reclaim);
}

}  // namespace
}  // namespace penstock::policy
