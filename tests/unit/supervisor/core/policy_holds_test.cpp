// SupervisorCore: all that holds a job at present.
#include <gtest/gtest.h>

#include "tests/support/relief_harness.hpp"

namespace penstock::supervisor {
namespace {

TEST(PolicyHolds, WhatComesAfterTheFirstIsToldAsWell) {
  SupervisorConfig config = policed("quota", {{.name = "d", .is_department = true, .slots_max = 5},
                                              {.name = "a", .department = "d", .slots_max = 3}});
  config.policy.users = {{.name = "ann", .limits = {.running_jobs_max = 1, .slots_max = 5}}};
  ReliefHarness it{config};
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
  ReliefHarness it{policed("quota", {{.name = "d", .is_department = true, .guaranteed_slots = 2},
                                     {.name = "a", .department = "d", .guaranteed_slots = 1}})};
  it.cluster.join({.slots = 8});
  const JobId waits = it.submit({.project = "a", .kind = JobKind::Interactive}, 4, 1);
  EXPECT_EQ(it.holds(waits), (Lines{"guaranteed_slots project 'a'", "guaranteed_slots department 'd'"}));
}

TEST(PolicyHolds, WhoIsOnHoldIsToldWhatWouldHoldItThen) {
  ReliefHarness it{policed("fair_share")};
  it.cluster.join({.slots = 4});
  it.submit({}, 1, 40);
  const JobId gang = it.submit({.gang = 3}, 1, 3);
  it.follow("hold " + to_string(gang));
  EXPECT_EQ(it.holds(gang), (Lines{"hold " + to_string(gang), "fair_share " + to_string(gang)}));
}

TEST(PolicyHolds, AtItsOwnCapAndWithoutRoom) {
  ReliefHarness it{policed("multifactor")};
  it.cluster.join({.slots = 4});
  const JobId capped = it.submit({.slots_max = 2}, 1, 40);
  it.submit({}, 1, 2);
  EXPECT_EQ(it.holds(capped), (Lines{"cap " + to_string(capped), "room " + to_string(capped)}));
}

TEST(PolicyHolds, WhoGetsAllThatItWantsIsHeldByNothing) {
  ReliefHarness it{policed("multifactor")};
  it.cluster.join({.slots = 4});
  const JobId runs = it.submit({}, 1, 2);
  EXPECT_TRUE(it.explain(runs)["holds"].is_null());
}

}  // namespace
}  // namespace penstock::supervisor
