#include <gtest/gtest.h>

#include "supervisor/policy/policy_engine.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

using Counts = std::vector<std::int64_t>;

Parts with_preemption() {
  Parts parts = parts_named("priority");
  parts.preemption = true;
  return parts;
}

/// One pass: how many start and how many are told to leave; then it is carried out.
Counts step(PolicyBuilder& builder, const Parts& parts) {
  const Plan plan = PolicyEngine{{parts}}.pass(builder.snapshot);
  builder.carry_out(plan);
  return {static_cast<std::int64_t>(plan.starts.size()), static_cast<std::int64_t>(plan.preemptions.size())};
}

// Spec: policy-determined 11.3, on one band of 8 and on two of 4.
TEST(StartByPriority, SevenStepsOfThePage) {
  for (const int bands : {1, 2}) {
    PolicyBuilder builder;
    for (int i = 0; i < bands; ++i) builder.band(8 / bands);
    const Parts parts = with_preemption();
    builder.workload("asha", 2);
    builder.waiting(1, 20);
    EXPECT_EQ(step(builder, parts), (Counts{8, 0})) << "1";
    builder.workload("dt4", 1);
    builder.waiting(4);
    EXPECT_EQ(step(builder, parts), (Counts{0, 4})) << "2";
    EXPECT_EQ(step(builder, parts), (Counts{1, 0})) << "2, after they have left";
    builder.workload("notebook", 3).preemptible = false;
    builder.waiting(1);
    EXPECT_EQ(step(builder, parts), (Counts{0, 0})) << "3";
    builder.finish("dt4");
    builder.finish("asha");
    EXPECT_EQ(step(builder, parts), (Counts{1, 0})) << "4";
    builder.workload("dt8", 1);
    builder.waiting(8);
    EXPECT_EQ(step(builder, parts), (Counts{0, 0})) << "5";
    builder.workload("dt4b", 2);
    builder.waiting(4);
    EXPECT_EQ(step(builder, parts), (Counts{1, 0})) << "6";
    EXPECT_EQ(step(builder, parts), (Counts{0, 0})) << "6, it stays";
    builder.finish("notebook");
    EXPECT_EQ(step(builder, parts), (Counts{0, 1})) << "7";
    EXPECT_EQ(step(builder, parts), (Counts{1, 0})) << "7, dt8";
    EXPECT_EQ(builder.running_of("dt8"), 1);
    builder.finish("dt8");
    EXPECT_EQ(step(builder, parts), (Counts{1, 0})) << "7, dt4b again";
  }
}

// Spec: policy-determined 5.3: no member leaves that does not help.
TEST(StartByPriority, UselessVictimsStay) {
  PolicyBuilder builder;
  const std::uint32_t small = builder.band(4);
  const std::uint32_t large = builder.band(4);
  builder.workload("useful", 2);
  builder.running(4, large);
  builder.workload("useless", 3);
  builder.running(1, small);
  builder.workload("other", 1).preemptible = false;
  builder.running(1, small);
  builder.workload("wants", 1);
  builder.waiting(4);
  const Plan plan = PolicyEngine{{with_preemption()}}.pass(builder.snapshot);
  ASSERT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(builder.snapshot.workloads[builder.snapshot.members[plan.preemptions[0].member].workload].name, "useful");
}

