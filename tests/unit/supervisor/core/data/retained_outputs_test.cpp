// An output that all have read stays where it is while there is room: a lost reader would need it to run again.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using Lines = std::vector<std::string>;

constexpr std::int64_t kSome = 100;

WorkerSpec with_store() {
  WorkerSpec spec;
  spec.store_bytes_max = Bytes{1000};
  return spec;
}

/// The store of `w1` by its next report.
void report_used(SupervisorHarness& cluster, std::int64_t bytes) {
  BandLoad load;
  load.band = BandIndex{0};
  load.store_used = Bytes{bytes};
  cluster.report_load(1, load);
}

/// Subtask 0 on w1, read by 1 on w2, read by 2.
Graph two_workers() {
  GraphBuilder graph;
  graph.template_at(0).required = {"worker-1", ""};
  graph.template_at(1).required = {"worker-2", ""};
  return graph.add().add({0}, 1).add({1}, 1).build();
}

/// Runs until the outputs of subtask 0 are retained.
void run_two(SupervisorHarness& cluster) {
  cluster.join(with_store());
  cluster.join(with_store());
  cluster.submit(two_workers());
  cluster.succeed(1, 0, {{0, kSome}});
  cluster.succeed(2, 1, {{0, kSome}});
}

/// `readers` pairs on one worker, of which all first ones are spare, and one wanted subtask that never runs.
void run_pairs(SupervisorHarness& cluster, std::uint32_t count) {
  cluster.join(with_store());
  GraphBuilder graph;
  for (std::uint32_t i = 0; i < count; ++i) graph.add();
  for (std::uint32_t i = 0; i < count; ++i) graph.add({i});
  cluster.submit(graph.build());
  for (std::uint32_t i = 0; i < count; ++i) cluster.succeed(1, i, {{0, kSome}});
  cluster.ignore();
}

TEST(RetainedOutputs, ALostReaderRunsAgainWithoutWhatItHadRead) {
  SupervisorHarness cluster;
  PENSTOCK_EXPECT_COVERAGE_MARK("outputs were retained", run_two(cluster));
  EXPECT_EQ(cluster.drops(), Lines{});
  cluster.lose(2);
  EXPECT_EQ(cluster.core().counters().recomputed, 1U);
  EXPECT_EQ(cluster.phase(0), SubtaskPhase::Succeeded);
  EXPECT_EQ(cluster.phase(1), SubtaskPhase::Placeable);
  cluster.ignore();
}

// Only the holder's memory is looked after.
TEST(RetainedOutputs, CopiesOfReadersAreDropped) {
  SupervisorHarness cluster;
  cluster.join(with_store());
  cluster.join(with_store());
  cluster.submit(two_workers());
  cluster.succeed(1, 0, {{0, kSome}});
  cluster.report_replica(2, 0);
  cluster.succeed(2, 1, {{0, kSome}});
  EXPECT_EQ(cluster.drops(), Lines{"0 at w2"});
  cluster.report_replica(2, 0);
  EXPECT_EQ(cluster.drops(), Lines{"0 at w2"}) << "one that comes late, too";
  EXPECT_FALSE(cluster.job().data.gone(0));
  cluster.ignore();
}

TEST(RetainedOutputs, WithoutRoomALostReaderTakesWhatItHadReadWithIt) {
  for (const SupervisorConfig& config :
       {SupervisorConfig{.spare_data_percent = 0}, SupervisorConfig{.spare_data_max = 0}}) {
    SupervisorHarness cluster{config};
    run_two(cluster);
    EXPECT_EQ(cluster.drops(), Lines{"0 at w1"});
    cluster.lose(2);
    EXPECT_EQ(cluster.core().counters().recomputed, 2U);
    cluster.ignore();
  }
}

