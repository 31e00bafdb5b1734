#include <gtest/gtest.h>

#include "supervisor/policy/pool_choice.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

using Pools = std::vector<std::uint32_t>;

// Spec: policy-runai 10.
TEST(PoolChoice, TheJobThenItsProjectThenTheDefault) {
  EXPECT_EQ(pools_wanted({2, 1}, {3}, 0), (Pools{2, 1}));
  EXPECT_EQ(pools_wanted({}, {3, 1}, 0), (Pools{3, 1}));
  EXPECT_EQ(pools_wanted({}, {}, 0), Pools{0});
}

TEST(PoolChoice, ATurnGoesOnWhereItHasGotTo) {
  EXPECT_EQ((PoolFallback{{4, 7, 5}, 7}).pool(), 7U);
  EXPECT_EQ((PoolFallback{{4, 7, 5}, 6}).pool(), 4U) << "that one is not listed any more";
}

// Spec: policy-runai 10; a start that backfill reserves says when, not where.
TEST(PoolChoice, AStartAtSomeTimeToComeIsNoPlace) {
  const std::vector<MemberOutcome> members{{0, MemberState::Pending}, {1, MemberState::Pending}};
  Plan plan;
  plan.reservations.push_back({.member = 0, .places = {}, .device_groups = {}, .starts_by = Instant{}});
  plan.reservations.push_back({.member = 1, .places = {{0, 1}}, .device_groups = {}, .starts_by = kNever});
  EXPECT_EQ(pool_outcomes(members, {false, false}, plan),
            (std::vector<PoolFallback::Outcome>{PoolFallback::Outcome::Waits, PoolFallback::Outcome::Placed}));
  EXPECT_EQ(pool_outcomes(members, {true, false}, plan)[0], PoolFallback::Outcome::Skipped);
}

TEST(PoolChoice, GoesRoundTheListAndBackToTheFirst) {
  PoolFallback fallback{{4, 7}};
  EXPECT_EQ(fallback.pool(), 4U);
  fallback.after_pass(PoolFallback::Outcome::Skipped);
  EXPECT_EQ(fallback.pool(), 4U);
  fallback.after_pass(PoolFallback::Outcome::Waits);
  EXPECT_EQ(fallback.pool(), 7U);
  fallback.after_pass(PoolFallback::Outcome::Placed);
  EXPECT_EQ(fallback.pool(), 7U);
  fallback.after_pass(PoolFallback::Outcome::Sent);
  EXPECT_EQ(fallback.pool(), 4U);
  fallback.after_pass(PoolFallback::Outcome::Waits);
  fallback.after_pass(PoolFallback::Outcome::Waits);
  EXPECT_EQ(fallback.pool(), 4U);
}

/// Passes over two pools of one band each, with the turns kept between them.
class TwoPools {
 public:
  PolicyBuilder builder;
  std::vector<PoolFallback> fallbacks;

  TwoPools(std::int64_t first, std::int64_t second) {
    builder.device_band(first);
    builder.snapshot.bands[builder.device_band(second)].pool = 1;
    builder.project("p", 8);
  }
  void job(const std::string& name, std::int64_t devices, int members, Pools pools) {
    builder.job(name, 0).sets[0].min = members;
    builder.wants(devices, members);
    fallbacks.emplace_back(std::move(pools));
  }
  void pass() {
    for (std::size_t i = 0; i < fallbacks.size(); ++i) builder.snapshot.workloads[i].pool = fallbacks[i].pool();
    const Plan plan = PolicyEngine{{parts_named("quota"), parts_named("quota")}}.pass(builder.snapshot);
    const std::vector<PoolFallback::Outcome> outcomes = pool_outcomes(builder.snapshot, plan);
    for (std::size_t i = 0; i < fallbacks.size(); ++i) fallbacks[i].after_pass(outcomes[i]);
    builder.carry_out(plan);
  }
};

TEST(PoolChoice, WhatDoesNotFitTheFirstPoolStartsInTheNext) {
  TwoPools pools{1, 4};
  pools.job("small", 1, 1, {0, 1});
  pools.job("large", 2, 2, {0, 1});
  pools.pass();
  EXPECT_EQ(pools.builder.running_of("small"), 1);
  EXPECT_EQ(pools.builder.running_of("large"), 0);
  EXPECT_EQ(pools.fallbacks[1].pool(), 1U);
  pools.pass();
  EXPECT_EQ(pools.builder.running_of("large"), 2);
  for (const Member& member : pools.builder.snapshot.members)
    EXPECT_EQ(member.places.front().band, member.workload);  // All of a gang in one pool.
}

TEST(PoolChoice, WhatChangesInOnePoolDecidesNothingInAnother) {
  TwoPools alone{2, 2};
  alone.job("there", 1, 2, {1});
  TwoPools beside{2, 2};
  beside.job("there", 1, 2, {1});
  beside.job("here", 1, 2, {0});
  alone.pass();
  beside.pass();
  EXPECT_EQ(alone.builder.running_of("there"), beside.builder.running_of("there"));
  EXPECT_EQ(beside.builder.running_of("here"), 2);
}

/// Members of a search over parameters are jobs of their own: each has its own turn.
TEST(PoolChoice, JobsOfASearchMayEndInDifferentPools) {
  TwoPools pools{1, 1};
  pools.job("try0", 1, 1, {0, 1});
  pools.job("try1", 1, 1, {0, 1});
  pools.pass();
  pools.pass();
  EXPECT_EQ(pools.builder.running_of("try0"), 1);
  EXPECT_EQ(pools.builder.running_of("try1"), 1);
  EXPECT_NE(pools.fallbacks[0].pool(), pools.fallbacks[1].pool());
}

}  // namespace
}  // namespace penstock::policy