// Spec: policy-determined 5.7 R3: what leaves for a gang is not snatched by others of its priority.
TEST(StartByPriority, ACarriedReservationKeepsWhatHasBeenLeftAlready) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.band(8);
  builder.workload("low", 9);
  builder.running(1, band, 8);
  builder.workload("gang", 1);
  builder.waiting(4);
  builder.workload("single", 1);
  builder.waiting(1);
  const Parts parts = with_preemption();
  const Plan plan = PolicyEngine{{parts}}.pass(builder.snapshot);
  EXPECT_EQ(plan.preemptions.size(), 5U);
  for (const Reservation& each : plan.reservations) builder.snapshot.carried.push_back({each.member, each.places});
  for (const Preemption& each : plan.preemptions) builder.snapshot.members[each.member].state = MemberState::Leaving;
  builder.snapshot.members[plan.preemptions[0].member].state = MemberState::Succeeded;
  builder.snapshot.members[plan.preemptions[0].member].places.clear();
  const Plan next = PolicyEngine{{parts}}.pass(builder.snapshot);
  EXPECT_TRUE(next.preemptions.empty()) << "nobody is chosen twice";
  for (const Start& start : next.starts) EXPECT_NE(builder.snapshot.members[start.member].slots, 4);
  for (const Preemption& each : plan.preemptions) {
    builder.snapshot.members[each.member].state = MemberState::Succeeded;
    builder.snapshot.members[each.member].places.clear();
  }
  EXPECT_EQ(PolicyEngine{{parts}}.pass(builder.snapshot).starts.size(), 2U);
}

TEST(StartByPriority, ACapHoldsHereToo) {
  PolicyBuilder builder;
  builder.band(8);
  builder.workload("capped", 1).slots_max = 2;
  builder.waiting(1, 5);
  builder.workload("later", 50);
  builder.waiting(1, 2);
  const Plan plan = PolicyEngine{{parts_named("priority")}}.pass(builder.snapshot);
  EXPECT_EQ(plan.starts.size(), 4U);
  ASSERT_EQ(plan.explanations.size(), 1U);
  EXPECT_EQ(plan.explanations[0].hold, Hold::AtSlotsMax);
  EXPECT_EQ(plan.explanations[0].need, 2);
}

// A job that is tried in another pool meanwhile.
// Found by an explorer: a job that is not told of does not compete, and a pool where none does is not divided at all.
TEST(StartByPriority, WithoutPreemptionAllThatWaitAreToldWhy) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.band(4);
  builder.workload("runs");
  builder.running(4, band);
  builder.workload("second");
  builder.waiting(4);
  builder.workload("third");
  builder.waiting(1);
  builder.workload("less", 60);
  builder.waiting(1);
  const Plan plan = PolicyEngine{{parts_named("priority")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.explanations.size(), 3U);
  EXPECT_EQ(plan.explanations[0].hold, Hold::NoRoom);
  EXPECT_EQ(plan.explanations[1].hold, Hold::NoRoom);
  EXPECT_EQ(plan.explanations[2].hold, Hold::HigherPriority);
}

TEST(StartByPriority, NobodyLeavesForAKeptPlaceAndNobodyElseGetsIt) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.band(4);
  builder.workload("runs", 60);
  builder.running(1, band, 2);
  builder.workload("listed", 10).keeps_place = true;
  builder.waiting(2);
  builder.waiting(2);
  builder.workload("later", 50);
  builder.waiting(2);
  Parts parts = parts_named("priority");
  parts.preemption = true;
  const Plan plan = PolicyEngine{{parts}}.pass(builder.snapshot);
  EXPECT_TRUE(plan.starts.empty());
  ASSERT_FALSE(plan.reservations.empty());
  EXPECT_EQ(plan.reservations[0].member, 2U);
  EXPECT_TRUE(plan.reservations[0].places.empty());
  for (const Preemption& each : plan.preemptions) EXPECT_NE(each.beneficiary, 1U);
}

TEST(StartByPriority, BandsThatTheHeadCannotUseAreFilled) {
  for (const bool preemption : {false, true}) {
    PolicyBuilder builder;
    for (int band = 0; band < 2; ++band) builder.band(2, 1);
    builder.workload("busy", 1);
    builder.running(2, 0);
    builder.workload("head", 2);
    builder.waiting(2);
    builder.only_on({0});
    Workload& other = builder.workload("other", 3);
    other.preemptible = false;
    builder.waiting(1, 3);
    Parts parts = parts_named("priority");
    parts.preemption = preemption;
    const Plan plan = PolicyEngine{{parts}}.pass(builder.snapshot);
    ASSERT_EQ(plan.starts.size(), 2U) << preemption;
    for (const Start& each : plan.starts) {
      EXPECT_EQ(each.places, (std::vector<Place>{{1, 1}}));
      EXPECT_FALSE(each.backfilled);
    }
    ASSERT_EQ(plan.explanations.size(), 2U);
    EXPECT_EQ(plan.explanations[1].hold, Hold::HigherPriority);
    EXPECT_EQ(plan.explanations[1].other, 1U);
  }
}

