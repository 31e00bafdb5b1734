// A native operator takes its worker down: it alone is charged, whenever and however that is told (fault F25).
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

/// The word of the next life of worker `worker` about its former one.
OperatorCrash crash_of(std::uint32_t worker, std::uint32_t subtask, std::uint16_t attempt = 1) {
  return {Incarnation{100 + worker},
          {JobId{1}, SubtaskIndex{subtask}},
          Attempt{attempt},
          11,
          "operator 'bad' crashed with SIGSEGV"};
}

WorkerSpec after(const OperatorCrash& crash, std::uint32_t slots = 3) {
  WorkerSpec spec{.slots = slots};
  spec.crash = crash;
  return spec;
}

const SubtaskHistory& history_of(SupervisorHarness& cluster, std::uint32_t subtask) {
  static const SubtaskHistory none;
  const SubtaskHistory* history = cluster.job().extras.histories->find(SubtaskIndex{subtask});
  return history == nullptr ? none : *history;
}

// Fault F28: an operator that its worker could not end in any other way.
TEST(Crashes, AnOperatorThatWasEndedAtItsTimeLimitIsChargedWithThat) {
  SupervisorHarness cluster;
  cluster.join({.slots = 1});
  Graph graph = GraphBuilder{}.sources(1).build();
  cluster.submit(graph);
  ASSERT_EQ(cluster.assigned(), Lines{"0 to w1"});
  OperatorCrash ended = crash_of(1, 0);
  ended.signal = 24;  // SIGXCPU
  cluster.join(after(ended, 1));
  EXPECT_EQ(history_of(cluster, 0).last.failure, FailureClass::Timeout);
  EXPECT_EQ(history_of(cluster, 0).charged, 1U);
  cluster.ignore();
}

/// A job of three independent subtasks, all at the first worker.
class CrashesTest : public ::testing::Test {
 protected:
  void begin() {
    cluster.join({.slots = 3});
    Graph graph = GraphBuilder{}.sources(3).keys({"bad", "left", "right"}).build();
    for (Template& program : graph.templates) program.on_failure = OnFailure::Continue;
    cluster.submit(graph);
    ASSERT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w1", "2 to w1"}));
  }
  void expect_only_the_first_is_charged() {
    EXPECT_EQ(history_of(cluster, 0).charged, 1U);
    EXPECT_EQ(history_of(cluster, 0).last.failure, FailureClass::RunnerCrash);
    EXPECT_EQ(history_of(cluster, 0).last.signal, 11);
    for (const std::uint32_t beside : {1U, 2U}) {
      EXPECT_EQ(history_of(cluster, beside).charged, 0U);
      EXPECT_EQ(history_of(cluster, beside).failures, 0U);
      EXPECT_EQ(history_of(cluster, beside).lost_workers, 0U);
    }
  }

  SupervisorHarness cluster;
};

TEST_F(CrashesTest, TheNextLifeTellsBeforeTheLossIsNoticed) {
  begin();
  cluster.join(after(crash_of(1, 0)));
  EXPECT_EQ(cluster.alerts().size(), 1U);
  EXPECT_EQ(cluster.core().counters().workers_lost, 1U);
  EXPECT_EQ(cluster.assigned(), (Lines{"1#2 to w2", "2#2 to w2"})) << "the blamed one waits like any that failed";
  expect_only_the_first_is_charged();
  cluster.tick_after(kBackoffMax);
  EXPECT_EQ(cluster.assigned(), Lines{"0#2 to w2"});
  cluster.ignore();
}

TEST_F(CrashesTest, WhatCrashesAlwaysHasFailedAfterItsAttemptsAndAlone) {
  begin();
  for (std::uint16_t attempt = 1; attempt <= 3; ++attempt) {
    cluster.join(after(crash_of(attempt, 0, attempt)));
    cluster.tick_after(kBackoffMax);
  }
  ASSERT_EQ(cluster.state(), JobState::Running);
  EXPECT_EQ(cluster.phase(0), SubtaskPhase::Failed);
  EXPECT_EQ(history_of(cluster, 0).charged, 3U);
  EXPECT_EQ(history_of(cluster, 1).lost_workers, 0U);
  cluster.ignore();
}

TEST_F(CrashesTest, ALossThatWasChargedToAllIsPutRight) {
  begin();
  cluster.join({.slots = 1});
  cluster.lose(1);
  EXPECT_EQ(history_of(cluster, 1).lost_workers, 1U);
  PENSTOCK_EXPECT_COVERAGE_MARK("a crash was reported after its worker was lost", cluster.join(after(crash_of(1, 0))));
  expect_only_the_first_is_charged();
  cluster.join(after(crash_of(1, 0)));
  EXPECT_EQ(history_of(cluster, 0).charged, 1U) << "said twice";
  cluster.ignore();
}

TEST_F(CrashesTest, ALateBlameIsTheLastOfTheAttemptsThatItMayHave) {
  begin();
  for (std::uint16_t attempt = 1; attempt <= 2; ++attempt) {
    cluster.join(after(crash_of(attempt, 0, attempt)));
    cluster.tick_after(kBackoffMax);
  }
  cluster.lose(3);
  EXPECT_EQ(cluster.phase(0), SubtaskPhase::Placeable) << "no worker is there";
  cluster.join(after(crash_of(3, 0, 3)));
  EXPECT_EQ(cluster.phase(0), SubtaskPhase::Failed);
  cluster.ignore();
}