TEST(RetainedOutputs, WhatIsRetainedWhenItIsLostIsNotMadeAgain) {
  SupervisorHarness cluster;
  run_two(cluster);
  PENSTOCK_EXPECT_COVERAGE_MARK("retained outputs were lost", cluster.lose(1));
  EXPECT_EQ(cluster.core().counters().recomputed, 0U);
  EXPECT_TRUE(cluster.job().data.gone(0));
  cluster.ignore();
}

TEST(RetainedOutputs, AStoreThatFillsUpIsGivenTheOlderHalf) {
  SupervisorHarness cluster{{.spare_data_percent = 40}};
  run_pairs(cluster, 5);
  for (const std::uint32_t reader : {5U, 6U, 7U}) cluster.succeed(1, reader);
  report_used(cluster, 399);
  EXPECT_EQ(cluster.drops(), Lines{});
  PENSTOCK_EXPECT_COVERAGE_MARK("retained outputs made room", report_used(cluster, 400));
  EXPECT_EQ(cluster.drops(), (Lines{"0 at w1", "1 at w1"}));
  cluster.succeed(1, 8);
  EXPECT_EQ(cluster.drops(), Lines{"3 at w1"}) << "there is no room for what is read now, either";
  report_used(cluster, 400);
  EXPECT_EQ(cluster.drops(), Lines{"2 at w1"});
  cluster.ignore();
}

TEST(RetainedOutputs, BeyondTheirNumberTheOlderHalfGoes) {
  SupervisorHarness cluster{{.spare_data_max = 2}};
  run_pairs(cluster, 4);
  for (const std::uint32_t reader : {4U, 5U}) cluster.succeed(1, reader);
  EXPECT_EQ(cluster.drops(), Lines{});
  cluster.succeed(1, 6);
  EXPECT_EQ(cluster.drops(), Lines{"0 at w1"});
  cluster.ignore();
}

TEST(RetainedOutputs, WhatIsNeededOnceMoreIsRetainedNoLonger) {
  SupervisorHarness cluster{{.spare_data_max = 1}};
  cluster.join(with_store());
  cluster.join(with_store());
  GraphBuilder graph;
  graph.template_at(0).required = {"worker-1", ""};
  graph.template_at(1).required = {"worker-2", ""};
  // 0 is read by 2, which is lost; then 1 is read by 3, and there is no room for both.
  cluster.submit(graph.add().add().add({0}, 1).add({1}).add({2}, 1).build(), {.wait_for_resources = true});
  for (const std::uint32_t source : {0U, 1U}) cluster.succeed(1, source, {{0, kSome}});
  cluster.succeed(2, 2, {{0, kSome}});
  cluster.lose(2);
  cluster.ignore();
  cluster.succeed(1, 3);
  EXPECT_EQ(cluster.drops(), Lines{}) << "0 is to be read again, and 1 took its place";
  EXPECT_FALSE(cluster.job().data.gone(0));
  cluster.ignore();
}

TEST(RetainedOutputs, AWorkerThatDrainsKeepsNone) {
  SupervisorHarness cluster;
  run_pairs(cluster, 2);
  cluster.succeed(1, 2);
  ASSERT_TRUE(cluster.ask("drain", {"w1"}));
  EXPECT_EQ(cluster.drops(), Lines{"0 at w1"});
  cluster.succeed(1, 3);
  EXPECT_EQ(cluster.drops(), Lines{"1 at w1"});
  cluster.ignore();
}

TEST(RetainedOutputs, AJobThatHasEndedLeavesWhatItsClientWantsAlone) {
  SupervisorHarness cluster;
  cluster.join(with_store());
  cluster.submit(GraphBuilder{}.chain(2).wanted({1}).build(), {.keep = Keep::Wanted});
  for (const std::uint32_t subtask : {0U, 1U}) cluster.succeed(1, subtask, {{0, kSome}});
  EXPECT_EQ(cluster.state(), JobState::Succeeded);
  EXPECT_EQ(cluster.drops(), Lines{"0 at w1"});
  cluster.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
