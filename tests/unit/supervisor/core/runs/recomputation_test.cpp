// Copies of outputs on shared storage: they outlive their writers, and supervisors.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"
#include "tests/support/kept_copies.hpp"

namespace penstock::supervisor {
namespace {

using Texts = std::vector<std::string>;

/// Two in a row, the first of which has that wish.
Graph chain_with_checkpoint() {
  GraphBuilder graph;
  graph.template_at(0).checkpoint = true;
  return graph.add().add({0}).build();
}

WorkerSpec with_shared() {
  WorkerSpec spec;
  spec.shared_storage = true;
  return spec;
}
const WorkerSpec kWithShared = with_shared();

void checkpointed(SupervisorHarness& supervisor, std::uint32_t worker, std::uint32_t subtask) {
  ReportBatch batch;
  batch.number = 1000 + subtask;
  batch.replicas = {{{JobId{1}, SubtaskIndex{subtask}}, 0, true}};
  supervisor.worker_says(worker, batch);
}

/// One worker, which has made the first of two and put it on shared storage.
void make_one(SupervisorHarness& supervisor) {
  supervisor.join(kWithShared);
  supervisor.submit(chain_with_checkpoint());
  supervisor.succeed(1, 0, {{0, 100}});
  checkpointed(supervisor, 1, 0);
}

/// Two workers, the same; returns which of them has made it.
std::uint32_t make_one_of_two(SupervisorHarness& supervisor) {
  supervisor.join(kWithShared);
  supervisor.join(kWithShared);
  supervisor.submit(chain_with_checkpoint());
  const std::uint32_t holder = holder_of_first(supervisor);
  supervisor.succeed(holder, 0, {{0, 100}});
  checkpointed(supervisor, holder, 0);
  return holder;
}

TEST(Checkpoints, ACheckpointIsReadByAnotherWorkerWhenItsWriterIsLost) {
  SupervisorHarness supervisor;
  const std::uint32_t holder = make_one_of_two(supervisor);
  supervisor.ignore();
  PENSTOCK_EXPECT_COVERAGE_MARK("a checkpoint took the place of a lost output", supervisor.lose(holder));
  const auto orders = asked(supervisor);
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].to, WorkerId{3 - holder});
  EXPECT_EQ(orders[0].what.location, WorkerId::none());
  EXPECT_TRUE(orders[0].what.writer.valid());
  EXPECT_EQ(orders[0].what.bytes, 100);
  EXPECT_EQ(supervisor.phase(0), SubtaskPhase::Succeeded);
  EXPECT_EQ(supervisor.core().counters().recomputed, 0U);
  // The worker cannot read it after all: made again, as without.
  EXPECT_EQ(supervisor.assigned(), (Texts{"1#2 to w" + std::to_string(3 - holder)}));
  FailureDetail lost;
  lost.failure = FailureClass::InputLost;
  lost.lost_producer = SubtaskIndex{0};
  supervisor.fail(3 - holder, 1, lost);
  EXPECT_EQ(supervisor.core().counters().recomputed, 1U);
  EXPECT_EQ(supervisor.phase(0), SubtaskPhase::Assigned);
  supervisor.ignore();
}

TEST(Checkpoints, AWorkerWithoutSharedStorageStandsForNoCheckpoint) {
  SupervisorHarness supervisor;
  make_one(supervisor);
  supervisor.join();
  supervisor.lose(1);
  EXPECT_EQ(supervisor.core().counters().recomputed, 1U);
  supervisor.ignore();
}

TEST(Checkpoints, ACheckpointWaitsForAWorkerThatReadsIt) {
  SupervisorHarness supervisor;
  make_one(supervisor);
  PENSTOCK_EXPECT_COVERAGE_MARK("a checkpoint waits for a worker", supervisor.lose(1));
  supervisor.ignore();
  supervisor.join(kWithShared);
  EXPECT_EQ(asked(supervisor).size(), 1U);
  EXPECT_EQ(supervisor.core().counters().recomputed, 0U);
  supervisor.ignore();
}

TEST(Checkpoints, IfTheFirstWhoComesCannotReadACheckpointItIsMadeAgain) {
  SupervisorHarness supervisor;
  make_one(supervisor);
  supervisor.lose(1);
  supervisor.join();
  EXPECT_EQ(supervisor.core().counters().recomputed, 1U);
  supervisor.ignore();
}

/// The files that a worker was asked to take away since the last call.
std::vector<Incarnation> removed(SupervisorHarness& supervisor) {
  std::vector<Incarnation> found;
  for (const auto& [worker, order] : supervisor.take<RemoveCheckpoints>())
    found.insert(found.end(), order.writers.begin(), order.writers.end());
  return found;
}

TEST(Checkpoints, CheckpointsOfALostWorkerAreRemovedWhenNobodyNeedsThem) {
  SupervisorHarness supervisor;
  const std::uint32_t holder = make_one_of_two(supervisor);
  supervisor.lose(holder);
  EXPECT_EQ(removed(supervisor), std::vector<Incarnation>{}) << "the job needs one of them";
  supervisor.assigned();
  PENSTOCK_EXPECT_COVERAGE_MARK("checkpoints of a lost worker are removed", supervisor.succeed(3 - holder, 1, {}));
  EXPECT_EQ(removed(supervisor), std::vector<Incarnation>{Incarnation{100 + holder}});
  supervisor.ignore();
}

