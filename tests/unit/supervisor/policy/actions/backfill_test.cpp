#include <gtest/gtest.h>

#include <map>

#include "supervisor/policy/policy_engine.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

PolicyBuilder blocked_head() {
  PolicyBuilder builder;
  const std::uint32_t band = builder.band(8);
  builder.workload("runs").ends_by = Instant{std::chrono::seconds{10}};
  builder.running(6, band);
  builder.workload("head").time_limit = std::chrono::seconds{5};
  builder.snapshot.workloads.back().quality_factor = 1;
  builder.waiting(8);
  builder.workload("short").time_limit = std::chrono::seconds{10};
  builder.waiting(2);
  builder.workload("long").time_limit = std::chrono::seconds{11};
  builder.waiting(1);
  return builder;
}

TEST(Backfill, FillsGapsBeforeAReservedStart) {
  const PolicyBuilder builder = blocked_head();
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.starts.size(), 1U);
  EXPECT_EQ(builder.snapshot.members[plan.starts[0].member].workload, 2U);
  EXPECT_TRUE(plan.starts[0].backfilled);
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(plan.reservations[0].starts_by, Instant{std::chrono::seconds{10}});
  EXPECT_EQ(plan.priorities.size(), 4U);
}

TEST(Backfill, TellsWhatBlocks) {
  const PolicyBuilder builder = blocked_head();
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.explanations.size(), 2U);
  EXPECT_EQ(plan.explanations[0].hold, Hold::NoRoom);
}

TEST(Backfill, TellsWhomAStartWouldDelay) {
  PolicyBuilder builder = blocked_head();
  builder.snapshot.members.erase(builder.snapshot.members.begin() + 2);  // Of the short one.
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  EXPECT_TRUE(plan.starts.empty());
  ASSERT_EQ(plan.explanations.size(), 2U);
  EXPECT_EQ(plan.explanations[0].other, kNone);
  EXPECT_EQ(plan.explanations[1].hold, Hold::BehindReservation);
  EXPECT_EQ(plan.explanations[1].other, 1U) << "the head";
}

// Found by a review: slots of its band were given one by one to others, for ever.
TEST(Backfill, OneThatIsBoundToABandIsNotPassedThereForEver) {
  PolicyBuilder builder;
  const std::uint32_t own = builder.band(4);
  const std::uint32_t other = builder.band(4);
  for (int i = 0; i < 3; ++i) {
    builder.workload("runs" + std::to_string(i)).ends_by = Instant{std::chrono::seconds{10 + i}};
    builder.running(1, own);
  }
  builder.workload("bound").quality_factor = 1;
  builder.waiting(3);
  builder.only_on({own});
  builder.snapshot.workloads.back().time_limit = std::chrono::seconds{5};
  for (int i = 0; i < 5; ++i) {
    builder.workload("small" + std::to_string(i)).time_limit = std::chrono::seconds{100};
    builder.waiting(1);
  }
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(plan.reservations[0].member, 3U);
  EXPECT_EQ(plan.reservations[0].starts_by, Instant{std::chrono::seconds{11}}) << "when two have left";
  EXPECT_EQ(plan.starts.size(), 4U);
  for (const Start& start : plan.starts) EXPECT_EQ(start.places[0].band, other) << "its slot is kept for it";
  const Explanation& last = plan.explanations.back();
  EXPECT_EQ(last.hold, Hold::BehindReservation);
  EXPECT_EQ(last.other, 3U) << "the bound one";
}

// Found by a review: both counted on the same slots.
TEST(Backfill, TwoThatAreBoundToOneBandStartOneAfterTheOther) {
  PolicyBuilder builder;
  const std::uint32_t own = builder.band(4);
  builder.band(1);
  builder.workload("runs").ends_by = Instant{std::chrono::seconds{10}};
  builder.running(4, own);
  for (const char* name : {"first", "second"}) {
    builder.workload(name).time_limit = std::chrono::seconds{5};
    builder.waiting(3);
    builder.only_on({own});
  }
  Parts parts = parts_named("multifactor");
  parts.reserve_depth = kReserveAll;
  const Plan plan = PolicyEngine{{parts}}.pass(builder.snapshot);
  ASSERT_EQ(plan.reservations.size(), 2U);
  EXPECT_EQ(plan.reservations[0].starts_by, Instant{std::chrono::seconds{10}});
  EXPECT_EQ(plan.reservations[1].starts_by, Instant{std::chrono::seconds{15}});
}