TEST(StartByPriority, BandsOfAJobThatIsHeldBackAreNotFilledByLessImportantOnes) {
  PolicyBuilder builder;
  for (int band = 0; band < 3; ++band) builder.band(2);
  builder.workload("busy", 1);
  builder.running(2, 0);
  builder.running(1, 1);
  builder.workload("head", 2);
  builder.waiting(2);
  builder.only_on({0});
  builder.workload("second", 3);
  builder.waiting(2);
  builder.only_on({1});
  builder.workload("third", 4);
  builder.waiting(1, 3);
  const Plan plan = PolicyEngine{{parts_named("priority")}}.pass(builder.snapshot);
  ASSERT_EQ(plan.starts.size(), 2U);
  for (const Start& each : plan.starts) EXPECT_EQ(each.places, (std::vector<Place>{{2, 1}}));
}

// Spec: policy-determined 5.2, 12 P10.
TEST(StartByPriority, WhereTheHeadMayUseAllBandsNoneIsFilled) {
  PolicyBuilder builder;
  for (int band = 0; band < 2; ++band) builder.band(2);
  builder.workload("busy", 1);
  builder.running(2, 0);
  builder.workload("head", 2);
  builder.waiting(4);
  builder.workload("other", 3);
  builder.waiting(1);
  EXPECT_TRUE(PolicyEngine{{parts_named("priority")}}.pass(builder.snapshot).starts.empty());
}

/// Eight single jobs on one band, one of which has ended, and a gang of eight of the same priority before a younger
/// one.
PolicyBuilder passed_gang() {
  PolicyBuilder builder;
  builder.snapshot.now = Instant{std::chrono::seconds{1000}};
  builder.band(8);
  builder.workload("small");
  builder.running(1, 0, 7);
  builder.workload("gang").waits_since = Instant{std::chrono::seconds{940}};
  builder.waiting(8);
  builder.workload("younger");
  builder.waiting(1);
  return builder;
}

Parts with_turns() {
  Parts parts = parts_named("priority");
  parts.starvation_after = std::chrono::seconds{60};
  return parts;
}

TEST(StartByPriority, SlotsAreKeptForAJobThatHasWaitedForTooLong) {
  PolicyBuilder builder = passed_gang();
  EXPECT_EQ(PolicyEngine{{parts_named("priority")}}.pass(builder.snapshot).starts.size(), 1U);
  Plan plan = PolicyEngine{{with_turns()}}.pass(builder.snapshot);
  EXPECT_TRUE(plan.starts.empty());
  ASSERT_EQ(plan.explanations.size(), 2U);
  EXPECT_EQ(plan.explanations[0].hold, Hold::NoRoom);
  EXPECT_EQ(plan.explanations[0].have, 1);
  EXPECT_EQ(plan.explanations[1].hold, Hold::BehindReservation);
  EXPECT_EQ(plan.explanations[1].other, 1U);
  builder.finish("small");
  plan = PolicyEngine{{with_turns()}}.pass(builder.snapshot);
  ASSERT_EQ(plan.starts.size(), 1U);
  EXPECT_EQ(plan.starts[0].places, (std::vector<Place>{{0, 8}}));
}

TEST(StartByPriority, OtherBandsAndMoreImportantJobsDoNotWaitForATurn) {
  PolicyBuilder builder = passed_gang();
  builder.band(1);
  builder.workload("urgent", 1);
  builder.waiting(1, 2);
  const Plan plan = PolicyEngine{{with_turns()}}.pass(builder.snapshot);
  EXPECT_EQ(plan.starts.size(), 2U);
  builder.finish("urgent");
  const Plan then = PolicyEngine{{with_turns()}}.pass(builder.snapshot);
  ASSERT_EQ(then.starts.size(), 1U);
  EXPECT_EQ(then.starts[0].places, (std::vector<Place>{{1, 1}}));
}

