#include <gtest/gtest.h>

#include "supervisor/policy/preemption.hpp"

namespace penstock::policy {
namespace {

constexpr Instant kStart{};

// Spec: policy-determined 7.2.
TEST(Preemption, WhatHasNotStartedEndsAtOnce) {
  Holding holding{true};
  holding.assign();
  holding.ask_to_leave(kStart, PreemptionFlag::kGraceDefault);
  EXPECT_EQ(holding.state(), HoldingState::Terminated);
  EXPECT_EQ(holding.end(), HoldingEnd::Preempted);
}

TEST(Preemption, OnlyWhoIsReadyGetsASignal) {
  Holding holding{true};
  holding.assign();
  holding.part_reached(HoldingState::Running);
  Holding ready = holding;
  ready.set_ready();
  holding.ask_to_leave(kStart, PreemptionFlag::kGraceDefault);
  ready.ask_to_leave(kStart, PreemptionFlag::kGraceDefault);
  EXPECT_TRUE(holding.kill_ordered());
  EXPECT_FALSE(ready.kill_ordered());
  EXPECT_TRUE(ready.flag().raised());
}

TEST(Preemption, TheDeadlineEndsWhoDoesNotLeave) {
  Holding holding{true};
  holding.assign();
  holding.part_reached(HoldingState::Running);
  holding.set_ready();
  holding.ask_to_leave(kStart, std::chrono::seconds{10});
  holding.ask_to_leave(kStart + std::chrono::seconds{9}, std::chrono::seconds{10});
  holding.tick(kStart + std::chrono::seconds{9});
  EXPECT_FALSE(holding.kill_ordered());
  holding.tick(kStart + std::chrono::seconds{10});
  EXPECT_TRUE(holding.kill_ordered()) << "asking again does not move the deadline";
  holding.exited(true);
  EXPECT_EQ(holding.end(), HoldingEnd::Preempted) << "no restart is counted";
}

// Spec: policy-determined 7.4.
TEST(Preemption, LeavingWithoutAcknowledgementIsTheUsersOwnEnd) {
  for (const bool acknowledged : {false, true}) {
    Holding holding{true};
    holding.assign();
    holding.part_reached(HoldingState::Running);
    holding.set_ready();
    holding.ask_to_leave(kStart, PreemptionFlag::kGraceDefault);
    if (acknowledged) holding.acknowledge();
    holding.exited(false);
    EXPECT_EQ(holding.end(), acknowledged ? HoldingEnd::Preempted : HoldingEnd::Finished);
  }
}

TEST(Preemption, EveryWatcherSeesTheFlag) {
  PreemptionFlag flag;
  flag.watch(1);
  EXPECT_FALSE(flag.is_signalled(1));
  flag.raise(kStart, PreemptionFlag::kGraceDefault);
  flag.watch(2);
  EXPECT_TRUE(flag.is_signalled(1) && flag.is_signalled(2));
  flag.unwatch(1);
  EXPECT_FALSE(flag.is_signalled(1));
}

}  // namespace
}  // namespace penstock::policy
