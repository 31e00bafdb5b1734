// A graph is submitted again to a supervisor in another process: by name where it is known, else whole.
#include <gtest/gtest.h>

#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"

namespace penstock {
namespace {

TEST(Again, AKnownGraphNeedsOneSmallMessageWhoeverSentItFirst) {
  ClusterProcesses cluster;
  cluster.start_worker("w1", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  // Several chunks: the supervisor puts together what it names.
  const Graph graph = stencil(300, 1000, 0, 0);
  const auto first = cluster.connect();
  const auto unknown = first->submit_again(named("unknown"), graph);
  ASSERT_TRUE(unknown.has_value()) << to_string(unknown.error());
  EXPECT_TRUE(unknown->sent_whole);
  EXPECT_EQ(wait_for_end(*first, unknown->job), JobState::Succeeded);
  const auto second = cluster.connect();
  Witness witness{*second, graph.size()};
  const auto known = second->submit_again(named("known"), graph);
  ASSERT_TRUE(known.has_value()) << to_string(known.error());
  EXPECT_FALSE(known->sent_whole);
  EXPECT_EQ(wait_for_end(*second, known->job), JobState::Succeeded);
  witness.expect_each_once();
}

TEST(Again, AGraphThatIsNotKeptIsSentWhole) {
  ClusterProcesses cluster{{"--set", "supervisor.cached_graphs_max=0"}};
  cluster.start_worker("w1", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  for (const char* name : {"first", "second"}) {
    const auto submitted = session->submit_again(named(name), stencil(3, 3, 0, 0));
    ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
    EXPECT_TRUE(submitted->sent_whole) << name;
    EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  }
}

// Accepted means durable, however the graph came.
TEST(Again, ARunThatWasAcceptedOutlivesTheSupervisorAndSoDoesItsGraph) {
  ClusterProcesses cluster{{"--state", "state"}};
  const Graph graph = stencil(20, 20, 0, 0);
  auto session = cluster.connect();
  ASSERT_TRUE(session->submit(named("first"), graph).has_value());
  const auto second = session->submit_again(named("second"), graph);
  ASSERT_TRUE(second.has_value()) << to_string(second.error());
  EXPECT_FALSE(second->sent_whole);
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  session = cluster.connect();
  const auto third = session->submit_again(named("third"), graph);
  ASSERT_TRUE(third.has_value()) << to_string(third.error());
  EXPECT_FALSE(third->sent_whole);
  cluster.start_worker("w1", {"--slots", "2"});
  const Result<JobId> attached = session->attach(JobSelector{JobId::none(), "second"});
  ASSERT_TRUE(attached.has_value()) << to_string(attached.error());
  EXPECT_EQ(*attached, second->job);
  EXPECT_EQ(wait_for_end(*session, *attached), JobState::Succeeded);
  EXPECT_EQ(wait_for_end(*session, third->job), JobState::Succeeded);
}

}  // namespace
}  // namespace penstock