TEST(Checkpoints, CheckpointsThatNobodyCanRemoveWaitForAWorkerThatCan) {
  JournalHarness cluster{SupervisorConfig{.lost_writers_max = 2}};
  cluster->join(kWithShared);
  cluster->lose(1);
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  cluster->join();
  EXPECT_EQ(removed(cluster.life()), std::vector<Incarnation>{}) << "it has no shared storage";
  cluster->join(kWithShared);
  EXPECT_EQ(removed(cluster.life()), std::vector<Incarnation>{Incarnation{101}});
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  cluster->join(kWithShared);
  EXPECT_EQ(removed(cluster.life()), std::vector<Incarnation>{Incarnation{102}}) << "the other is gone";
  cluster->ignore();
}

TEST(Checkpoints, OnlySoManyLostWorkersAreRemembered) {
  JournalHarness cluster{SupervisorConfig{.lost_writers_max = 2}};
  for (std::uint32_t i = 1; i <= 3; ++i) {
    cluster->join(kWithShared);
    cluster->handle(supervisor_event::WorkerSuspected{WorkerId{i}, true});  // No worker could remove anything.
  }
  cluster->lose(1);
  cluster->lose(2);
  cluster.write_all();
  EXPECT_EQ(cluster.log().state().lost_writers.size(), 2U) << "as many as the limit";
  PENSTOCK_EXPECT_COVERAGE_MARK("checkpoints of a lost worker stay for ever", (cluster->lose(3), cluster.write_all()));
  EXPECT_EQ(cluster.log().state().lost_writers, (std::vector<Incarnation>{Incarnation{102}, Incarnation{103}}));
  cluster->ignore();
}

/// A job of two in a row, the first of which worker 1 has made and put on shared storage; all that is written.
void make_and_write(JournalHarness& cluster, Keep keep = Keep::Nothing) {
  cluster->join(kWithShared);
  cluster.write_all();
  JobSpec spec;
  spec.name = "one";
  spec.keep = keep;
  cluster->submit(chain_with_checkpoint(), std::move(spec));
  cluster.write_all();
  cluster->succeed(1, 0, {{0, 100}});
  checkpointed(cluster.life(), 1, 0);
  cluster.write_all();
}

// Fault F05, and its writer is gone as well.
TEST(Checkpoints, ARestartRemembersOneWhoseWriterIsGone) {
  JournalHarness cluster;
  make_and_write(cluster);
  cluster.restart();
  EXPECT_EQ(cluster->core().counters().recomputed, 0U) << "it waits for a worker";
  cluster->join(kWithShared);
  cluster.write_all();
  const auto orders = asked(cluster.life());
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].what.writer, Incarnation{101});
  EXPECT_EQ(orders[0].what.bytes, 100);
  EXPECT_EQ(cluster->assigned(), (Texts{"1 to w1"}));
  EXPECT_EQ(removed(cluster.life()), std::vector<Incarnation>{});
  cluster->succeed(1, 1);
  EXPECT_EQ(removed(cluster.life()), std::vector<Incarnation>{Incarnation{101}});
  EXPECT_EQ(cluster->core().counters().recomputed, 0U);
  EXPECT_EQ(cluster->state(), JobState::Succeeded);
  cluster.write_all();
  cluster->ignore();
}

// Its reports come first, when nothing seems to be held by anyone yet.
TEST(Checkpoints, OneThatWasNotWrittenIsSaidAgainAndDropsNothing) {
  JournalHarness cluster;
  make_and_write(cluster);
  cluster->ignore();
  cluster.restart_for_claims();
  cluster->come_back(1, {.jobs = {ClaimedJob{JobId{1}, {}, {{SubtaskIndex{0}, 0, 100}}}},
                         .spec = kWithShared,
                         .replicas = {{{JobId{1}, SubtaskIndex{0}}, 0, true}}});
  EXPECT_EQ(cluster->drops(), Texts{});
  cluster.write_all();
  cluster->join(kWithShared);
  cluster->ignore();
  PENSTOCK_EXPECT_COVERAGE_MARK("a checkpoint took the place of a lost output",
                                (cluster->lose(1), cluster.write_all()));
  EXPECT_EQ(cluster->core().counters().recomputed, 0U);
  cluster->ignore();
}

TEST(Checkpoints, ThoseOfOutputsThatAreKeptOutliveTheJobAndARestart) {
  JournalHarness cluster;
  cluster->join(kWithShared);
  cluster.write_all();
  JobSpec spec;
  spec.keep = Keep::Sinks;
  GraphBuilder graph;
  graph.template_at(0).checkpoint = true;
  cluster->submit(graph.add().build(), std::move(spec));
  cluster.write_all();
  cluster->assigned();
  cluster->succeed(1, 0, {{0, 100}});
  checkpointed(cluster.life(), 1, 0);
  cluster.write_all();
  cluster->ignore();
  cluster->lose(1);
  cluster.write_all();
  cluster.restart();
  cluster->join(kWithShared);
  EXPECT_EQ(removed(cluster.life()), std::vector<Incarnation>{}) << "the client may still want it";
  cluster->client_says(ReleaseJob{JobId{1}});
  EXPECT_EQ(removed(cluster.life()), std::vector<Incarnation>{Incarnation{101}});
  cluster->ignore();
}

TEST(Checkpoints, OneThatComesTooLateIsDropped) {
  SupervisorHarness supervisor;
  supervisor.join(kWithShared);
  GraphBuilder graph;
  graph.template_at(0).checkpoint = true;
  supervisor.submit(graph.add().add({0}).add({1}).build());
  supervisor.succeed(1, 0, {{0, 100}});
  supervisor.succeed(1, 1, {});
  EXPECT_EQ(supervisor.drops(), Texts{"0 at w1"}) << "nobody reads it any more";
  PENSTOCK_EXPECT_COVERAGE_MARK("a checkpoint came after its datum was dropped", checkpointed(supervisor, 1, 0));
  EXPECT_EQ(supervisor.drops(), Texts{"0 at w1"});
  supervisor.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
