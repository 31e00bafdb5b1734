// SupervisorCore: where a subtask goes (spec worker 10). One case for each term and rule.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using GB = GraphBuilder;

/// Tentative bands are chosen as early as all predecessors are assigned, long before sizes are known. A test about
/// sizes holds one predecessor back: the gate needs a worker that joins last.
constexpr std::uint32_t kGateTemplate = 7;
GraphBuilder with_gate(const std::string& worker) {
  GraphBuilder graph;
  graph.template_at(kGateTemplate).required = {worker, ""};
  return graph;
}

/// Placement decided by bytes alone, on a slow link.
SupervisorConfig slow_link() {
  SupervisorConfig config;
  config.link_latency = Duration{0};
  config.link_bytes_per_second = 1024;
  return config;
}

bool contains(const Lines& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

TEST(Placement, SourcesAreContiguousRegionsSizedBySlots) {
  SupervisorHarness cluster;
  cluster.join({.slots = 1});
  cluster.join({.slots = 3});
  cluster.submit(GraphBuilder{}.sources(8).build());
  EXPECT_EQ(cluster.assigned(),
            (Lines{"0 to w1", "1 to w1", "2 to w2", "3 to w2", "4 to w2", "5 to w2", "6 to w2", "7 to w2"}));
}

TEST(Placement, AChainStaysOnItsBand) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join();
  cluster.submit(GraphBuilder{}.add().add().add({0}).add({1}).add({2}).add({3}).build());
  EXPECT_EQ(cluster.assigned(),
            (Lines{"0 to w1", "2 to w1, cached", "4 to w1, cached", "1 to w2", "3 to w2, cached", "5 to w2, cached"}));
}

// Reference case: inputs of 200 B on A and 400 B on C, both ready; 400 B on one that is not.
TEST(Placement, GoesToTheBandWithMostOfItsInputs) {
  SupervisorHarness cluster{slow_link()};
  for (int i = 0; i < 3; ++i) cluster.join();
  cluster.submit(with_gate("worker-4").sources(3).add({}, kGateTemplate).add({0, 1, 2, GB::order(3)}).build(),
                 {.wait_for_resources = true});
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w2", "2 to w3"}));
  cluster.succeed(1, 0, {{0, 200}});
  cluster.succeed(2, 1, {{0, 400}});
  cluster.succeed(3, 2, {{0, 400}});
  ASSERT_TRUE(cluster.ask("drain", {"worker-2"}).has_value());
  cluster.take<Drain>();
  cluster.join();
  EXPECT_EQ(cluster.assigned(), (Lines{"3 to w4", "4 to w3, cached"}));
  EXPECT_EQ(cluster.take<PeerAddressBatch>().size(), 1U);
}

// Reference case: a broadcaster's 200 B with very many readers weigh nothing.
TEST(Placement, ABroadcastInputWeighsNothing) {
  for (const std::uint32_t readers_min : {4U, 100U}) {
    SupervisorConfig config = slow_link();
    config.broadcast_readers_min = readers_min;
    SupervisorHarness cluster{config};
    for (int i = 0; i < 2; ++i) cluster.join();
    // 0 has four readers and more bytes; 1 has one.
    cluster.submit(with_gate("worker-3")
                       .sources(2)
                       .add({}, kGateTemplate)
                       .add({0, 1, GB::order(2)})
                       .add({0})
                       .add({0})
                       .add({0})
                       .build(),
                   {.wait_for_resources = true});
    cluster.assigned();
    cluster.succeed(1, 0, {{0, 2000}});
    cluster.succeed(2, 1, {{0, 200}});
    cluster.ignore();
    cluster.join();
    EXPECT_TRUE(contains(cluster.assigned(), readers_min == 4 ? "3 to w2, cached" : "3 to w1, cached"));
    cluster.ignore();
  }
}

TEST(Placement, OrderEdgesWeighNothing) {
  SupervisorHarness cluster{slow_link()};
  cluster.join();
  cluster.join();
  cluster.submit(with_gate("worker-3").sources(2).add({}, kGateTemplate).add({GB::order(0), 1, GB::order(2)}).build(),
                 {.keep = Keep::Nothing, .wait_for_resources = true});
  cluster.assigned();
  cluster.succeed(1, 0, {{0, 1 << 30}});
  EXPECT_EQ(cluster.drops(), Lines{"0 at w1"}) << "nobody reads it";
  cluster.succeed(2, 1, {{0, 10}});
  cluster.join();
  EXPECT_TRUE(contains(cluster.assigned(), "3 to w2, cached"));
}