TEST(StartByPriority, AGangOverSeveralBandsHasThemKeptWhole) {
  PolicyBuilder builder;
  builder.snapshot.now = Instant{std::chrono::seconds{1000}};
  for (int band = 0; band < 3; ++band) builder.band(4);
  builder.workload("small");
  for (std::uint32_t band = 0; band < 3; ++band) builder.running(1, band, band == 2 ? 3 : 1);
  builder.workload("gang").waits_since = Instant{std::chrono::seconds{900}};
  builder.waiting(8);
  builder.workload("younger");
  builder.waiting(1, 8);
  const Plan plan = PolicyEngine{{with_turns()}}.pass(builder.snapshot);
  ASSERT_EQ(plan.starts.size(), 1U) << "the two bands with most room are kept";
  EXPECT_EQ(plan.starts[0].places, (std::vector<Place>{{2, 1}}));
}

TEST(StartByPriority, WithPreemptionTheLessImportantLeaveForATurnAtOnce) {
  PolicyBuilder builder = passed_gang();
  builder.snapshot.workloads[0].priority = -50;
  Parts parts = with_turns();
  parts.preemption = true;
  const Plan plan = PolicyEngine{{parts}}.pass(builder.snapshot);
  EXPECT_EQ(plan.preemptions.size(), 7U);
  ASSERT_EQ(plan.reservations.size(), 1U);
  EXPECT_TRUE(plan.starts.empty()) << "the eighth slot is the gang's";
}

/// The first level takes slots from the second, and not from jobs without a level.
void with_levels(PolicyBuilder& builder) { builder.snapshot.level_takes = {{false, true}, {false, false}}; }

/// Makes the last workload one of the first level.
Workload& raise(PolicyBuilder& builder) {
  Workload& job = builder.snapshot.workloads.back();
  job.level = 0;
  job.rank = 1;
  job.priority += 1000;
  return job;
}

TEST(StartByPriority, ALevelTakesFromTheLevelThatItNamesAndFromNoOther) {
  PolicyBuilder builder;
  builder.band(4);
  with_levels(builder);
  builder.workload("standby", 2).level = 1;
  builder.running(1, 0, 2);
  builder.workload("normal", 1);
  builder.running(1, 0, 2);
  builder.workload("expedite", 9);
  raise(builder);
  builder.waiting(1, 3);
  const Parts parts = with_preemption();
  EXPECT_EQ(step(builder, parts), (Counts{0, 2})) << "those of the level that it names";
  EXPECT_EQ(builder.running_of("standby"), 0);
  for (const Counts& counts : {Counts{2, 0}, Counts{0, 0}, Counts{0, 0}}) EXPECT_EQ(step(builder, parts), counts);
  EXPECT_EQ(builder.running_of("expedite"), 2);
  EXPECT_EQ(builder.running_of("normal"), 2);
}

// Slots that went from a level to another, by priority to a third job and back would go round for ever.
TEST(StartByPriority, SlotsNeverGoRoundBetweenLevelsAndPriorities) {
  PolicyBuilder builder;
  builder.band(1);
  with_levels(builder);
  builder.workload("standby", 1).level = 1;
  builder.running(1, 0);
  builder.workload("normal", 2);
  builder.waiting(1);
  builder.workload("expedite", 3);
  raise(builder);
  builder.waiting(1);
  const Parts parts = with_preemption();
  for (const Counts& counts : {Counts{0, 1}, Counts{1, 0}, Counts{0, 0}, Counts{0, 0}})
    EXPECT_EQ(step(builder, parts), counts);
  EXPECT_EQ(builder.running_of("expedite"), 1);
}

TEST(StartByPriority, AJobThatMayNotBePreemptedIsNotTakenFromByLevelEither) {
  PolicyBuilder builder;
  builder.band(1);
  with_levels(builder);
  Workload& standby = builder.workload("standby", 1);
  standby.level = 1;
  standby.preemptible = false;
  builder.running(1, 0);
  builder.workload("expedite", 3);
  raise(builder);
  builder.waiting(1);
  EXPECT_EQ(step(builder, with_preemption()), (Counts{0, 0}));
}

