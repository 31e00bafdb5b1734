// SupervisorCore: subtasks that no present band may have.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/pool_fallback_harness.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::seconds;
using Lines = std::vector<std::string>;

Graph on_worker_1(GraphBuilder graph) {
  graph.template_at(0).required = {"worker-1", ""};
  return graph.build();
}

/// Two workers, one subtask for the first of them, which is then lost.
class RequiredBand : public ::testing::Test {
 protected:
  void begin(JobSpec spec = {}) {
    cluster_.join();
    cluster_.join();
    cluster_.submit(on_worker_1(GraphBuilder{}.add()), std::move(spec));
    EXPECT_EQ(cluster_.assigned(), Lines{"0 to w1"});
    cluster_.lose(1);
    cluster_.alerts();
    EXPECT_EQ(cluster_.assigned(), Lines{});
  }
  SupervisorHarness cluster_{{.required_band_wait = seconds{30}}};
};

// Spec: worker 10, a required band that is not left fails with `NoAvailableBand`.
TEST_F(RequiredBand, ThatDoesNotComeBackFailsTheSubtask) {
  begin();
  cluster_.tick_after(seconds{29});
  EXPECT_EQ(cluster_.state(), JobState::Running);
  PENSTOCK_EXPECT_COVERAGE_MARK("a required band did not come back", cluster_.tick_after(seconds{1}));
  EXPECT_EQ(cluster_.state(), JobState::Failed);
  const Error& error = *cluster_.job().status.error;
  EXPECT_EQ(error.code, ErrorCode::NoAvailableBand);
  EXPECT_NE(error.message.find("'worker-1'"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("30 s"), std::string::npos) << error.message;
  cluster_.ignore();
}

TEST_F(RequiredBand, IsAskedForByTheNextDeadline) {
  begin();
  const std::optional<Instant> deadline = cluster_.core().next_deadline();
  ASSERT_TRUE(deadline.has_value());
  EXPECT_LE(*deadline, cluster_.now() + seconds{30});
  cluster_.ignore();
}

TEST_F(RequiredBand, OthersThatComeDoNotProlongTheWait) {
  begin();
  cluster_.tick_after(seconds{20});
  cluster_.join();
  cluster_.tick_after(seconds{10});
  EXPECT_EQ(cluster_.state(), JobState::Failed);
  cluster_.ignore();
}

TEST_F(RequiredBand, IsAwaitedForEverByWhoWantsToWait) {
  JobSpec spec;
  spec.wait_for_resources = true;
  begin(spec);
  cluster_.tick_after(std::chrono::hours{1});
  EXPECT_EQ(cluster_.state(), JobState::Running);
  cluster_.ignore();
}

TEST_F(RequiredBand, IsAwaitedWhileThereIsNoWorkerAtAll) {
  begin();
  cluster_.lose(2);
  cluster_.tick_after(seconds{60});
  EXPECT_EQ(cluster_.state(), JobState::Running);
  cluster_.ignore();
}

TEST_F(RequiredBand, ThatOnlyDrainsIsStillThere) {
  cluster_.join();
  cluster_.join();
  ASSERT_TRUE(cluster_.ask("drain", {"worker-1"}).has_value());
  JobSpec spec;
  cluster_.submit(on_worker_1(GraphBuilder{}.add()), spec);
  cluster_.tick_after(seconds{60});
  EXPECT_EQ(cluster_.state(), JobState::Running);
  ASSERT_TRUE(cluster_.ask("undrain", {"worker-1"}).has_value());
  EXPECT_EQ(cluster_.assigned(), Lines{"0 to w1"});
  cluster_.ignore();
}

TEST_F(RequiredBand, FailsOnlyItsOwnWhereTheRestMayGoOn) {
  cluster_.join();
  cluster_.join();
  GraphBuilder graph = GraphBuilder{}.add().add({}, 1);
  graph.template_at(0).required = {"worker-1", ""};
  graph.template_at(0).on_failure = OnFailure::Continue;
  cluster_.submit(graph.build());
  cluster_.assigned();
  cluster_.lose(1);
  cluster_.alerts();
  cluster_.tick_after(seconds{31});
  EXPECT_EQ(cluster_.phase(0), SubtaskPhase::Failed);
  cluster_.ignore();
}

// Found by seed 90000038 of the simulator: a job that no worker of its pool may have wants nothing there.
TEST(Homeless, WhatNoWorkerOfItsPoolMayHaveIsTriedInTheNext) {
  PoolFallbackHarness it{three_pools("multifactor")};
  const auto let_pass = [&it](Duration duration) {
    for (int i = 0; i < 100; ++i) {
      it.cluster.tick_after(duration / 100);
      for (const supervisor_action::RunPass& order : it.cluster.take_passes())
        it.cluster.handle(PolicedSupervisor::run(order));
    }
  };
  for (int i = 0; i < 3; ++i) it.cluster.join({.memory = kGiB * 4, .barriers = true});
  it.submit({.pools = {"first"}}, 1);
  GraphBuilder builder;
  builder.template_at(0).request.memory = kGiB;
  builder.template_at(0).memory_max = kGiB * 4;
  JobSpec spec;
  spec.name = "grows";
  spec.policy.pools = {"first", "rest"};
  it.cluster.submit(builder.sources(1).build(), spec);
  let_pass(seconds{1});
  EXPECT_EQ(it.cluster.assigned(), (Lines{"0 to w1", "2:0 to w3"}));
  it.cluster.fail(3, 0, FailureClass::OutOfMemory, 2);
  it.cluster.lose(3);
  it.cluster.join({.memory = kGiB * 4});
  PENSTOCK_EXPECT_COVERAGE_MARK("a job that may run nowhere in its pool is tried in the next", let_pass(seconds{60}));
  EXPECT_EQ(it.cluster.assigned(), Lines{}) << "the only worker is of a version that knows of no larger requests";
  it.cluster.succeed(1, 0);
  let_pass(seconds{60});
  EXPECT_EQ(it.cluster.assigned(), Lines{"2:0#2 to w1"});
}

}  // namespace
}  // namespace penstock::supervisor