TEST(Placement, AReplicaCountsAsHere) {
  SupervisorHarness cluster{slow_link()};
  cluster.join();
  cluster.join();
  cluster.submit(with_gate("worker-3").sources(2).add({}, kGateTemplate).add({0, 1, GB::order(2)}).build(),
                 {.keep = Keep::Nothing, .wait_for_resources = true});
  cluster.assigned();
  cluster.succeed(1, 0, {{0, 1 << 30}});
  cluster.report_replica(2, 0);
  cluster.succeed(2, 1, {{0, 10}});
  cluster.join();
  const auto batches = cluster.take<AssignBatch>();
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[1].first, WorkerId{2});
  ASSERT_EQ(batches[1].second.inputs.size(), 3U);
  EXPECT_EQ(batches[1].second.inputs[0].place, InputPlace::Here);
}

// Reference case: inputs in host memory of a host, and a request for a GPU.
TEST(Placement, AGpuRequestGoesToAGpuOfTheHostWithItsInputs) {
  for (const std::uint32_t holder : {1U, 2U, 3U}) {
    SupervisorHarness cluster;
    for (int i = 0; i < 3; ++i) cluster.join({.gpus = 1});
    GraphBuilder graph = with_gate("worker-4");
    graph.template_at(1).request.gpu = MilliGpu{500};
    cluster.submit(graph.sources(3).add({}, kGateTemplate).add({holder - 1, GB::order(3)}, 1).build(),
                   {.wait_for_resources = true});
    cluster.assigned();
    cluster.succeed(holder, holder - 1, {{0, 1 << 30}});
    cluster.join();
    const auto batches = cluster.take<AssignBatch>();
    ASSERT_EQ(batches.size(), 2U);
    EXPECT_EQ(batches[1].first, WorkerId{holder});
    EXPECT_EQ(batches[1].second.assignments[0].band, BandIndex{1});
    cluster.ignore();
  }
}

TEST(Placement, CpuWorkNeverTakesAGpuBand) {
  SupervisorHarness cluster;
  cluster.join({.bands = 1, .gpus = 4});
  cluster.submit(GraphBuilder{}.sources(10).build());
  for (const auto& [worker, batch] : cluster.take<AssignBatch>())
    for (const Assignment& assignment : batch.assignments) EXPECT_EQ(assignment.band, BandIndex{0});
}

// The first one had them all, and the other one none.
TEST(Assigner, ALikingForABandThatEachWorkerHasUsesAllOfThem) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.join({.slots = 2});
  cluster.join({.slots = 2});
  GraphBuilder graph;
  graph.template_at(0).preferred = {"", "numa-0"};
  cluster.submit(graph.sources(40).build());
  const Lines lines = cluster.assigned();
  const auto on = [&](const std::string& worker) {
    return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) { return line.ends_with(worker); });
  };
  EXPECT_EQ(on("w1"), 4);
  EXPECT_EQ(on("w2"), 4);
  const WorkerTable& workers = cluster.core().workers();
  EXPECT_EQ(workers[BandSlot{0}].ready_here + workers[BandSlot{1}].ready_here, 32U);
  EXPECT_NEAR(workers[BandSlot{0}].ready_here, 16, 2);
}

// Reference case: the expected band is not ready. Required: it waits; preferred: any other.
TEST(Placement, ARequiredBandIsWaitedForAndAPreferredOneIsNot) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join();
  ASSERT_TRUE(cluster.ask("drain", {"worker-2"}).has_value());
  cluster.take<Drain>();
  GraphBuilder graph;
  graph.template_at(0).required = {"worker-2", ""};
  graph.template_at(1).preferred = {"worker-2", "numa-0"};
  cluster.submit(graph.add().add({}, 1).build());
  EXPECT_EQ(cluster.assigned(), Lines{"1 to w1"});
  ASSERT_TRUE(cluster.ask("undrain", {"worker-2"}).has_value());
  cluster.take<Drain>();
  EXPECT_EQ(cluster.assigned(), Lines{"0 to w2"});
}

TEST(Placement, APreferredBandIsTakenWhenItIsThere) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join({.bands = 2});
  GraphBuilder graph;
  graph.template_at(0).preferred = {"worker-2", "numa-1"};
  cluster.submit(graph.sources(4).build());
  for (const auto& [worker, batch] : cluster.take<AssignBatch>()) {
    EXPECT_EQ(worker, WorkerId{2});
    for (const Assignment& assignment : batch.assignments) EXPECT_EQ(assignment.band, BandIndex{1});
  }
}

TEST(Placement, APreferredBandBeatsTheBandOfThePredecessors) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join();
  GraphBuilder graph;
  graph.template_at(1).preferred = {"worker-2", ""};
  cluster.submit(graph.add().add({0}, 1).build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w2", "1 to w2, cached"}));
  graph.template_at(0).required = {"worker-1", ""};
  cluster.submit(graph.build());
  EXPECT_EQ(cluster.assigned(), (Lines{"2:0 to w1", "2:1 to w2, cached"}));
}

