#include "supervisor/core/driver/told_rules.hpp"

#include <gtest/gtest.h>

#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {
namespace {

/// Two bands of 4 slots, counted in slots of so many thousandths; the first is full of one job, and another one waits.
struct Case {
  explicit Case(std::uint64_t granularity) {
    pass.domains.resize(1);
    pass.domains[0].granularity = granularity;
    pass.subjects.resize(2);
    const auto slots = static_cast<std::int64_t>(4000 / granularity);
    for (int band = 0; band < 2; ++band) {
      snapshot.bands.emplace_back();
      snapshot.bands.back().slots = slots;
      snapshot.bands.back().capacity.gpu = 4000;
    }
    snapshot.workloads.resize(2);
    for (const bool runs : {true, false}) {
      policy::Member member;
      member.workload = runs ? 0 : 1;
      member.slots = runs ? slots : slots / 4;
      if (runs) member.state = policy::MemberState::Running, member.places = {{0, slots}};
      snapshot.members.push_back(member);
      pass.members.push_back({member.workload, runs ? 4000U : 1000U, {}, false});
    }
    plan.entitlements = {{0, 0, 4000}};
  }
  policy::Explanation told(policy::Hold hold, std::int64_t need, std::int64_t have, std::uint64_t least = 0) const {
    return ToldRules{pass, snapshot, plan}.of({1, 1, hold, need, have}, least);
  }
  PassUnderWay pass;
  policy::Snapshot snapshot;
  policy::Plan plan;
};

TEST(ToldRules, TheRoomIsThatWhereTheJobMayBe) {
  for (const std::uint64_t granularity : {1U, 1000U}) {
    Case it{granularity};
    const auto four = static_cast<std::int64_t>(4000 / granularity);
    EXPECT_EQ(it.told(policy::Hold::NoRoom, 1, four).have, four);
    it.snapshot.band_lists = {{0}, {0, 1}};
    it.snapshot.members[1].band_list = 0;
    EXPECT_EQ(it.told(policy::Hold::NoRoom, 1, four).have, 0);
    it.snapshot.members[1].band_list = 1;
    EXPECT_EQ(it.told(policy::Hold::NoRoom, 1, four).have, four);
  }
}

TEST(ToldRules, SlotsThatAreBeingLeftAreNoRoom) {
  Case it{1000};
  it.snapshot.band_lists = {{0}};
  it.snapshot.members[1].band_list = 0;
  it.plan.entitlements.clear();
  EXPECT_EQ(it.told(policy::Hold::NoRoom, 1, 4).have, 4);
  it.plan.preemptions = {{0, policy::PreemptionReason::Priority, 1}};
  EXPECT_EQ(it.told(policy::Hold::NoRoom, 1, 4).have, 0);
}

TEST(ToldRules, OfAGangAllThatItLacksIsTold) {
  const Case it{1};
  EXPECT_EQ(it.told(policy::Hold::NoRoom, 1000, 0, 6000).need, 6000);
  EXPECT_EQ(it.told(policy::Hold::ProjectLimit, 8000, 4000, 6000).need, 8000) << "limits count all of it";
  EXPECT_EQ(it.told(policy::Hold::FirstServed, 0, 0, 6000).need, 0);
  Case grows{1};
  grows.plan.entitlements.push_back({1, 1, 3000});
  EXPECT_EQ(grows.told(policy::Hold::NoRoom, 1000, 0, 6000).need, 3000);
  EXPECT_EQ(grows.told(policy::Hold::NoRoom, 1000, 0, 3000).need, 1000) << "above its least slot by slot";
}

}  // namespace
}  // namespace penstock::supervisor