/// The last workload has a time limit of its own, and is ended when it is over.
void limit_to(PolicyBuilder& builder, Duration limit) {
  builder.snapshot.workloads.back().time_limit = limit;
  builder.snapshot.workloads.back().limit_is_kept = true;
}

/// A job on so many slots of the band that is ended so long from now.
void runs_until(PolicyBuilder& builder, std::int64_t slots, std::uint32_t band, Duration rest) {
  builder.workload("runs", 1);
  builder.running(slots, band);
  limit_to(builder, rest);
  builder.snapshot.workloads.back().ends_by = later(builder.snapshot.now, rest);
}

/// The head wants 4 slots of a band, 3 of which run for 100 s at most, and a small job is behind it.
PolicyBuilder head_and_small() {
  PolicyBuilder builder;
  builder.band(4);
  runs_until(builder, 3, 0, std::chrono::seconds{100});
  builder.workload("head", 2);
  builder.waiting(4);
  builder.workload("small", 3);
  builder.waiting(1);
  return builder;
}

// D7 of issue 23.
TEST(StartByPriority, AJobThatEndsBeforeTheHeadCouldStartPassesIt) {
  using std::chrono::seconds;
  for (const auto& [limit, passes] : {std::pair{seconds{30}, true}, {seconds{100}, true}, {seconds{101}, false}}) {
    PolicyBuilder builder = head_and_small();
    limit_to(builder, limit);
    EXPECT_EQ(step(builder, parts_named("priority")), (Counts{passes ? 1 : 0, 0})) << limit.count();
  }
}

TEST(StartByPriority, NobodyPassesAHeadOfWhichTheStartIsNotKnown) {
  for (const bool guess : {true, false}) {
    PolicyBuilder builder = head_and_small();
    limit_to(builder, std::chrono::seconds{30});
    builder.snapshot.workloads[0].limit_is_kept = false;
    if (!guess) builder.snapshot.workloads[0].ends_by.reset();
    EXPECT_EQ(step(builder, parts_named("priority")), (Counts{0, 0})) << "what runs may end at any time";
  }
}

TEST(StartByPriority, ALimitThatIsOnlyAssumedFillsNoGap) {
  PolicyBuilder builder = head_and_small();
  builder.snapshot.workloads.back().time_limit = std::chrono::seconds{30};
  EXPECT_EQ(step(builder, parts_named("priority")), (Counts{0, 0}));
}

// The head takes slots back where it may: it starts earlier than any time limit says.
TEST(StartByPriority, WithPreemptionAJobThatMayNotBePreemptedFillsNoGap) {
  PolicyBuilder builder = head_and_small();
  limit_to(builder, std::chrono::seconds{30});
  builder.snapshot.workloads[0].preemptible = builder.snapshot.workloads.back().preemptible = false;
  EXPECT_EQ(step(builder, with_preemption()), (Counts{0, 0}));
}

TEST(StartByPriority, TheGapEndsWithTheFirstStartOfAllThatWait) {
  using std::chrono::seconds;
  struct Case {
    seconds limit;
    bool head_is_known;
    std::int64_t starts;
  };
  for (const Case& each : {Case{seconds{60}, true, 0}, {seconds{50}, true, 1}, {seconds{50}, false, 0}}) {
    PolicyBuilder builder;
    builder.band(4);
    builder.band(2);
    runs_until(builder, 3, 0, seconds{100});
    builder.snapshot.workloads.back().limit_is_kept = each.head_is_known;
    runs_until(builder, 1, 1, seconds{50});
    builder.workload("head", 2);
    builder.waiting(4);
    builder.workload("second", 3);
    builder.waiting(2);
    builder.workload("small", 4);
    builder.waiting(1);
    limit_to(builder, each.limit);
    EXPECT_EQ(step(builder, parts_named("priority")), (Counts{each.starts, 0})) << "the second starts in 50 s";
  }
}

}  // namespace
}  // namespace penstock::policy
