// The witness of gangs notices what it is there for: each rule is broken once.
#include "tests/simulation/world/gang_witness.hpp"

#include <gtest/gtest.h>

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

constexpr JobId kJob{1};
constexpr Instant kNow{10s};

std::vector<GangView> of_four(std::uint64_t given) { return {{kJob, BandKind::Cpu, 4000, given}}; }

TEST(GangWitness, AllOrNothingIsNoBreach) {
  GangWitness witness;
  witness.pass_begins(kNow, 1s, 0s, of_four(0), {});
  EXPECT_EQ(witness.plan_applied(of_four(4000), false), "");
  witness.pass_begins(kNow, 1s, 0s, of_four(4000), {});
  EXPECT_EQ(witness.plan_applied(of_four(0), false), "");
}

TEST(GangWitness, AGangThatStartsInPartIsABreachUnlessAWorkerWasLost) {
  GangWitness witness;
  witness.pass_begins(kNow, 1s, 0s, of_four(0), {});
  EXPECT_EQ(witness.plan_applied(of_four(2000), false),
            "job-1 is a gang with 2000m of 4000m slots, and no worker was lost");
  EXPECT_EQ(witness.plan_applied(of_four(2000), true), "");
}

TEST(GangWitness, APartIsABreachOnceAGangHasWaitedForTheRest) {
  GangWitness witness;
  witness.pass_begins(kNow, 1s, 0s, of_four(2000), {});
  EXPECT_EQ(witness.plan_applied(of_four(2000), false), "");
  witness.pass_begins(kNow + 1s - Duration{1}, 1s, 0s, of_four(2000), {});
  EXPECT_EQ(witness.plan_applied(of_four(2000), false), "");
  witness.pass_begins(kNow + 1s, 1s, 0s, of_four(2000), {});
  EXPECT_EQ(witness.plan_applied(of_four(2000), false),
            "job-1 is a gang with 2000m of 4000m slots, for longer than gangs wait");
  EXPECT_EQ(witness.plan_applied(of_four(0), false), "");
}

TEST(GangWitness, WhatNeverLeavesIsABreachOnceItsRunsMustHaveEnded) {
  const std::vector<GangView> stays{{kJob, BandKind::Cpu, 4000, 2000, 2000}};
  GangWitness witness;
  witness.pass_begins(kNow, 1s, 0s, stays, {});
  EXPECT_EQ(witness.plan_applied(stays, false), "");
  witness.pass_begins(kNow + 1s + kRunsLast - Duration{1}, 1s, 0s, stays, {});
  EXPECT_EQ(witness.plan_applied(stays, false), "");
  witness.pass_begins(kNow + 1s + kRunsLast, 1s, 0s, stays, {});
  EXPECT_EQ(witness.plan_applied(stays, false),
            "job-1 is a gang with 2000m of 4000m slots, for longer than gangs wait and runs last");
  EXPECT_EQ(witness.plan_applied(of_four(4000), false), "");
}

TEST(GangWitness, APromiseThatIsKeptForTooLongIsABreach) {
  const std::map<JobId, std::vector<policy::Place>> promised{{kJob, {{0, 4}}}};
  const std::map<JobId, std::vector<policy::Place>> other{{kJob, {{1, 4}}}};
  GangWitness witness;
  witness.pass_begins(kNow, 1s, 0s, of_four(0), promised);
  witness.pass_begins(kNow + 999ms, 1s, 0s, of_four(0), promised);
  EXPECT_EQ(witness.broken_promise(), "");
  GangWitness with_another = witness;
  GangWitness while_others_have_grace = witness;
  // Seed 70026913: the supervisor heard only afterwards of members that had left meanwhile.
  GangWitness stood_still = witness;
  stood_still.stood_still();
  stood_still.pass_begins(kNow + 1s, 1s, 0s, of_four(0), promised);
  stood_still.pass_begins(kNow + 1999ms, 1s, 0s, of_four(0), promised);
  EXPECT_EQ(stood_still.broken_promise(), "");
  with_another.pass_begins(kNow + 1s, 1s, 0s, of_four(0), other);
  EXPECT_EQ(with_another.broken_promise(), "");
  witness.pass_begins(kNow + 1s, 1s, 0s, of_four(0), promised);
  EXPECT_EQ(witness.broken_promise(), "") << "this pass takes them back";
  witness.pass_begins(kNow + 1001ms, 1s, 0s, of_four(0), promised);
  EXPECT_EQ(witness.broken_promise(), "job-1 is a gang, and its places stay promised for longer than gangs wait");
  while_others_have_grace.pass_begins(kNow + 1s, 1s, 2s, of_four(0), promised);
  EXPECT_EQ(while_others_have_grace.broken_promise(), "");
}

}  // namespace
}  // namespace penstock::simulation
