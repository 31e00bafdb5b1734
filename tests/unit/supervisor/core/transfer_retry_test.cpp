// SupervisorCore: inputs with a holder that lives and cannot be reached from the worker that wants them.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

FailureDetail unreachable(std::uint32_t producer) {
  FailureDetail detail;
  detail.failure = FailureClass::Transport;
  detail.lost_producer = SubtaskIndex{producer};
  detail.message = "input could not be fetched";
  return detail;
}

/// Subtask 0 runs on one worker of two; subtask 1 has to run on the other one and reads it.
struct TwoWorkers {
  explicit TwoWorkers(const SupervisorConfig& config = {}, bool producer_anywhere = false) : cluster(config) {
    cluster.join(WorkerSpec{.operators = {"make", "both"}});
    cluster.join(WorkerSpec{.operators = {"read", "both"}});
    GraphBuilder graph;
    graph.template_at(0).program = producer_anywhere ? "both" : "make";
    graph.template_at(1).program = "read";
    cluster.submit(graph.add({}, 0).add({0}, 1).build());
    maker = cluster.assigned() == Lines{"0 to w1", "1 to w2, cached"} ? 1 : 2;
    cluster.succeed(maker, 0, {{0, 100}});
    cluster.ignore();
  }

  /// The reader's attempt fails, and the next one is given out at the next deadline at which something is.
  Duration fail_and_wait() {
    cluster.fail(2, 1, unreachable(0));
    const Instant failed = cluster.now();
    for (int i = 0; i < 20 && cluster.phase(1) == SubtaskPhase::Backoff; ++i) cluster.tick_at_deadline();
    return cluster.now() - failed;
  }

  SupervisorHarness cluster;
  std::uint32_t maker = 0;
};

TEST(TransferRetry, BacksOffAndIsNeitherChargedNorCounted) {
  SupervisorConfig config;
  config.attempts_max = 2;
  config.failures_max = 3;
  config.transfer_patience = std::chrono::minutes{2};
  TwoWorkers two{config};
  const Instant begin = two.cluster.now();
  int attempts = 0;
  while (two.cluster.now() - begin < seconds{60}) {
    const Duration waited = two.fail_and_wait();
    EXPECT_LE(waited, seconds{5});
    EXPECT_GE(waited, attempts++ >= 8 ? milliseconds{2500} : milliseconds{50});
    ASSERT_EQ(two.cluster.state(), JobState::Running);
    two.cluster.ignore();
  }
  EXPECT_LT(attempts, 40);
  two.cluster.succeed(2, 1);
  EXPECT_EQ(two.cluster.state(), JobState::Succeeded);
  two.cluster.ignore();
}

TEST(TransferRetry, SubtasksThatFailTogetherDoNotComeBackTogether) {
  SupervisorHarness cluster;
  cluster.join(WorkerSpec{.slots = 64});
  GraphBuilder graph;
  for (int i = 0; i < 32; ++i) graph.add();
  cluster.submit(graph.build());
  cluster.assigned();
  std::vector<Instant> back;
  for (int round = 0; round < 4; ++round) {
    for (std::uint32_t i = 0; i < 32; ++i) cluster.fail(1, i, unreachable(0));
    back.assign(32, kNever);
    for (int n = 0; n < 200 && *std::max_element(back.begin(), back.end()) == kNever; ++n) {
      for (std::uint32_t i = 0; i < 32; ++i)
        if (back[i] == kNever && cluster.phase(i) == SubtaskPhase::Assigned) back[i] = cluster.now();
      cluster.tick_at_deadline();
    }
    cluster.ignore();
  }
  std::sort(back.begin(), back.end());
  EXPECT_GT(std::unique(back.begin(), back.end()) - back.begin(), 16);
  cluster.ignore();
}

TEST(TransferRetry, AfterAFewAttemptsOtherWorkersAreTriedAsWell) {
  SupervisorConfig config;
  config.transfers_tried_max = 3;
  SupervisorHarness cluster{config};
  cluster.join();
  cluster.join();
  GraphBuilder graph;
  cluster.submit(graph.add().add({0}).add({0}).build());
  const Lines first = cluster.assigned();
  const std::uint32_t maker = first.at(0) == "0 to w1" ? 1 : 2;
  cluster.succeed(maker, 0, {{0, 100}});
  cluster.assigned();
  // Whichever of the two readers is on the other worker, if any; else there is nothing to show.
  const std::uint32_t other = 3 - maker;
  std::uint32_t reader = 0;
  for (const std::uint32_t i : {1U, 2U})
    if (cluster.job().hot[i].band == cluster.job().hot[0].band) reader = i;
  ASSERT_NE(reader, 0U);
  for (int i = 0; i < 3; ++i) {
    cluster.fail(maker, reader, unreachable(0));
    for (int n = 0; n < 20 && cluster.phase(reader) == SubtaskPhase::Backoff; ++n) cluster.tick_at_deadline();
    const Lines next = cluster.assigned();
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0].ends_with("to w" + std::to_string(i < 2 ? maker : other)), true) << next[0];
  }
  cluster.ignore();
}