TEST(Placement, ABandMayBeRequiredByTheNumberOfItsWorker) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).required = {"w2", "numa-0"};
  cluster.submit(graph.add().build());
  EXPECT_EQ(cluster.assigned(), Lines{"0 to w2"});
}

TEST(Placement, AnOperatorRunsWhereItIsOffered) {
  SupervisorHarness cluster;
  cluster.join({.operators = {"noop"}});
  cluster.join({.operators = {"noop", "burn"}});
  cluster.submit(GraphBuilder{}.sources(4).build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w2", "1 to w2", "2 to w2", "3 to w2"}));
}

TEST(Placement, CustomResourcesMustBeThere) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join({.named = {{"licence", 2}}});
  GraphBuilder graph;
  graph.template_at(0).request.named = {{"licence", 1}};
  cluster.submit(graph.sources(3).build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w2", "1 to w2", "2 to w2"}));
}

TEST(Placement, ABandWhoseMemoryIsNearlyFullIsAvoided) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join();
  cluster.submit(with_gate("worker-3").sources(2).add({}, kGateTemplate).add({0, 1, GB::order(2)}).build(),
                 {.wait_for_resources = true});
  cluster.assigned();
  BandLoad full;
  full.band = BandIndex{0};
  full.quota_used = kMiB * 1000;
  cluster.succeed(1, 0, {{0, 20}});
  cluster.succeed(2, 1, {{0, 10}});
  cluster.report_load(1, full);
  cluster.join();
  EXPECT_TRUE(contains(cluster.assigned(), "3 to w2, cached"));
  cluster.ignore();
}

// 400 queued years do not fit 63 bits of nanoseconds: the cost wrapped below zero, and the fullest band was the best.
TEST(Placement, AbsurdDurationsDoNotWrapTheCost) {
  SupervisorConfig config;
  config.lookahead_subtasks_initial = 1000;
  SupervisorHarness cluster{config};
  cluster.join();
  cluster.join();
  GraphBuilder filler;
  filler.template_at(0).required = {"worker-1", ""};
  cluster.submit(filler.sources(400).build());
  EXPECT_EQ(cluster.assigned().size(), 400U);
  GraphBuilder slow;
  slow.template_at(1).required = {"worker-1", ""};
  slow.template_at(2).required = {"worker-2", ""};
  cluster.submit(slow.add({}, 1).add({}, 2).add({0, 1}).expected(std::chrono::hours{24 * 366}).build());
  EXPECT_EQ(cluster.assigned(), (Lines{"2:0 to w1", "2:1 to w2", "2:2 to w2, cached"}));
}

TEST(Placement, AbsurdSizesDoNotWrapTheCost) {
  SupervisorHarness cluster{slow_link()};
  cluster.join();
  cluster.join();
  cluster.submit(with_gate("worker-3").sources(2).add({}, kGateTemplate).add({0, 1, GB::order(2)}).build(),
                 {.wait_for_resources = true});
  cluster.assigned();
  cluster.succeed(1, 0, {{0, std::int64_t{1} << 62}});
  cluster.succeed(2, 1, {{0, 10}});
  cluster.join();
  EXPECT_TRUE(contains(cluster.assigned(), "3 to w1, cached"));
  cluster.ignore();
}

TEST(Placement, DrainingAndLostBandsAreNeverChosen) {
  SupervisorHarness cluster;
  for (int i = 0; i < 3; ++i) cluster.join();
  ASSERT_TRUE(cluster.ask("drain", {"worker-1"}).has_value());
  cluster.take<Drain>();
  cluster.lose(2);
  cluster.alerts();
  cluster.submit(GraphBuilder{}.sources(6).fan_out(6).build());
  for (const auto& [worker, batch] : cluster.take<AssignBatch>()) EXPECT_EQ(worker, WorkerId{3});
}

TEST(Placement, ABandThatWasTriedIsTriedAgainOnlyWhenNoOtherIsLeft) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  EXPECT_EQ(cluster.assigned(), Lines{"0 to w2"});
  cluster.fail(2, 0, FailureClass::Exhausted);
  cluster.tick_after(std::chrono::seconds{1});
  EXPECT_EQ(cluster.assigned(), Lines{"0#2 to w1"});
  cluster.fail(1, 0, FailureClass::Exhausted);
  cluster.tick_after(std::chrono::seconds{1});
  const Lines third = cluster.assigned();
  ASSERT_EQ(third.size(), 1U);
  EXPECT_TRUE(third[0].starts_with("0#3 to w"));
}

}  // namespace
}  // namespace penstock::supervisor
