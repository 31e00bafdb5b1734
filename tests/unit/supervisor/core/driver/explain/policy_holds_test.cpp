// SupervisorCore: all that holds a job at present.
#include <gtest/gtest.h>

#include "tests/support/remedy_harness.hpp"

namespace penstock::supervisor {
namespace {

TEST(PolicyHolds, WhatComesAfterTheFirstIsToldAsWell) {
  SupervisorConfig config = policed("quota", {{.name = "d", .is_department = true, .slots_max = 5},
                                              {.name = "a", .department = "d", .slots_max = 3}});
  config.policy.users = {{.name = "ann", .limits = {.running_jobs_max = 1, .slots_max = 5}}};
  RemedyHarness it{config};
  it.cluster.join({.slots = 4});
  it.submit({.project = "a"}, 3, 1, 0, "ann");
  const JobId waits = it.submit({.project = "a", .slots_max = 3}, 3, 1, 0, "ann");
  EXPECT_EQ(it.holds(waits), (Lines{"running_jobs_max user 'ann'", "slots_max user 'ann'", "slots_max project 'a'",
                                    "slots_max department 'd'", "room " + to_string(waits)}));
  const Value answer = it.explain(waits);
  const Value::List& rows = *answer["holds"].list();
  EXPECT_EQ(rows[0]["text"], answer["held_by"]) << "the first is the one that was told always";
  EXPECT_EQ(rows[0]["need"], Value{std::int64_t{2}});
  EXPECT_EQ(rows[0]["had"], Value{std::int64_t{1}});
  EXPECT_EQ(*rows[2]["text"].text(), "limit of project 'a': with it, it would hold 6 of 3");
  EXPECT_EQ(rows[2]["need"], Value{std::int64_t{6}});
  EXPECT_EQ(rows[2]["had"], Value{std::int64_t{3}});
}

TEST(PolicyHolds, AGuaranteeAtEachLevelIsOne) {
  RemedyHarness it{policed("quota", {{.name = "d", .is_department = true, .guaranteed_slots = 2},
                                     {.name = "a", .department = "d", .guaranteed_slots = 1}})};
  it.cluster.join({.slots = 8});
  const JobId waits = it.submit({.project = "a", .kind = JobKind::Interactive}, 4, 1);
  EXPECT_EQ(it.holds(waits), (Lines{"guaranteed_slots project 'a'", "guaranteed_slots department 'd'"}));
}

TEST(PolicyHolds, WhoIsOnHoldIsToldWhatWouldHoldItThen) {
  RemedyHarness it{policed("fair_share")};
  it.cluster.join({.slots = 4});
  it.submit({}, 1, 40);
  const JobId gang = it.submit({.gang = 3}, 1, 3);
  it.follow("hold " + to_string(gang));
  EXPECT_EQ(it.holds(gang), (Lines{"hold " + to_string(gang), "fair_share " + to_string(gang)}));
}

TEST(PolicyHolds, AtItsOwnCapAndWithoutRoom) {
  RemedyHarness it{policed("multifactor")};
  it.cluster.join({.slots = 4});
  const JobId capped = it.submit({.slots_max = 2}, 1, 40);
  it.submit({}, 1, 2);
  EXPECT_EQ(it.holds(capped), (Lines{"cap " + to_string(capped), "room " + to_string(capped)}));
}

// Found by an acceptance test: nothing was told of half a job that waited.
TEST(PolicyHolds, SlotsOnADrainedWorkerHoldWhatWaits) {
  RemedyHarness it{policed("fair_share")};
  it.cluster.join({.slots = 4});
  it.cluster.join({.slots = 4});
  const JobId job = it.submit({}, 1, 40);
  EXPECT_EQ(it.holds(job), Lines{});
  ASSERT_TRUE(it.cluster.ask("drain", {"worker-2"}).has_value());
  it.cluster.settle(1);
  const Value answer = it.explain(job);
  ASSERT_NE(answer["held_by"].text(), nullptr);
  EXPECT_EQ(*answer["held_by"].text(), "drained: 4 of its slots are on 'worker-2', where nothing new begins");
  EXPECT_EQ(it.holds(job).front(), "drained " + to_string(job));
}

TEST(PolicyHolds, AGangIsNamedWhereQuotasCountAndADrainedPlaceIsNoRoom) {
  RemedyHarness it{policed("quota", {{.name = "a", .guaranteed_slots = 8}})};
  it.cluster.join({.slots = 4});
  it.cluster.join({.slots = 4});
  ASSERT_TRUE(it.cluster.ask("drain", {"worker-2"}).has_value());
  it.submit({.project = "a"}, 1, 2);
  const JobId gang = it.submit({.project = "a", .gang = 4}, 1, 4);
  EXPECT_EQ(it.explain(gang)["held_by"],
            "no room: it needs 4, and the roomiest place has 2; it takes all of its gang of 4 at once");
  it.submit({.project = "a"}, 1, 2);
  EXPECT_EQ(it.explain(gang)["held_by"],
            "no room: it needs 4, and the roomiest place has 0; it takes all of its gang of 4 at once");
  const Value answer = it.explain(gang);
  EXPECT_EQ(answer["holds"].list()->front()["need"], Value{std::int64_t{4}});
}

// Found by a user's trial: such a job ran on all slots, and nothing was told of the limit.
TEST(PolicyHolds, AloneInItsPoolAJobIsHeldByTheLimitOfItsProject) {
  RemedyHarness it{policed("fair_share", {{.name = "pa", .slots_max = 2}})};
  it.cluster.join({.slots = 4});
  const JobId job = it.submit({.project = "pa"}, 1, 5);
  EXPECT_EQ(it.held(job), 2000U);
  EXPECT_EQ(it.cluster.entitlements(job.value()), Lines{"w1:2"}) << "also where no other job is";
  const Value answer = it.explain(job);
  EXPECT_EQ(answer["held_by"], "limit of project 'pa': with it, it would hold 3, and it may hold 2");
  EXPECT_EQ(it.holds(job), Lines{"slots_max project 'pa'"});
  const Value& row = answer["holds"].list()->front();
  EXPECT_EQ(row["need"], Value{std::int64_t{3}});
  EXPECT_EQ(row["had"], Value{std::int64_t{2}});
}

TEST(PolicyHolds, OfFairSharesLimitsOfOwnersComeBeforeTheShare) {
  RemedyHarness it{policed("fair_share", {{.name = "d", .is_department = true, .slots_max = 4},
                                          {.name = "a", .department = "d", .slots_max = 4}})};
  it.cluster.join({.slots = 8});
  it.submit({}, 1, 40);
  const JobId job = it.submit({.project = "a"}, 1, 40);
  EXPECT_EQ(it.holds(job),
            (Lines{"slots_max project 'a'", "slots_max department 'd'", "fair_share " + to_string(job)}));
}

TEST(PolicyHolds, ALimitThatIsNotReachedHoldsNobody) {
  RemedyHarness it{policed("fair_share", {{.name = "a", .slots_max = 6}})};
  it.cluster.join({.slots = 8});
  it.submit({}, 1, 40);
  const JobId job = it.submit({.project = "a"}, 1, 40);
  EXPECT_EQ(it.held(job), 4000U);
  EXPECT_EQ(it.holds(job), Lines{"fair_share " + to_string(job)});
}

TEST(PolicyHolds, ALimitCountsAllOfAGang) {
  RemedyHarness it{policed("quota", {{.name = "a", .guaranteed_slots = 4, .slots_max = 4}})};
  it.cluster.join({.slots = 8});
  it.submit({.project = "a"}, 1, 2);
  const JobId gang = it.submit({.project = "a", .gang = 3}, 1, 3);
  EXPECT_EQ(it.explain(gang)["held_by"], "limit of project 'a': with it, it would hold 5, and it may hold 4");
  EXPECT_EQ(it.freed_by(gang).front(), "limit a: slots_max = 5");
}

// Found by a user's trial: the roomiest place was one where the gang may not be.
TEST(PolicyHolds, AnElasticGangThatFillsItsRackIsHeldByIt) {
  for (const char* preset : {"quota", "priority"}) {
    RemedyHarness it{policed(preset, {{.name = "a", .guaranteed_slots = 4}})};
    it.cluster.join({.slots = 4, .labels = {"rack-1"}});
    it.cluster.join({.slots = 4, .labels = {"rack-2"}});
    const JobId gang = it.submit({.project = "a", .gang = 2, .gang_max = 8, .together = "rack-*"}, 1, 8);
    ASSERT_EQ(it.held(gang), 4000U) << preset;
    const Value answer = it.explain(gang);
    ASSERT_NE(answer["held_by"].text(), nullptr) << preset;
    EXPECT_EQ(answer["held_by"].text()->find("no room: it needs 1, and the roomiest place has 0; all of its gang stays "
                                             "on "),
              0U)
        << preset << ": " << *answer["held_by"].text();
    EXPECT_EQ(answer["holds"].list()->front()["had"], Value{std::int64_t{0}}) << preset;
  }
}

TEST(PolicyHolds, WhoGetsAllThatItWantsIsHeldByNothing) {
  RemedyHarness it{policed("multifactor")};
  it.cluster.join({.slots = 4});
  const JobId runs = it.submit({}, 1, 2);
  EXPECT_TRUE(it.explain(runs)["holds"].is_null());
}

}  // namespace
}  // namespace penstock::supervisor