/// Two bands of 4 slots; on each 3 run, on the second one for a shorter time. Somebody needs 4 of either.
PolicyBuilder scattered() {
  PolicyBuilder builder;
  for (const int seconds : {20, 10}) {
    const std::uint32_t band = builder.band(4);
    builder.workload("runs").ends_by = Instant{std::chrono::seconds{seconds}};
    builder.running(3, band);
  }
  builder.workload("large").quality_factor = 1;
  builder.snapshot.workloads.back().time_limit = std::chrono::seconds{5};
  builder.waiting(4);
  return builder;
}

TEST(Backfill, OneThatNeedsSeveralSlotsOfABandHasThemReservedWhereItStartsFirst) {
  PolicyBuilder builder = scattered();
  builder.workload("small").time_limit = std::chrono::seconds{100};
  builder.waiting(1);
  builder.workload("more").time_limit = std::chrono::seconds{100};
  builder.waiting(1);
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(plan.reservations[0].starts_by, Instant{std::chrono::seconds{10}});
  ASSERT_EQ(plan.starts.size(), 1U);
  EXPECT_EQ(plan.starts[0].places[0].band, 0U) << "the other band is kept";
}

TEST(Backfill, GapsOfABandThatIsKeptAreFilledByWhatEndsInTime) {
  PolicyBuilder builder = scattered();
  for (const int seconds : {10, 11}) {
    builder.workload("small" + std::to_string(seconds)).time_limit = std::chrono::seconds{seconds};
    builder.waiting(1);
    builder.only_on({1});
  }
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.starts.size(), 1U);
  EXPECT_EQ(builder.snapshot.workloads[builder.snapshot.members[plan.starts[0].member].workload].name, "small10");
  EXPECT_EQ(plan.starts[0].places[0].band, 1U);
  EXPECT_TRUE(plan.starts[0].backfilled);
}

// A job that has started in the same pass holds its slots, too, when the first reservation is made.
TEST(Backfill, AReservationCountsOnWhatHasStartedInTheSamePass) {
  PolicyBuilder builder;
  const std::uint32_t own = builder.band(4);
  builder.band(1);
  builder.workload("starts").quality_factor = 1;
  builder.snapshot.workloads.back().time_limit = std::chrono::seconds{7};
  builder.waiting(3);
  builder.workload("waits").time_limit = std::chrono::seconds{5};
  builder.waiting(4);
  builder.only_on({own});
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.starts.size(), 1U);
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(plan.reservations[0].starts_by, Instant{std::chrono::seconds{7}});
}

// Found by a review: one that may use some bands only, and needs several of them, was passed for ever.
TEST(Backfill, WhoNeedsSeveralOfTheBandsThatItMayUseHasItsStartReserved) {
  PolicyBuilder builder;
  for (int i = 0; i < 3; ++i) builder.band(4);
  builder.workload("runs").ends_by = Instant{std::chrono::seconds{10}};
  builder.running(1, 0);
  builder.workload("elsewhere").ends_by = Instant{std::chrono::seconds{20}};
  builder.running(4, 2);
  builder.workload("gang").time_limit = std::chrono::seconds{5};
  builder.snapshot.workloads.back().quality_factor = 1;
  builder.waiting(8);
  builder.only_on({0, 1});
  builder.workload("small").time_limit = std::chrono::seconds{100};
  builder.waiting(1);
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(plan.reservations[0].starts_by, Instant{std::chrono::seconds{10}});
  EXPECT_TRUE(plan.starts.empty()) << "it would be there for longer";
}

