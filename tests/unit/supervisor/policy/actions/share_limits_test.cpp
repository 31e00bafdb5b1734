#include "supervisor/policy/actions/share_limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

/// The limits of jobs with all of their members in the snapshot, as slots by the jobs within.
std::map<std::vector<std::uint32_t>, std::int64_t> limits_of(const PolicyBuilder& builder) {
  const Parts parts = parts_named("fair_share");
  Plan plan;
  SlotPass pass{builder.snapshot, 0, parts, plan};
  std::vector<Contender> present(builder.snapshot.workloads.size());
  for (std::uint32_t i = 0; i < present.size(); ++i) present[i].workload = i;
  for (const std::uint32_t member : pass.waiting()) {
    const auto is_its = [member](const CarriedReservation& reservation) { return reservation.member == member; };
    const std::vector<CarriedReservation>& carried = builder.snapshot.carried;
    Contender& its = present[builder.snapshot.members[member].workload];
    (std::any_of(carried.begin(), carried.end(), is_its) ? its.promised : its.pending).push_back(member);
  }
  for (const std::uint32_t member : pass.running())
    present[builder.snapshot.members[member].workload].running.push_back(member);
  std::map<std::vector<std::uint32_t>, std::int64_t> found;
  for (const ShareLimit& limit : share_limits(pass, present).limits) {
    const auto [at, added] = found.try_emplace(limit.groups, limit.slots);
    if (!added) at->second = std::min(at->second, limit.slots);
  }
  return found;
}

void add(PolicyBuilder& builder, const std::vector<std::uint32_t>& bands) {
  builder.workload("job" + std::to_string(builder.snapshot.workloads.size()));
  builder.waiting(1);
  builder.only_on(bands);
}

using Limits = std::map<std::vector<std::uint32_t>, std::int64_t>;

PolicyBuilder bands_of_1_2_and_4() {
  PolicyBuilder builder;
  for (const std::int64_t slots : {1, 2, 4}) builder.band(slots);
  return builder;
}

TEST(ShareLimits, WithoutListsThereAreNone) {
  PolicyBuilder builder = bands_of_1_2_and_4();
  add(builder, {});
  add(builder, {0, 1, 2});
  EXPECT_TRUE(limits_of(builder).empty());
}

TEST(ShareLimits, ListsThatOverlapAreUnited) {
  PolicyBuilder builder = bands_of_1_2_and_4();
  builder.band(8);
  add(builder, {0, 1});
  add(builder, {1, 2});
  add(builder, {});
  add(builder, {3});
  EXPECT_EQ(limits_of(builder), (Limits{{{0}, 3}, {{1}, 6}, {{0, 1}, 7}, {{3}, 8}}));
}

TEST(ShareLimits, WhatOthersMayNotBePreemptedFromIsNotThere) {
  PolicyBuilder builder = bands_of_1_2_and_4();
  add(builder, {2});
  builder.workload("fixed").preemptible = false;
  builder.running(1, 2);
  builder.running(1, 1);
  builder.waiting(1);
  EXPECT_EQ(limits_of(builder), (Limits{{{0}, 3}}));
}

TEST(ShareLimits, WhoWaitsForNothingIsWithinWhatItHolds) {
  PolicyBuilder builder = bands_of_1_2_and_4();
  add(builder, {2});
  builder.workload("inside");
  builder.running(1, 2, 2);
  builder.workload("elsewhere too");
  builder.running(1, 2);
  builder.running(1, 1);
  EXPECT_EQ(limits_of(builder), (Limits{{{0, 1}, 4}}));
}

// Counted twice it got half of what is its own, and what it ran was preempted.
TEST(ShareLimits, WhoWaitsForAPromisedPlaceOnlyIsWithinOnce) {
  PolicyBuilder builder = bands_of_1_2_and_4();
  builder.workload("promised");
  builder.running(1, 2, 2);
  builder.waiting(1);
  builder.only_on({2});
  builder.snapshot.carried.push_back({2, {{2, 1}}});
  add(builder, {2});
  EXPECT_EQ(limits_of(builder), (Limits{{{0, 1}, 4}}));
}

TEST(ShareLimits, LimitsOfUsersNameTheirJobsThatArePresent) {
  PolicyBuilder builder;
  for (const char* name : {"gone", "a", "b"}) builder.workload(name);
  builder.snapshot.slot_limits = {{4, {0, 1, 2}}, {2, {0}}, {3, {2}}};
  const std::vector<Contender> present{{.workload = 2}, {.workload = 1}};
  EXPECT_EQ(limits_of_users(builder.snapshot, present), (std::vector<ShareLimit>{{{0, 1}, 4}, {{0}, 3}}));
}

TEST(ShareLimits, WhatIsBeingLeftCountsUnderTheLimitOfAUser) {
  PolicyBuilder builder;
  for (const char* name : {"a", "b"}) builder.workload(name);
  builder.snapshot.slot_limits = {{4, {0}}};
  const std::vector<Contender> present{{.workload = 0, .leaving = 2, .held = 1}, {.workload = 1, .held = 9}};
  const OwnedSlots owned = slots_of_owners(builder.snapshot, present);
  EXPECT_FALSE(owned.is_beyond(0, 1));
  EXPECT_TRUE(owned.is_beyond(0, 2));
  EXPECT_FALSE(owned.is_beyond(1, 9));
}

}  // namespace
}  // namespace penstock::policy
