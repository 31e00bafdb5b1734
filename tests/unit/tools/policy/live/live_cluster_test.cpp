#include "tools/policy/live/live_cluster.hpp"

#include <gtest/gtest.h>

#include "tests/support/graph_builder.hpp"

namespace penstock::tools {
namespace {

using namespace std::chrono_literals;

SupervisorConfig by_priority() {
  SupervisorConfig config;
  config.policy.pools.push_back({.name = "all", .preset = "priority", .preemption = true});
  return config;
}

Register worker_of(std::int64_t slots, const std::string& name = "w1") {
  Register description;
  description.name = name;
  description.host = name;
  BandDescription& band = description.bands.emplace_back();
  band.name = "numa-0";
  band.capacity.slots = kOneSlot * slots;
  return description;
}

JobSpec named(const std::string& name, std::int32_t priority = 0) {
  JobSpec spec;
  spec.name = name;
  spec.priority = priority;
  spec.keep = Keep::Nothing;
  return spec;
}

SubtaskId subtask(std::uint32_t job, std::uint32_t index) { return {JobId{job}, SubtaskIndex{index}}; }

TEST(LiveCluster, RunsAsManyAsThereAreSlotsAndTheNextWhenOneEnds) {
  LiveCluster cluster{by_priority()};
  cluster.join(worker_of(2));
  ASSERT_TRUE(cluster.submit(named("a"), GraphBuilder{}.sources(3).build()).job.valid());
  cluster.settle();
  EXPECT_EQ(cluster.runs().size(), 2U);
  cluster.end(subtask(1, 0));
  cluster.settle();
  EXPECT_TRUE(cluster.runs().contains(subtask(1, 2)));
  cluster.end(subtask(1, 1));
  cluster.end(subtask(1, 2));
  cluster.settle();
  EXPECT_EQ(cluster.core().find_job(JobId{1})->status.state, JobState::Succeeded);
  EXPECT_TRUE(cluster.troubles().empty());
}

TEST(LiveCluster, ARefusedGraphAndARefusedOrderSayWhy) {
  LiveCluster cluster{by_priority()};
  cluster.join(worker_of(2));
  const SubmitReply reply = cluster.submit(named("a"), Graph{});
  EXPECT_FALSE(reply.job.valid());
  EXPECT_NE(reply.refusal.message, "");
  EXPECT_FALSE(cluster.ask("hold", {"nothing"}).has_value());
}

TEST(LiveCluster, AJobOfHigherPriorityTakesSlotsFromARunThatLeavesWhenAsked) {
  LiveCluster cluster{by_priority()};
  cluster.join(worker_of(1));
  cluster.submit(named("low"), GraphBuilder{}.sources(1).build());
  cluster.settle();
  ASSERT_TRUE(cluster.runs().contains(subtask(1, 0)));
  cluster.submit(named("high", 5), GraphBuilder{}.sources(1).build());
  cluster.settle();
  EXPECT_TRUE(cluster.runs().contains(subtask(2, 0)));
  EXPECT_FALSE(cluster.runs().contains(subtask(1, 0)));
  EXPECT_EQ(cluster.preemptions(), 1U);
}

TEST(LiveCluster, ARunThatStaysIsKilledWhenItsGraceIsOver) {
  SupervisorConfig config = by_priority();
  config.policy.grace = 5s;
  LiveCluster cluster{config};
  cluster.set_on_stop(LiveCluster::OnStop::Stay);
  cluster.join(worker_of(1));
  cluster.submit(named("low"), GraphBuilder{}.sources(1).build());
  cluster.settle();
  cluster.submit(named("high", 5), GraphBuilder{}.sources(1).build());
  cluster.advance(2s);
  ASSERT_TRUE(cluster.runs().contains(subtask(1, 0)));
  EXPECT_TRUE(cluster.runs().at(subtask(1, 0)).asked);
  cluster.advance(10s);
  EXPECT_TRUE(cluster.runs().contains(subtask(2, 0)));
}

TEST(LiveCluster, AWorkerThatIsLostTakesItsRunsAlongAndAnotherGetsThem) {
  LiveCluster cluster{by_priority()};
  const WorkerId first = cluster.join(worker_of(1));
  cluster.submit(named("a"), GraphBuilder{}.sources(1).build());
  cluster.settle();
  ASSERT_EQ(cluster.runs().size(), 1U);
  cluster.lose(first);
  EXPECT_TRUE(cluster.runs().empty());
  cluster.join(worker_of(1, "w2"));
  cluster.settle();
  ASSERT_EQ(cluster.runs().size(), 1U);
  EXPECT_EQ(cluster.name_of(cluster.runs().begin()->second.worker), "w2");
}

TEST(LiveCluster, AReloadPutsAnotherPolicyInForce) {
  LiveCluster cluster{by_priority()};
  cluster.join(worker_of(2));
  PolicyConfig policy = by_priority().policy;
  policy.users.push_back({.name = "ann", .limits = {.slots_max = 1}});
  ASSERT_TRUE(cluster.reload(policy).has_value());
  JobSpec spec = named("a");
  spec.owner = "ann";
  cluster.submit(spec, GraphBuilder{}.sources(2).build());
  cluster.settle();
  EXPECT_EQ(cluster.runs().size(), 1U);
}

}  // namespace
}  // namespace penstock::tools