// The free slots of bands that it may not use stood for those that it waits for.
TEST(Backfill, WhoNeedsSeveralOfTheBandsThatItMayUseIsReservedThoseAndNoOthers) {
  PolicyBuilder builder;
  for (int i = 0; i < 4; ++i) builder.band(4);
  builder.workload("short").ends_by = Instant{std::chrono::seconds{10}};
  builder.running(1, 0);
  builder.workload("long").ends_by = Instant{std::chrono::seconds{30}};
  builder.running(4, 1);
  builder.workload("gang").time_limit = std::chrono::seconds{5};
  builder.snapshot.workloads.back().quality_factor = 1;
  builder.waiting(8);
  builder.only_on({0, 1});
  for (const int seconds : {100, 30}) {
    builder.workload("one for " + std::to_string(seconds)).time_limit = std::chrono::seconds{seconds};
    builder.waiting(1);
    builder.only_on({0});
  }
  builder.workload("elsewhere").time_limit = std::chrono::seconds{100};
  builder.waiting(4, 2);
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(plan.reservations[0].starts_by, Instant{std::chrono::seconds{30}});
  std::map<std::string, std::uint32_t> band_of;
  for (const Start& each : plan.starts) band_of[builder.snapshot.members[each.member].name] = each.places.front().band;
  EXPECT_EQ(band_of.size(), 3U);
  EXPECT_EQ(band_of.count("one for 30.4"), 1U) << "it has left its band by then";
  EXPECT_NE(band_of["elsewhere.5"], band_of["elsewhere.6"]);
}

// Its last band may be free when its first one is somebody else's again.
TEST(Backfill, BandsAreReservedForATimeWhenAllOfThemAreFree) {
  PolicyBuilder builder;
  for (int i = 0; i < 2; ++i) builder.band(4);
  builder.workload("runs").ends_by = Instant{std::chrono::seconds{10}};
  builder.running(4, 1);
  builder.workload("first").time_limit = std::chrono::seconds{20};
  builder.snapshot.workloads.back().quality_factor = 1;
  builder.waiting(8);
  builder.only_on({0, 1});
  builder.workload("second").time_limit = std::chrono::seconds{5};
  builder.snapshot.workloads.back().quality_factor = 0.9;
  builder.waiting(8);
  builder.only_on({0, 1});
  Parts parts = parts_named("multifactor");
  parts.reserve_depth = 2;
  const Plan plan = PolicyEngine{{parts}}.pass(builder.snapshot);
  ASSERT_EQ(plan.reservations.size(), 2U);
  EXPECT_EQ(plan.reservations[0].starts_by, Instant{std::chrono::seconds{10}});
  EXPECT_EQ(plan.reservations[1].starts_by, Instant{std::chrono::seconds{30}});
}

// The places on which a job would start in a pool where it has been tried, while it is tried in another one.
// Found by an explorer: its band is free when the first two begin, but the pool is theirs then.
TEST(Backfill, OneThatIsBoundToABandIsPromisedNothingThatIsPromisedToOthers) {
  for (const bool takes_several : {false, true}) {
    PolicyBuilder builder;
    const std::uint32_t first = builder.band(2);
    const std::uint32_t second = builder.band(2);
    builder.workload("runs").ends_by = Instant{std::chrono::seconds{40}};
    builder.running(2, first);
    builder.running(2, second);
    for (const char* name : {"b", "c"}) {
      builder.workload(name).time_limit = std::chrono::seconds{40};
      builder.snapshot.workloads.back().quality_factor = 1;
      for (int slot = 0; slot < 4; ++slot) builder.waiting(1);
    }
    builder.workload("gang").time_limit = std::chrono::seconds{40};
    builder.waiting(takes_several ? 4 : 2);
    builder.only_on({first, second});
    Parts parts = parts_named("multifactor");
    parts.reserve_depth = kReserveAll;
    const Plan plan = PolicyEngine{{parts}}.pass(builder.snapshot);
    ASSERT_EQ(plan.reservations.size(), 9U);
    EXPECT_EQ(plan.reservations[0].starts_by, Instant{std::chrono::seconds{40}});
    EXPECT_EQ(plan.reservations[4].starts_by, Instant{std::chrono::seconds{80}});
    EXPECT_EQ(plan.reservations[8].starts_by, Instant{std::chrono::seconds{120}});
  }
}

