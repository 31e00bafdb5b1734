// SupervisorCore: what would free a job that policy holds.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/remedy_harness.hpp"

namespace penstock::supervisor {
namespace {

using RoomRemedies = RemedyHarness;

TEST(RoomRemediesTest, WhoFindsNoRoomIsToldWhoseEndMakesIt) {
  RoomRemedies it{policed("multifactor")};
  it.cluster.join({.slots = 4});
  it.cluster.join({.slots = 2});
  const JobId large = it.submit({}, 4, 1);
  const JobId small = it.submit({}, 2, 1);
  const JobId waits = it.submit({}, 2, 1);
  EXPECT_EQ(it.freed_by(waits), (Lines{"end " + to_string(large), "end " + to_string(small)}));
  const Result<Value> answer = it.cluster.ask("explain", {to_string(waits)});
  const Value& first = (*(*answer)["freed_by"].list())[0];
  ASSERT_NE(first["within_s"].number(), nullptr) << "its time limit tells";
  EXPECT_NEAR(*first["within_s"].number(), 24 * 3600, 60);
  EXPECT_EQ(it.freed_by(large), Lines{});
}

// Backfill takes a job past its limit to end within `overrun`; `explain` said: at once.
TEST(RoomRemediesTest, WhoIsPastHisLimitEndsWithinTheOverrun) {
  SupervisorConfig config = policed("multifactor");
  config.policy.pools[0].time_limit = std::chrono::seconds{1};
  config.policy.pools[0].overrun = std::chrono::seconds{40};
  RoomRemedies it{config};
  it.cluster.join({.slots = 1});
  it.submit({}, 1, 1);
  const JobId waits = it.submit({}, 1, 1);
  it.cluster.tick_after(std::chrono::seconds{5});
  it.cluster.settle(2);
  const Result<Value> answer = it.cluster.ask("explain", {to_string(waits)});
  ASSERT_NE((*answer)["freed_by"].list(), nullptr);
  const double* within = (*(*answer)["freed_by"].list())[0]["within_s"].number();
  ASSERT_NE(within, nullptr);
  EXPECT_NEAR(*within, 40, 1);
}

TEST(RoomRemediesTest, WhereNoEndIsEnoughSomeTogetherAre) {
  RoomRemedies it{policed("multifactor")};
  it.cluster.join({.slots = 4});
  const JobId a = it.submit({}, 2, 1);
  const JobId b = it.submit({}, 2, 1);
  const JobId waits = it.submit({}, 4, 1);
  EXPECT_EQ(it.freed_by(waits), Lines{"end " + to_string(a) + ", " + to_string(b) + ": together"});
}

TEST(RoomRemediesTest, AWorkerThatDrainsOrIsGoneWouldHelp) {
  RoomRemedies it{policed("multifactor")};
  it.cluster.join({.slots = 4});
  it.cluster.join({.slots = 4});
  EXPECT_TRUE(it.cluster.ask("drain", {"worker-2"}).has_value());
  const JobId runs = it.submit({}, 4, 1);
  const JobId waits = it.submit({}, 4, 1);
  EXPECT_EQ(it.freed_by(waits), (Lines{"end " + to_string(runs), "worker worker-2: undrain worker-2"}));
  it.cluster.lose(2);
  it.cluster.settle(2);
  EXPECT_EQ(it.freed_by(waits), (Lines{"end " + to_string(runs), "worker worker-2: it comes back"}));
  it.cluster.join({.slots = 4});
  it.cluster.settle(2);
  EXPECT_EQ(it.freed_by(waits), Lines{});
}

TEST(RoomRemediesTest, TheFewestOfTheFirstWorkersAreNamedTogether) {
  RoomRemedies it{policed("multifactor")};
  for (int worker = 0; worker < 6; ++worker) it.cluster.join({.slots = 4});
  for (int worker = 2; worker <= 6; ++worker)
    EXPECT_TRUE(it.cluster.ask("drain", {"worker-" + std::to_string(worker)}).has_value());
  it.submit({}, 4, 1);
  const JobId gang = it.submit({.gang = 12}, 1, 12);
  const Lines rows = it.freed_by(gang);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.back(),
            "worker worker-2, worker-3: together; undrain worker-2; undrain worker-3; then others have to leave");
}

// In a cluster of thousands of workers, most of them gone, each by itself would take seconds.
TEST(RoomRemediesTest, OfManyWorkersTheFirstAreTriedAloneAndTheOthersTogether) {
  RoomRemedies it{policed("multifactor")};
  it.cluster.join({.slots = 4});
  for (int worker = 2; worker <= 20; ++worker) it.cluster.join({.slots = worker < 19 ? 1U : 4U});
  for (int worker = 2; worker <= 20; ++worker)
    EXPECT_TRUE(it.cluster.ask("drain", {"worker-" + std::to_string(worker)}).has_value());
  const JobId runs = it.submit({}, 4, 1);
  const JobId waits = it.submit({}, 4, 1);
  EXPECT_EQ(it.freed_by(waits), (Lines{"end " + to_string(runs), "worker worker-19: undrain worker-19"}));
}

TEST(RoomRemediesTest, WhatIsAtItsCapIsToldTheCapForOneMore) {
  RoomRemedies it{policed("fair_share")};
  it.cluster.join({.slots = 8});
  const JobId capped = it.submit({.slots_max = 3}, 2, 40);
  it.submit({}, 1, 2);
  EXPECT_EQ(it.freed_by(capped), Lines{"cap " + to_string(capped) + ": set cap " + to_string(capped) + " 4"});
  EXPECT_TRUE(it.cluster.ask("set", {"cap", to_string(capped), "4"}).has_value());
  it.cluster.settle(3);
  EXPECT_EQ(it.cluster.job(capped.value()).shares->bands.at(0).planned, 4000U);
}

TEST(RoomRemediesTest, BehindAMoreImportantOneItsStartOrAHigherPriorityFreesIt) {
  RoomRemedies it{policed("priority")};
  it.cluster.join({.slots = 4});
  it.submit({.kind = JobKind::Interactive}, 3, 1, 9);
  const JobId high = it.submit({}, 4, 1, 5);
  const JobId low = it.submit({.kind = JobKind::Interactive}, 1, 1, 1);
  EXPECT_EQ(it.freed_by(low), (Lines{"start " + to_string(high),
                                     "priority " + to_string(low) + ": set priority " + to_string(low) + " 6"}));
  EXPECT_TRUE(it.cluster.ask("set", {"priority", to_string(low), "6"}).has_value());
  it.cluster.settle(3);
  EXPECT_EQ(it.freed_by(low), Lines{});
}

TEST(RoomRemediesTest, WhatIsNotGuaranteedIsFreedByAQuota) {
  RoomRemedies it{policed("quota", {{.name = "d", .is_department = true, .guaranteed_slots = 2},
                                    {.name = "a", .department = "d", .guaranteed_slots = 4}})};
  it.cluster.join({.slots = 8});
  const JobId holds = it.submit({.project = "a", .kind = JobKind::Interactive}, 2, 1);
  const JobId waits = it.submit({.project = "a", .kind = JobKind::Interactive}, 2, 1);
  EXPECT_EQ(it.freed_by(waits), (Lines{"department quota d: set quota d 4", "end " + to_string(holds)}));
  EXPECT_TRUE(it.cluster.ask("set", {"quota", "d", "4"}).has_value());
  it.cluster.settle(3);
  EXPECT_EQ(it.freed_by(waits), Lines{});
}

// Found by an acceptance test: nothing was said of a better priority.
TEST(RoomRemediesTest, APriorityIsNamedForWhichEnoughWouldLeave) {
  RoomRemedies it{policed("priority")};
  it.cluster.join({.slots = 4});
  const JobId low = it.submit({}, 2, 1, 3);
  const JobId high = it.submit({}, 2, 1, 7);
  const JobId waits = it.submit({}, 2, 1, 1);
  EXPECT_EQ(it.how(waits, "priority"), "set priority " + to_string(waits) + " 4");
  const JobId whole = it.submit({}, 4, 1, 1);
  EXPECT_EQ(it.how(whole, "priority"), "set priority " + to_string(whole) + " 8");
  it.follow(it.how(waits, "priority"));
  EXPECT_EQ(it.held(waits), 2000U);
  EXPECT_EQ(it.held(low), 0U);
  EXPECT_EQ(it.held(high), 2000U);
}

TEST(RoomRemediesTest, APriorityIsAboveAllWhoWaitAndNoneHelpsAgainstWhoNeverLeaves) {
  RoomRemedies it{policed("priority")};
  it.cluster.join({.slots = 4});
  it.submit({}, 2, 1, 3);
  it.submit({.kind = JobKind::Interactive}, 2, 1, 7);
  it.submit({}, 4, 1, 5);
  const JobId waits = it.submit({}, 2, 1, 1);
  EXPECT_EQ(it.how(waits, "priority"), "set priority " + to_string(waits) + " 6");
  const JobId whole = it.submit({}, 4, 1, 1);
  EXPECT_EQ(it.how(whole, "priority"), "");
  it.follow(it.how(waits, "priority"));
  EXPECT_EQ(it.held(waits), 2000U);
}

// Found by an acceptance test: of a gang over several bands nothing was said.
TEST(RoomRemediesTest, AGangOverSeveralBandsIsToldWhichWorkersWouldHelp) {
  RoomRemedies it{policed("fair_share")};
  for (int i = 0; i < 3; ++i) it.cluster.join({.slots = 4});
  const JobId two = it.submit({.gang = 8}, 1, 8);
  EXPECT_EQ(it.held(two), 8000U);
  for (const std::uint32_t worker : {2U, 3U}) it.cluster.lose(worker);
  it.cluster.settle(4);
  EXPECT_EQ(it.freed_by(two), (Lines{"worker worker-2: it comes back", "worker worker-3: it comes back"}));
  const JobId three = it.submit({.gang = 12}, 1, 12);
  EXPECT_NE(it.explain(three)["held_by"].text()->find("infeasible"), std::string::npos);
  EXPECT_EQ(it.freed_by(three), Lines{"worker worker-2, worker-3: together; then others have to leave"});
}

// The search looks at all jobs, each of which may look at all others, and no one reads what would free them there.
TEST(RoomRemediesTest, TheWatchdogDoesNotLookForWhatWouldFreeAJob) {
  SupervisorConfig config = policed("multifactor");
  config.watchdog_after = std::chrono::seconds{5};
  RoomRemedies it{config};
  it.cluster.join({.slots = 1});
  it.submit({}, 1, 1);
  const JobId waits = it.submit({}, 1, 1);
  PENSTOCK_EXPECT_COVERAGE_MARK("remedies for a blocked job are searched", EXPECT_FALSE(it.freed_by(waits).empty()));
  const std::uint64_t before = coverage_mark_count("remedies for a blocked job are searched");
  for (int i = 0; i < 4; ++i) {
    it.cluster.tick_after(std::chrono::seconds{3});
    it.cluster.settle(1);
  }
  EXPECT_EQ(it.cluster.core().counters().watchdog_alerts, 1U);
  EXPECT_EQ(coverage_mark_count("remedies for a blocked job are searched"), before);
}

TEST(RoomRemediesTest, AtALimitItIsNamedWithItsNumber) {
  RoomRemedies it{policed("quota", {{.name = "a", .slots_max = 3}})};
  it.cluster.join({.slots = 8});
  const JobId holds = it.submit({.project = "a"}, 2, 1);
  const JobId waits = it.submit({.project = "a"}, 2, 1);
  EXPECT_EQ(it.freed_by(waits), (Lines{"limit a: slots_max = 4", "end " + to_string(holds)}));
}

// Found by an acceptance test: its fair share was the same with a larger cap.
TEST(RoomRemediesTest, ALargerCapIsToldOnlyWhereMoreWouldBeHad) {
  RemedyHarness it{policed("fair_share_max_min")};
  it.cluster.join({.slots = 8});
  const JobId capped = it.submit({.slots_max = 4}, 1, 8);
  EXPECT_EQ(it.freed_by(capped), Lines{"cap " + to_string(capped) + ": set cap " + to_string(capped) + " 5"});
  it.submit({}, 1, 8);
  EXPECT_EQ(it.freed_by(capped), Lines{});
}

}  // namespace
}  // namespace penstock::supervisor
