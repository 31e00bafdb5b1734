// Remedies for a job that quotas or limits of its project and departments hold: each row is tried.
#include <gtest/gtest.h>

#include "tests/support/remedy_harness.hpp"

namespace penstock::supervisor {
namespace {

const JobPolicy kOfA{.project = "a", .kind = JobKind::Interactive};

// Found by an acceptance test: one quota of several was told, which freed nothing.
TEST(QuotaRemedies, AllOfTheChainIsToldTogether) {
  RemedyHarness it{policed("quota", {{.name = "d", .is_department = true, .guaranteed_slots = 2},
                                     {.name = "a", .department = "d", .guaranteed_slots = 1}})};
  it.cluster.join({.slots = 8});
  const JobId waits = it.submit(kOfA, 4, 1);
  EXPECT_EQ(it.freed_by(waits), Lines{"quota a, d: set quota a 4; set quota d 4"});
  it.follow(it.how(waits, "quota"));
  EXPECT_EQ(it.held(waits), 4000U);
}

TEST(QuotaRemedies, ADepartmentIsCalledOne) {
  RemedyHarness it{policed("quota", {{.name = "d", .is_department = true, .guaranteed_slots = 2},
                                     {.name = "a", .department = "d", .guaranteed_slots = 4}})};
  it.cluster.join({.slots = 8});
  const JobId waits = it.submit(kOfA, 4, 1);
  EXPECT_EQ(it.freed_by(waits), Lines{"department quota d: set quota d 4"});
  EXPECT_NE(it.explain(waits)["held_by"].text()->find("guarantee of department 'd'"), std::string::npos);
}

TEST(QuotaRemedies, WithoutRoomNoQuotaIsTold) {
  RemedyHarness it{policed("quota", {{.name = "a", .guaranteed_slots = 2}, {.name = "b", .guaranteed_slots = 6}})};
  it.cluster.join({.slots = 8});
  const JobId holds = it.submit(kOfA, 2, 1);
  it.submit({.project = "b"}, 6, 1);
  const JobId waits = it.submit(kOfA, 2, 1);
  EXPECT_EQ(it.freed_by(waits), Lines{"end " + to_string(holds)});
  it.end(holds);
  EXPECT_EQ(it.held(waits), 2000U);
}

TEST(QuotaRemedies, WhatOthersHoldBeyondTheirGuaranteeIsRoom) {
  RemedyHarness it{policed("quota", {{.name = "a", .guaranteed_slots = 2}, {.name = "b", .guaranteed_slots = 1}})};
  it.cluster.join({.slots = 4});
  it.submit({.project = "b"}, 1, 4);
  const JobId waits = it.submit(kOfA, 3, 1);
  EXPECT_EQ(it.how(waits, "quota"), "") << "three of four is more than b has beyond its one: all of its job leaves";
  RemedyHarness other{policed("quota", {{.name = "a", .guaranteed_slots = 2}, {.name = "b"}})};
  other.cluster.join({.slots = 4});
  other.submit({.project = "b"}, 1, 4);
  const JobId later = other.submit(kOfA, 3, 1);
  EXPECT_EQ(other.how(later, "quota"), "set quota a 3");
  other.follow("set quota a 3");
  EXPECT_EQ(other.held(later), 3000U);
}

TEST(QuotaRemedies, EndsAreThoseThatLeaveEnoughAtEachLevel) {
  RemedyHarness it{policed("quota", {{.name = "d", .is_department = true, .guaranteed_slots = 4},
                                     {.name = "a", .department = "d", .guaranteed_slots = 2},
                                     {.name = "b", .department = "d", .guaranteed_slots = 2}})};
  it.cluster.join({.slots = 8});
  const JobId own = it.submit(kOfA, 2, 1);
  const JobId other = it.submit({.project = "b", .kind = JobKind::Interactive}, 2, 1);
  const JobId waits = it.submit(kOfA, 2, 1);
  Lines ends = it.freed_by(waits);
  std::erase_if(ends, [](const std::string& row) { return !row.starts_with("end "); });
  EXPECT_EQ(ends, Lines{"end " + to_string(own)}) << "not that of " << to_string(other);
}

TEST(QuotaRemedies, LimitsOfSeveralLevelsAreToldTogether) {
  RemedyHarness it{policed("quota", {{.name = "d", .is_department = true, .slots_max = 3},
                                     {.name = "a", .department = "d", .slots_max = 2}})};
  it.cluster.join({.slots = 8});
  const JobId waits = it.submit({.project = "a"}, 4, 1);
  EXPECT_EQ(it.freed_by(waits), Lines{"limit a, d: slots_max = 4 of project 'a'; slots_max = 4 of department 'd'"});
}

}  // namespace
}  // namespace penstock::supervisor
