// Subtasks with `overlap = "never"` are not given elsewhere while a lost worker may still run them.
#include "supervisor/core/overlap_holds.hpp"

#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The first template may overlap, the second must not.
GraphBuilder graph() {
  GraphBuilder builder;
  builder.template_at(1).runner = RunnerKind::Command;
  builder.template_at(1).overlap = Overlap::Never;
  return builder;
}

const Duration kHeld = overlap_over_at({}, Instant{}) - Instant{};

TEST(OverlapHolds, WhatALostWorkerMayRunWaitsUntilItMustHaveEnded) {
  SupervisorHarness cluster;
  cluster.join({.slots = 2});
  cluster.submit(graph().add({}, 0).add({}, 1).build());
  cluster.assigned();
  cluster.join({.slots = 2});
  PENSTOCK_EXPECT_COVERAGE_MARK("a subtask waits until its lost worker has ended it", cluster.lose(1));
  EXPECT_EQ(cluster.assigned(), Lines{"0#2 to w2"}) << "the other may overlap";
  const Result<Value> why = cluster.ask("explain", {"1", "1"});
  ASSERT_TRUE(why.has_value());
  EXPECT_NE((*why)["reason"].text()->find("may still run it"), std::string::npos) << *(*why)["reason"].text();
  cluster.tick_after(kHeld - milliseconds{1});
  EXPECT_EQ(cluster.assigned(), Lines{});
  cluster.tick_after(milliseconds{1});
  EXPECT_EQ(cluster.assigned(), Lines{"1#2 to w2"});
  cluster.ignore();
}

// The worker has told us itself that nothing runs there any more.
TEST(OverlapHolds, WhatItsWorkerHasEndedItselfNeedNotWait) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(graph().add({}, 1).build());
  cluster.assigned();
  cluster.fail(1, 0, FailureClass::WorkerLost);
  EXPECT_EQ(cluster.assigned(), Lines{"0#2 to w1"});
  cluster.ignore();
}

// The next attempt was queued behind an endless run on the other worker, while the worker of the first one was idle.
TEST(OverlapHolds, WhatWasCutOffMayRunAgainWhereItRan) {
  SupervisorHarness cluster;
  cluster.join({.slots = 1});
  cluster.join({.slots = 1});
  cluster.submit(graph().add({}, 1).add({}, 0).build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w2"}));
  cluster.fail(1, 0, FailureClass::WorkerLost);
  EXPECT_EQ(cluster.assigned(), Lines{"0#2 to w1"});
  cluster.ignore();
}

TEST(OverlapHolds, ACancelDoesNotWait) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(graph().add({}, 1).build());
  cluster.assigned();
  cluster.lose(1);
  EXPECT_TRUE(cluster.ask("cancel", {"1"}).has_value());
  EXPECT_EQ(cluster.state(), JobState::Cancelled);
  cluster.ignore();
}

// Its input was lost with it and is made again meanwhile: that must not let it begin.
TEST(OverlapHolds, AnInputThatIsMadeAgainDoesNotEndTheWait) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(graph().add({}, 0).add({0}, 1).build());
  cluster.assigned();
  cluster.succeed(1, 0, {{0, 10}});
  cluster.ignore();
  cluster.lose(1);
  cluster.join();
  EXPECT_EQ(cluster.assigned(), Lines{"0#2 to w2"});
  cluster.succeed(2, 0, {{0, 10}});
  EXPECT_EQ(cluster.assigned(), Lines{});
  cluster.tick_after(kHeld);
  EXPECT_EQ(cluster.assigned(), Lines{"1#2 to w2"});
  cluster.ignore();
}

