// The witness of graces notices what it is there for: each rule is broken once.
#include "tests/simulation/world/grace_witness.hpp"

#include <gtest/gtest.h>

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

constexpr SubtaskId kRun{JobId{1}, SubtaskIndex{2}};
constexpr Instant kNow{10s};

TEST(GraceWitness, WhoIsEndedBeforeItsGraceIsOverIsABreachOnce) {
  GraceWitness witness;
  EXPECT_EQ(witness.killed(kRun, kNow), "") << "nobody told it to leave";
  witness.told(kRun, kNow, 2s);
  EXPECT_EQ(witness.killed(kRun, kNow + 2s - Duration{1}), to_string(kRun) + " is ended before its grace is over");
  EXPECT_EQ(witness.killed(kRun, kNow + 1s), "");
  witness.told(kRun, kNow, 2s);
  EXPECT_EQ(witness.killed(kRun, kNow + 2s), "");
}

TEST(GraceWitness, TheShortestGraceCounts) {
  GraceWitness witness;
  witness.told(kRun, kNow, 2s);
  witness.told(kRun, kNow + 1s, 500ms);
  witness.told(kRun, kNow + 1s, 5s);
  EXPECT_EQ(witness.killed(kRun, kNow + 1500ms), "");
}

TEST(GraceWitness, WhoIsLetRunWhenItsGraceIsOverIsABreach) {
  GraceWitness witness;
  witness.told(kRun, kNow, 2s);
  EXPECT_EQ(witness.overdue(kNow + 2001ms, 1ms), "");
  EXPECT_EQ(witness.overdue(kNow + 2001ms + Duration{1}, 1ms),
            to_string(kRun) + " is let run, though its grace is over");
  witness.ended(kRun);
  EXPECT_EQ(witness.overdue(kNow + 3s, 1ms), "");
}

TEST(GraceWitness, WhatElseMayEndARunIsNoBreach) {
  GraceWitness witness;
  witness.told(kRun, kNow, 2s);
  witness.may_end(kRun);
  EXPECT_EQ(witness.killed(kRun, kNow), "");
  EXPECT_EQ(witness.overdue(kNow + 9s, 1ms), "");
}

// Seed 7022410: after a cancel it was told by the next life of its supervisor to leave, with a longer grace.
TEST(GraceWitness, WhatElseMayEndARunMayDoSoWhateverItIsToldThen) {
  GraceWitness witness;
  witness.may_end(kRun);
  witness.told(kRun, kNow, 2s);
  EXPECT_EQ(witness.killed(kRun, kNow + 1s), "");
  witness.ended(kRun);
  witness.told(kRun, kNow, 2s);
  EXPECT_NE(witness.killed(kRun, kNow + 1s), "") << "the next run of it";
}

}  // namespace
}  // namespace penstock::simulation
