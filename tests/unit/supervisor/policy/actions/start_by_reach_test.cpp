#include <gtest/gtest.h>

#include "supervisor/policy/policy_engine.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

constexpr const char* kPresets[] = {"fair_share", "fair_share_max_min"};

/// Bands of 2 and 8 slots; the first has a label.
PolicyBuilder labelled_pool() {
  PolicyBuilder builder;
  builder.band(2);
  builder.band(8);
  return builder;
}

void add_waiting(PolicyBuilder& builder, const std::string& name, int count, const std::vector<std::uint32_t>& bands) {
  builder.workload(name);
  for (int i = 0; i < count; ++i) {
    builder.waiting(1);
    builder.only_on(bands);
  }
}

/// A member that may use the second band only.
void add_waiting_member(PolicyBuilder& builder) {
  builder.waiting(1);
  builder.only_on({1});
}

/// Passes until nothing changes, with live carried reservations: places that wait for leaving members are kept.
void settle(PolicyBuilder& builder, const PolicyEngine& engine) {
  for (int pass = 0; pass < 20; ++pass) {
    const Plan plan = engine.pass(builder.snapshot);
    builder.carry_out(plan);
    builder.snapshot.carried.clear();
    for (const Reservation& each : plan.reservations) builder.snapshot.carried.push_back({each.member, each.places});
    if (plan.starts.empty() && plan.preemptions.empty() && plan.reservations.empty()) return;
  }
  FAIL() << "the passes do not come to rest";
}

TEST(StartByReach, WhatALabelledJobCannotUseIsNotKeptForIt) {
  for (const char* preset : kPresets) {
    PolicyBuilder builder = labelled_pool();
    add_waiting(builder, "plain", 100, {});
    add_waiting(builder, "labelled", 100, {0});
    const Plan plan = PolicyEngine{{parts_named(preset)}}.pass(builder.snapshot);
    ASSERT_EQ(plan.workload_targets.size(), 2U);
    EXPECT_EQ(plan.workload_targets[0].amount.gpu, 8000);
    EXPECT_EQ(plan.workload_targets[1].amount.gpu, 2000);
    builder.carry_out(plan);
    EXPECT_EQ(builder.running_of("plain"), 8);
    EXPECT_EQ(builder.running_of("labelled"), 2) << "who may use few bands is placed first, though he is younger";
    ASSERT_EQ(plan.explanations.size(), 2U);
    EXPECT_EQ(plan.explanations[1].hold, Hold::AtFairShare);
    EXPECT_EQ(plan.explanations[1].need, 2);
    EXPECT_EQ(plan.explanations[1].have, 2);
  }
}

// Spec: policy-determined 3.1, 3.4. Of more groups than slots the oldest have one each.
TEST(StartByReach, OneSlotThatTwoMayUseIsOfTheOlder) {
  for (const char* preset : kPresets)
    for (const bool older_waits : {true, false}) {
      PolicyBuilder builder;
      builder.band(1);
      builder.band(1);
      builder.workload("elsewhere");
      builder.running(1, 0);
      builder.workload("older");
      if (older_waits)
        add_waiting_member(builder);
      else
        builder.running(1, 1);
      builder.workload("younger");
      if (older_waits)
        builder.running(1, 1);
      else
        add_waiting_member(builder);
      settle(builder, PolicyEngine{{parts_named(preset)}});
      EXPECT_EQ(builder.running_of("elsewhere"), 1) << preset;
      EXPECT_EQ(builder.running_of("older"), 1) << preset;
      EXPECT_EQ(builder.running_of("younger"), 0) << preset;
    }
}

TEST(StartByReach, WhoIsAboveHisShareLeavesTheBandsThatAreWanted) {
  PolicyBuilder builder = labelled_pool();
  builder.workload("plain");
  builder.running(1, 1, 8);
  builder.running(1, 0, 2);
  builder.waiting(1, 5);
  add_waiting(builder, "labelled", 10, {0});
  const PolicyEngine engine{{parts_named("fair_share")}};
  const Plan plan = engine.pass(builder.snapshot);
  ASSERT_EQ(plan.preemptions.size(), 2U);
  for (const Preemption& each : plan.preemptions) {
    EXPECT_EQ(builder.snapshot.members[each.member].places[0].band, 0U) << "not the oldest, which would not help";
    EXPECT_EQ(each.beneficiary, 1U);
  }
  ASSERT_EQ(plan.reservations.size(), 2U);
  settle(builder, engine);
  EXPECT_EQ(builder.running_of("plain"), 8);
  EXPECT_EQ(builder.running_of("labelled"), 2);
}