TEST(TransferRetry, WhatStaysUnreachableIsMadeAgainOnAnotherWorkerThanItsHolder) {
  SupervisorConfig config;
  config.transfer_patience = seconds{20};
  TwoWorkers two{config, true};
  const Instant begin = two.cluster.now();
  const std::uint32_t other = 3 - two.maker;
  PENSTOCK_EXPECT_COVERAGE_MARK("an unreachable input was made again elsewhere", {
    while (two.cluster.phase(0) == SubtaskPhase::Succeeded && two.cluster.now() - begin < seconds{60})
      two.fail_and_wait();
  });
  EXPECT_GE(two.cluster.now() - begin, seconds{20});
  EXPECT_EQ(two.cluster.drops(), Lines{"0 at w" + std::to_string(two.maker) + ", lost"});
  const Lines again = two.cluster.assigned();
  EXPECT_NE(std::find(again.begin(), again.end(), "0#2 to w" + std::to_string(other)), again.end());
  EXPECT_EQ(two.cluster.job().extras.histories->find(SubtaskIndex{1})->failures, 1U);
  two.cluster.ignore();
}

TEST(TransferRetry, WhatOnlyItsHolderCanMakeStaysAndIsTriedOn) {
  SupervisorConfig config;
  config.transfer_patience = seconds{20};
  config.failures_max = 3;
  TwoWorkers two{config};
  const Instant begin = two.cluster.now();
  while (two.cluster.state() == JobState::Running) {
    ASSERT_LT(two.cluster.now() - begin, std::chrono::minutes{2});
    EXPECT_EQ(two.cluster.phase(0), SubtaskPhase::Succeeded);
    two.cluster.fail(2, 1, unreachable(0));
    for (int i = 0; i < 20 && two.cluster.state() == JobState::Running; ++i) {
      if (two.cluster.phase(1) != SubtaskPhase::Backoff) break;
      two.cluster.tick_at_deadline();
    }
    two.cluster.ignore();
  }
  EXPECT_GE(two.cluster.now() - begin, seconds{60}) << "each time of patience counts as one failure";
  two.cluster.ignore();
}

TEST(TransferRetry, ExplainNamesTheInputThatCannotBeGot) {
  TwoWorkers two;
  two.cluster.fail(2, 1, unreachable(0));
  const Result<Value> told = two.cluster.ask("explain", {"job-1", "1"});
  ASSERT_TRUE(told);
  const std::string* reason = (*told)["reason"].text();
  ASSERT_NE(reason, nullptr);
  EXPECT_TRUE(reason->starts_with("input could not be fetched, 1 times in a row; it is tried again in ")) << *reason;
  two.cluster.ignore();
}

TEST(TransferRetry, AReplicaIsTriedInTurn) {
  SupervisorHarness cluster;
  cluster.join(WorkerSpec{.operators = {"make"}});
  cluster.join(WorkerSpec{.operators = {"read"}});
  cluster.join(WorkerSpec{.operators = {"other"}});
  GraphBuilder graph;
  graph.template_at(0).program = "make";
  graph.template_at(1).program = "read";
  cluster.submit(graph.add({}, 0).add({0}, 1).build());
  cluster.assigned();
  cluster.succeed(1, 0, {{0, 100}});
  cluster.report_replica(3, 0);
  cluster.ignore();
  std::vector<WorkerId> asked;
  for (int i = 0; i < 3; ++i) {
    cluster.fail(2, 1, unreachable(0));
    for (int n = 0; n < 20 && cluster.phase(1) == SubtaskPhase::Backoff; ++n) cluster.tick_at_deadline();
    for (const auto& [worker, batch] : cluster.take<AssignBatch>())
      for (const AssignedInput& input : batch.inputs) asked.push_back(input.location);
  }
  EXPECT_EQ(asked, (std::vector<WorkerId>{WorkerId{3}, WorkerId{1}, WorkerId{3}}));
  cluster.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