TEST_F(CrashesTest, AStaleAttemptIsNotCharged) {
  begin();
  cluster.join(after(crash_of(1, 0, 7)));
  EXPECT_EQ(history_of(cluster, 0).charged, 0U);
  EXPECT_EQ(history_of(cluster, 0).lost_workers, 0U) << "nor is anybody else: it was an operator all the same";
  cluster.ignore();
}

TEST_F(CrashesTest, ALifeThatNobodyRemembersBlamesNobody) {
  begin();
  PENSTOCK_EXPECT_COVERAGE_MARK("a crash of an unknown incarnation", cluster.join(after(crash_of(9, 0))));
  EXPECT_EQ(history_of(cluster, 0).charged, 0U);
  EXPECT_EQ(cluster.core().workers().alive_workers(), 2U);
  cluster.ignore();
}

TEST_F(CrashesTest, WhatIsNotInTheJobIsPassedOver) {
  begin();
  OperatorCrash wrong = crash_of(1, 4'000'000'000);
  cluster.join(after(wrong));
  wrong = crash_of(2, 0);
  wrong.subtask.job = JobId{77};
  cluster.join(after(wrong));
  EXPECT_EQ(history_of(cluster, 0).charged, 0U);
  cluster.ignore();
}

TEST(Crashes, OfMoreLostLivesThanAreRememberedNobodyIsBlamed) {
  SupervisorHarness cluster{SupervisorConfig{.lost_lives_max = 1}};
  cluster.join({.slots = 1});
  cluster.join({.slots = 1});
  cluster.submit(GraphBuilder{}.sources(2).build());
  ASSERT_EQ(cluster.assigned().size(), 2U);
  cluster.lose(1);
  cluster.lose(2);
  cluster.join(after(crash_of(1, 0)));
  EXPECT_EQ(history_of(cluster, 0).charged, 0U) << "the first was forgotten for the second";
  cluster.join(after(crash_of(2, 1)));
  EXPECT_EQ(history_of(cluster, 1).charged, 1U);
  cluster.ignore();
}

TEST_F(CrashesTest, AProcessThatWasDrainedStaysSoWhenItBeginsAgain) {
  begin();
  ASSERT_TRUE(cluster.ask("drain", {"worker-1"}).has_value());
  cluster.take<Drain>();
  cluster.join(after(crash_of(1, 0)));
  EXPECT_TRUE(cluster.core().workers()[cluster.core().workers().find("worker-2")].draining);
  EXPECT_EQ(cluster.take<Drain>().size(), 1U);
  EXPECT_EQ(cluster.assigned(), Lines{});
  cluster.ignore();
}

TEST_F(CrashesTest, AProcessThatWasDrainedAndHeldNothingStaysSoAlsoIfItsLossIsKnownFirst) {
  cluster.join({.slots = 1});
  ASSERT_TRUE(cluster.ask("drain", {"worker-1"}).has_value());
  cluster.lose(1);
  cluster.take<Drain>();
  cluster.join(after(crash_of(1, 0)));
  EXPECT_TRUE(cluster.core().workers()[cluster.core().workers().find("worker-2")].draining);
  EXPECT_EQ(cluster.take<Drain>().size(), 1U);
  cluster.ignore();
}

/// A worker that no life of the supervisor has seen.
void join_anew(SupervisorHarness& cluster, std::uint32_t number, const OperatorCrash& crash) {
  Register fresh;
  fresh.name = "fresh-" + std::to_string(number);
  fresh.bands.resize(1);
  fresh.bands[0].capacity.slots = kOneSlot;
  fresh.bands[0].capacity.memory = kGiB;
  fresh.crash = crash;
  cluster.handle(supervisor_event::WorkerJoined{WorkerId{number}, Incarnation{500 + number}, fresh});
}

// Faults F05 and F25 together.
TEST(Crashes, ACrashWhileTheSupervisorWasAwayIsChargedToItsSubtask) {
  JournalHarness cluster;
  cluster->join({.slots = 2});
  cluster->submit(GraphBuilder{}.sources(2).build());
  cluster.write_all();
  ASSERT_EQ(cluster->assigned().size(), 2U);
  cluster.restart_for_claims();
  ASSERT_TRUE(cluster->core().reclaiming());
  PENSTOCK_EXPECT_COVERAGE_MARK("a crash happened while the supervisor was away",
                                join_anew(cluster.life(), 20, crash_of(1, 1)));
  EXPECT_FALSE(cluster->core().reclaiming()) << "there is nobody to wait for";
  EXPECT_EQ(history_of(cluster.life(), 1).charged, 1U);
  EXPECT_EQ(history_of(cluster.life(), 0).failures, 0U);
  cluster.write_all();
  cluster.restart();
  EXPECT_EQ(history_of(cluster.life(), 1).charged, 1U) << "it is written";
  join_anew(cluster.life(), 21, crash_of(1, 1));
  EXPECT_EQ(history_of(cluster.life(), 1).charged, 1U) << "said again to the next life";
  cluster->ignore();
}

}  // namespace
}  // namespace penstock::supervisor