TEST(Backfill, WhoIsPastHisTimeHoldsNobodyUpWhoEndsWithinTheOverrun) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.band(4);
  builder.workload("late").ends_by = Instant{std::chrono::seconds{-5}};
  builder.running(3, band);
  builder.workload("gang").quality_factor = 1;
  builder.waiting(4);
  builder.workload("short").time_limit = std::chrono::seconds{2};
  builder.waiting(1);
  Parts parts = parts_named("multifactor");
  EXPECT_EQ(PolicyEngine{{parts}}.pass(builder.snapshot).starts.size(), 1U);
  parts.overrun = std::chrono::seconds{1};
  const Plan plan = PolicyEngine{{parts}}.pass(builder.snapshot);
  EXPECT_TRUE(plan.starts.empty());
  EXPECT_EQ(plan.reservations.front().starts_by, Instant{std::chrono::seconds{1}});
}

TEST(Backfill, AKeptPlaceIsNobodyElsesAndNoStart) {
  PolicyBuilder builder;
  builder.band(4);
  builder.workload("listed").keeps_place = true;
  builder.snapshot.workloads.back().quality_factor = 1;
  builder.waiting(3);
  builder.workload("small").time_limit = std::chrono::seconds{5};
  builder.waiting(1, 3);
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.starts.size(), 1U);
  EXPECT_NE(plan.starts[0].member, 0U);
  ASSERT_FALSE(plan.reservations.empty());
  EXPECT_EQ(plan.reservations[0].member, 0U);
  EXPECT_EQ(plan.reservations[0].starts_by, builder.snapshot.now);
  EXPECT_TRUE(plan.reservations[0].places.empty());
}

// The last pool's had replaced all others, with the size of that pool.
TEST(Backfill, EachPoolTellsThePrioritiesOfItsOwnJobs) {
  PolicyBuilder builder = blocked_head();
  builder.workload("elsewhere").pool = 1;
  builder.waiting(1);
  const Parts parts = parts_named("multifactor");
  const Plan plan = PolicyEngine{{parts, parts}}.pass(builder.snapshot);
  ASSERT_EQ(plan.priorities.size(), builder.snapshot.workloads.size());
  EXPECT_EQ(plan.priorities[1].workload, 1U);
  EXPECT_EQ(plan.priorities[1].terms[4], 1000) << "it is as large as its pool";
}

TEST(Backfill, FirstComeFirstServedNamesWhomOneWaitsBehind) {
  const PolicyBuilder builder = blocked_head();
  Parts parts = parts_named("multifactor");
  parts.reserve_depth = 0;
  const Plan plan = PolicyEngine{{parts}}.pass(builder.snapshot);
  EXPECT_TRUE(plan.reservations.empty());
  ASSERT_EQ(plan.explanations.size(), 3U);
  EXPECT_EQ(plan.explanations[0].hold, Hold::NoRoom);
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(plan.explanations[i].hold, Hold::FirstServed);
    EXPECT_EQ(plan.explanations[i].other, 1U) << "the head, for which nothing is reserved";
  }
}

// Found by a review: a head of the line without slots took the only reservation.
TEST(Backfill, AHeadWithoutSlotsLeavesTheReservationToTheNext) {
  PolicyBuilder builder = blocked_head();
  builder.workload("light").quality_factor = 1;
  builder.snapshot.workloads.back().submitted = -1;
  builder.waiting(0);
  const Plan plan = PolicyEngine{{parts_named("multifactor")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_EQ(builder.snapshot.members[plan.reservations[0].member].workload, 1U) << "the head";
}

}  // namespace
}  // namespace penstock::policy