class RestartedHolds : public ::testing::Test {
 protected:
  void begin(const Graph& submitted) {
    cluster->join();
    cluster->submit(submitted, {.name = "one"});
    cluster.write_all();
    cluster->join();
    cluster.write_all();
    cluster->ignore();
  }
  /// The second worker is back in time, the first is not.
  void restart_with_another() {
    cluster.restart_for_claims();
    cluster->come_back(2, {});
    cluster->tick_at_deadline();
    cluster.write_all();
    EXPECT_FALSE(cluster->core().reclaiming());
    cluster->ignore();
  }
  /// The first one registers, and has not said yet what it holds.
  void begin_to_come_back() {
    Register half;
    half.name = "worker-1";
    half.bands.resize(1);
    half.bands[0].capacity.slots = kOneSlot;
    half.reclaims = true;
    cluster->handle(supervisor_event::WorkerJoined{WorkerId{1}, Incarnation{101}, half});
  }
  JournalHarness cluster;
};

// The supervisor that died may have heard the worker just before.
TEST_F(RestartedHolds, WhatAWorkerThatIsNotBackMayRunWaits) {
  begin(graph().add({}, 0).add({}, 1).build());
  cluster.restart();
  cluster->join({.slots = 2});
  cluster.write_all();
  EXPECT_EQ(cluster->assigned(), Lines{"0 to w1"});
  cluster->tick_after(kHeld);
  EXPECT_EQ(cluster->assigned(), Lines{"1 to w1"});
  cluster->ignore();
}

// Its loss was written: nobody is waited for, and it may run on all the same.
TEST_F(RestartedHolds, WhatWasLostJustBeforeTheRestartWaits) {
  begin(graph().add({}, 1).build());
  for (const std::uint32_t worker : {1U, 2U}) cluster->lose(worker);
  cluster.write_all();
  cluster.restart();
  EXPECT_FALSE(cluster->core().reclaiming());
  cluster->join();
  cluster.write_all();
  EXPECT_EQ(cluster->assigned(), Lines{});
  cluster->tick_after(kHeld);
  EXPECT_EQ(cluster->assigned().size(), 1U);
  cluster->ignore();
}

ClaimedJob claim_of(std::uint32_t subtask) {
  return {JobId{1}, {{SubtaskIndex{subtask}, Attempt{1}, BandIndex{0}, ClaimedStage::Running}}, {}};
}

TEST_F(RestartedHolds, WhatItsWorkerClaimsGoesOn) {
  begin(graph().add({}, 1).build());
  cluster.restart_for_claims();
  cluster->come_back(1, {.jobs = {claim_of(0)}});
  cluster.write_all();
  cluster->tick_after(kHeld);
  EXPECT_EQ(cluster->phase(0), SubtaskPhase::Assigned);
  cluster->ignore();
}

// The worker was heard again, so it goes on; what it runs is known only when it has said so.
TEST_F(RestartedHolds, WhileAWorkerClaimsNothingThatItMayRunIsGivenOut) {
  begin(graph().add({}, 1).build());
  restart_with_another();
  cluster->tick_after(kHeld - seconds{1});
  begin_to_come_back();
  cluster->tick_after(seconds{2});
  EXPECT_EQ(cluster->assigned(), Lines{});
  WorkerClaim claim;
  claim.jobs = {claim_of(0)};
  claim.last = true;
  cluster->worker_says(1, claim);
  EXPECT_EQ(cluster->phase(0), SubtaskPhase::Assigned);
  cluster->tick_after(kHeld);
  EXPECT_EQ(cluster->assigned(), Lines{});
  cluster->ignore();
}

TEST_F(RestartedHolds, AWorkerThatIsLostWhileItClaimsMayRunWhatItDidNotSay) {
  begin(graph().add({}, 1).build());
  restart_with_another();
  cluster->tick_after(kHeld - seconds{1});
  begin_to_come_back();
  cluster->lose(1);
  cluster.write_all();
  cluster->tick_after(kHeld - seconds{1});
  EXPECT_EQ(cluster->assigned(), Lines{});
  cluster->tick_after(seconds{2});
  EXPECT_EQ(cluster->assigned().size(), 1U);
  cluster->ignore();
}

}  // namespace
}  // namespace penstock::supervisor