TEST(StartByReach, NobodyLeavesForWhoCannotUseHisBand) {
  PolicyBuilder builder = labelled_pool();
  builder.workload("plain");
  builder.running(1, 1, 8);
  builder.workload("fixed").preemptible = false;
  builder.running(1, 0, 2);
  add_waiting(builder, "labelled", 10, {0});
  const Plan plan = PolicyEngine{{parts_named("fair_share")}}.pass(builder.snapshot);
  EXPECT_TRUE(plan.preemptions.empty());
}

TEST(StartByReach, WhoComesTakesFromWhoHasMost) {
  PolicyBuilder builder;
  builder.band(1);
  builder.band(1);
  builder.band(1);
  add_waiting(builder, "first", 4, {0, 1});
  const PolicyEngine engine{{parts_named("fair_share_max_min")}};
  settle(builder, engine);
  EXPECT_EQ(builder.running_of("first"), 2);
  // Both want band 1; the present one stays, and band 2 is for a member that can use it.
  add_waiting(builder, "second", 4, {1, 2});
  settle(builder, engine);
  EXPECT_EQ(builder.running_of("first") + builder.running_of("second"), 3);
  // A third one takes from the one that has two.
  add_waiting(builder, "third", 4, {0, 1});
  settle(builder, engine);
  for (const char* each : {"first", "second", "third"}) EXPECT_EQ(builder.running_of(each), 1) << each;
}

/// Of a job of eight that may use all bands, beside one of four slots on one band that finds no such: how many start
/// beyond its share.
std::int64_t started_beyond_share(bool preemptible) {
  PolicyBuilder builder;
  builder.band(5);
  builder.band(5);
  builder.workload("holder");
  builder.running(1, 0, 3);
  builder.workload("stays").preemptible = false;
  builder.running(1, 1, 2);
  builder.workload("wide").weight = 10'000;
  builder.waiting(4);
  builder.last_member().single_band = true;
  add_waiting(builder, "labelled", 8, {0});
  builder.workload("many").preemptible = preemptible;
  builder.waiting(1, 8);
  const Plan plan = PolicyEngine{{parts_named("fair_share_max_min")}}.pass(builder.snapshot);
  std::int64_t beyond = 0;
  for (const Start& each : plan.starts) beyond += builder.snapshot.members[each.member].workload == 4 ? 1 : 0;
  for (const Target& each : plan.workload_targets) beyond -= each.owner == 4 ? each.amount.gpu / 1000 : 0;
  return beyond;
}

TEST(StartByReach, IdleSlotsAreUsedBeyondTheShareByWhoGivesThemBack) {
  EXPECT_GT(started_beyond_share(true), 0);
  EXPECT_EQ(started_beyond_share(false), 0);
}

TEST(StartByReach, APromisedPlaceIsKeptWhileOthersLeaveIt) {
  PolicyBuilder builder = labelled_pool();
  builder.workload("plain");
  builder.running(1, 1, 8);
  builder.running(1, 0, 2);
  add_waiting(builder, "labelled", 10, {0});
  const PolicyEngine engine{{parts_named("fair_share")}};
  const Plan plan = engine.pass(builder.snapshot);
  const std::size_t told = plan.preemptions.size();
  ASSERT_GT(told, 0U);
  for (const Preemption& each : plan.preemptions) builder.snapshot.members[each.member].state = MemberState::Leaving;
  for (const Reservation& each : plan.reservations) builder.snapshot.carried.push_back({each.member, each.places});
  const Plan next = engine.pass(builder.snapshot);
  EXPECT_TRUE(next.preemptions.empty()) << "they are on their way";
  EXPECT_EQ(next.reservations, plan.reservations);
}

TEST(StartByReach, WhatIsBeingLeftCountsAsRoom) {
  PolicyBuilder builder;
  builder.band(5);
  builder.band(5);
  builder.workload("gone");
  builder.running(1, 0);
  builder.last_member().state = MemberState::Leaving;
  builder.workload("plain");
  builder.running(1, 0, 4);
  builder.running(1, 1, 5);
  builder.waiting(1, 11);
  add_waiting(builder, "labelled", 4, {0});
  const Plan plan = PolicyEngine{{parts_named("fair_share")}}.pass(builder.snapshot);
  EXPECT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(plan.reservations.size(), 2U);
}

}  // namespace
}  // namespace penstock::policy
