// The witness of limits notices what it is there for: each rule is broken once.
#include "tests/simulation/world/limit_witness.hpp"

#include <gtest/gtest.h>

namespace penstock::simulation {
namespace {

LimitedJob of_ann(std::uint32_t id, std::uint64_t given, const JobLimits& limits) {
  return {.id = JobId{id}, .limits = {{"user 'ann'", limits}}, .given = {given, 0}};
}

TEST(LimitWitness, WhatKeepsItsLimitsIsNoBreach) {
  LimitWitness witness;
  const JobLimits limits{.running_jobs_max = 2, .slots_max = 4};
  witness.pass_begins({of_ann(1, 2000, limits), of_ann(2, 0, limits)});
  EXPECT_EQ(witness.plan_applied({of_ann(1, 2000, limits), of_ann(2, 2000, limits)}), "");
}

TEST(LimitWitness, OneJobMoreThanMayRunIsABreach) {
  LimitWitness witness;
  const JobLimits limits{.running_jobs_max = 1};
  witness.pass_begins({of_ann(1, 2000, limits), of_ann(2, 0, limits)});
  EXPECT_EQ(witness.plan_applied({of_ann(1, 1000, limits), of_ann(2, 1000, limits)}),
            "job-2 begins, and 2 jobs of user 'ann' have slots: it may run 1");
}

TEST(LimitWitness, MoreSlotsThanALimitAreABreachOfEitherKind) {
  LimitWitness witness;
  const JobLimits limits{.slots_max = 3, .gpu_slots_max = 3};
  witness.pass_begins({of_ann(1, 2000, limits), of_ann(2, 0, limits)});
  EXPECT_EQ(witness.plan_applied({of_ann(1, 2000, limits), of_ann(2, 1500, limits)}),
            "job-2 gets more, and jobs of user 'ann' have 3500m slots: they may have 3");
  LimitedJob on_devices = of_ann(1, 0, limits);
  on_devices.given[1] = 4000;
  EXPECT_NE(witness.plan_applied({on_devices}), "");
}

TEST(LimitWitness, AllThatALimitedJobWantsIsABreachOnceAPassHasSeenTheLimit) {
  LimitWitness witness;
  LimitedJob unlimited{.id = JobId{1}, .unlimited = true};
  LimitedJob limited = of_ann(1, 0, {.slots_max = 3});
  LimitedJob on_hold{.id = JobId{1}, .on_hold = true, .unlimited = true};
  limited.unlimited = true;
  // Ordered while the pass was under way: the next one sees it.
  witness.pass_begins({unlimited});
  EXPECT_EQ(witness.plan_applied({limited}), "");
  EXPECT_EQ(witness.plan_applied({on_hold}), "");
  witness.pass_begins({limited});
  EXPECT_EQ(witness.plan_applied({limited}), "job-1 may have all that it wants, though it is limited");
  witness.pass_begins({on_hold});
  EXPECT_EQ(witness.plan_applied({on_hold}), "job-1 may have all that it wants, though it is limited");
}

TEST(LimitWitness, WhatRunsMayStayWhenALimitIsLowered) {
  LimitWitness witness;
  const JobLimits lowered{.running_jobs_max = 1, .slots_max = 3};
  const std::vector<LimitedJob> jobs{of_ann(1, 4000, lowered), of_ann(2, 4000, lowered)};
  witness.pass_begins(jobs);
  EXPECT_EQ(witness.plan_applied(jobs), "");
}

TEST(LimitWitness, WhatBeganUnderAnotherLimitMayRunOn) {
  LimitWitness witness;
  const JobLimits limits{.running_jobs_max = 1};
  witness.pass_begins({of_ann(1, 1000, limits), {.id = JobId{2}, .given = {1000, 0}}});
  witness.pass_begins({of_ann(1, 1000, limits), of_ann(2, 0, limits)});
  EXPECT_EQ(witness.plan_applied({of_ann(1, 1000, limits), of_ann(2, 1000, limits)}), "");
}

TEST(LimitWitness, WhatIsExemptDoesNotCountInSlotsButInJobs) {
  LimitWitness witness;
  const JobLimits limits{.running_jobs_max = 1, .slots_max = 3};
  LimitedJob standby = of_ann(1, 0, limits);
  standby.exempt = true;
  witness.pass_begins({standby, of_ann(2, 0, limits)});
  standby.given[0] = 8000;
  EXPECT_EQ(witness.plan_applied({standby, of_ann(2, 0, limits)}), "");
  EXPECT_NE(witness.plan_applied({standby, of_ann(2, 3000, limits)}), "");
}

TEST(LimitWitness, SlotsOfAHeldJobAreABreach) {
  LimitWitness witness;
  const LimitedJob held{.id = JobId{1}, .on_hold = true, .given = {1000, 0}};
  witness.pass_begins({held});
  EXPECT_EQ(witness.plan_applied({held}), "job-1 is on hold, and a plan gives it slots");
  LimitedJob released = held;
  released.on_hold = false;
  EXPECT_EQ(witness.plan_applied({released}), "");
}

TEST(LimitWitness, WhoIsHeldAfterThePassBeganIsNotItsBusiness) {
  LimitWitness witness;
  witness.pass_begins({{.id = JobId{1}}});
  EXPECT_EQ(witness.plan_applied({{.id = JobId{1}, .on_hold = true, .given = {1000, 0}}}), "");
}

TEST(LimitWitness, WhoIsLimitedAndMayHaveAllIsABreach) {
  LimitWitness witness;
  LimitedJob job = of_ann(1, 0, {.slots_max = 3});
  job.unlimited = true;
  witness.pass_begins({job});
  EXPECT_NE(witness.plan_applied({job}), "");
}

TEST(LimitWitness, ALimitThatAnOrderChangesDuringThePassBindsTheNextPlan) {
  LimitedJob limited = of_ann(1, 0, {.slots_max = 3});
  limited.unlimited = true;
  LimitedJob free = limited;
  free.limits.clear();
  LimitWitness lifted;
  lifted.pass_begins({limited});
  EXPECT_EQ(lifted.plan_applied({free}), "");
  LimitWitness imposed;
  imposed.pass_begins({free});
  EXPECT_EQ(imposed.plan_applied({limited}), "");
}

}  // namespace
}  // namespace penstock::simulation
