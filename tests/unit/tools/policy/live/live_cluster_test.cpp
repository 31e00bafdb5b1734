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

TEST(LiveCluster, AListenerHearsOfEachRunAtTheMomentWhenItBeginsAndEnds) {
  LiveCluster cluster{by_priority()};
  cluster.join(worker_of(1));
  const Instant begins = cluster.now();
  std::vector<std::pair<SubtaskId, RunNews>> heard;
  cluster.set_on_run([&](const LiveRun& run, RunNews news) { heard.emplace_back(run.subtask, news); });
  cluster.submit(named("low"), GraphBuilder{}.sources(1).build());
  while (heard.empty() && cluster.now() < begins + 1s) cluster.step(begins + 1s);
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_LT(cluster.now(), begins + 1s) << "a step ends with what falls due first";
  cluster.submit(named("high", 5), GraphBuilder{}.sources(1).build());
  cluster.settle();
  cluster.end(subtask(2, 0));
  ASSERT_GE(heard.size(), 4U);
  EXPECT_EQ(heard[0], (std::pair{subtask(1, 0), RunNews::Begun}));
  EXPECT_EQ(heard[1], (std::pair{subtask(1, 0), RunNews::Ended}));
  EXPECT_EQ(heard[2], (std::pair{subtask(2, 0), RunNews::Begun}));
  EXPECT_EQ(heard[3], (std::pair{subtask(2, 0), RunNews::Ended}));
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
  EXPECT_EQ(cluster.core().policy().preemptions, 1U);
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

TEST(LiveCluster, ALentSlotIsOfTheNext) {
  LiveCluster cluster{by_priority()};
  cluster.join(worker_of(1));
  cluster.submit(named("a"), GraphBuilder{}.sources(2).build());
  cluster.settle();
  EXPECT_EQ(cluster.runs().size(), 1U);
  cluster.lend(subtask(1, 0));
  cluster.settle();
  EXPECT_EQ(cluster.runs().size(), 2U);
  EXPECT_TRUE(cluster.troubles().empty());
}

// Pools with quotas: what a pass plans is what happens, also while runs take their time to leave.

SupervisorConfig with_quotas() {
  SupervisorConfig config;
  config.policy.pools.push_back({.name = "all", .preset = "quota"});
  config.policy.projects.push_back({.name = "a", .guaranteed_slots = 4, .guaranteed_gpu_slots = 4});
  config.policy.projects.push_back({.name = "b", .guaranteed_slots = 4, .guaranteed_gpu_slots = 4});
  config.policy.grace = config.policy.grace_max = 1h;
  return config;
}

Register labelled_worker(const std::string& name, std::int64_t slots = 4) {
  Register description = worker_of(slots, name);
  description.labels = {name};
  return description;
}

Register gpus_of(const std::string& name, std::size_t count) {
  Register description;
  description.name = description.host = name;
  for (std::size_t i = 0; i < count; ++i) {
    BandDescription& band = description.bands.emplace_back();
    band.kind = BandKind::Gpu;
    band.name = "gpu-" + std::to_string(i);
    band.capacity.slots = kOneSlot;
    band.capacity.gpu = MilliGpu{1000};
  }
  return description;
}

JobId submit_to(LiveCluster& cluster, const std::string& name, const std::string& project, std::int64_t milli,
                bool on_gpu = false, std::vector<std::string> labels = {}) {
  JobSpec spec;
  spec.name = name;
  spec.keep = Keep::Nothing;
  spec.policy.project = project;
  spec.policy.labels = std::move(labels);
  Graph graph = GraphBuilder{}.sources(1).build();
  graph.templates[0].request.slots = MilliSlots{milli};
  if (on_gpu) graph.templates[0].request.gpu = MilliGpu{milli};
  const SubmitReply reply = cluster.submit(std::move(spec), graph);
  EXPECT_TRUE(reply.job.valid()) << to_string(reply.refusal);
  return reply.job;
}

const LiveRun* run_of(const LiveCluster& cluster, JobId job) {
  const auto run = cluster.runs().find(SubtaskId{job, SubtaskIndex{0}});
  return run == cluster.runs().end() ? nullptr : &run->second;
}

std::string place_of(const LiveCluster& cluster, JobId job) {
  const LiveRun* run = run_of(cluster, job);
  return run == nullptr ? "" : cluster.name_of(run->worker);
}

/// Two of four slots are taken on each worker, so that a job of three needs a move.
struct Crowd {
  explicit Crowd(LiveCluster& cluster) {
    cluster.join(labelled_worker("w1"));
    cluster.join(labelled_worker("w2"));
    const JobId filler = submit_to(cluster, "filler", "a", 4000, false, {"w1"});
    cluster.settle();
    second = submit_to(cluster, "second", "a", 2000);
    cluster.settle();
    cluster.end(SubtaskId{filler, SubtaskIndex{0}});
    first = submit_to(cluster, "first", "a", 2000, false, {"w1"});
    cluster.settle();
  }
  JobId first;
  JobId second;
};

// A run that took longer to leave than some passes came back to its old place.
TEST(LiveQuota, AMovedRunThatTakesItsTimeToLeaveStartsAtThePlaceThatItWasGiven) {
  LiveCluster cluster{with_quotas()};
  const Crowd crowd{cluster};
  ASSERT_EQ(place_of(cluster, crowd.first), "w1");
  ASSERT_EQ(place_of(cluster, crowd.second), "w2");
  cluster.set_on_stop(LiveCluster::OnStop::Stay);
  const JobId third = submit_to(cluster, "third", "b", 3000);
  cluster.advance(10s);
  ASSERT_NE(run_of(cluster, crowd.second), nullptr);
  ASSERT_TRUE(run_of(cluster, crowd.second)->asked) << "it is the one that may be on either";
  const JobId late = submit_to(cluster, "late", "b", 2000, false, {"w1"});
  cluster.advance(2s);
  EXPECT_EQ(run_of(cluster, late), nullptr) << "the place of the moved run is kept for it";
  cluster.set_on_stop(LiveCluster::OnStop::Leave);
  cluster.end(SubtaskId{crowd.second, SubtaskIndex{0}}, false, FailureClass::RunnerCrash);
  cluster.settle();
  EXPECT_EQ(place_of(cluster, crowd.second), "w1");
  EXPECT_EQ(place_of(cluster, third), "w2");
  EXPECT_EQ(cluster.core().policy().preemptions, 1U) << "one move, and nothing else is touched";
}

// A place is drawn by the number of the job: each draw must do.
TEST(LiveQuota, WorkThatComesBackToAPlaceWithoutSlotsGoesWhereItsJobHasThem) {
  for (int earlier = 0; earlier < 6; ++earlier) {
    LiveCluster cluster{with_quotas()};
    cluster.join(labelled_worker("w1", 3));
    cluster.join(labelled_worker("w2", 2));
    for (int i = 0; i < earlier; ++i) {
      const JobId job = submit_to(cluster, "earlier" + std::to_string(i), "a", 1000);
      cluster.settle();
      cluster.end(SubtaskId{job, SubtaskIndex{0}});
    }
    const JobId filler = submit_to(cluster, "filler", "a", 3000, false, {"w1"});
    cluster.settle();
    const JobId moved = submit_to(cluster, "moved", "a", 1000);
    cluster.settle();
    cluster.end(SubtaskId{filler, SubtaskIndex{0}});
    submit_to(cluster, "stays", "a", 2000, false, {"w1"});
    cluster.settle();
    ASSERT_EQ(place_of(cluster, moved), "w2");
    cluster.set_on_stop(LiveCluster::OnStop::Stay);
    const JobId other = submit_to(cluster, "other", "b", 2000);
    cluster.advance(10s);
    ASSERT_NE(run_of(cluster, moved), nullptr);
    ASSERT_TRUE(run_of(cluster, moved)->asked);
    cluster.end(SubtaskId{moved, SubtaskIndex{0}}, false, FailureClass::RunnerCrash);
    cluster.settle();
    EXPECT_EQ(place_of(cluster, moved), "w1") << earlier;
    EXPECT_EQ(place_of(cluster, other), "w2") << earlier;
  }
}

TEST(LiveQuota, HalvesOfTwoJobsShareADevice) {
  LiveCluster cluster{with_quotas()};
  cluster.join(gpus_of("w1", 2));
  const JobId first = submit_to(cluster, "first", "a", 500, true);
  cluster.settle();
  const JobId second = submit_to(cluster, "second", "a", 500, true);
  cluster.settle();
  ASSERT_NE(run_of(cluster, first), nullptr);
  ASSERT_NE(run_of(cluster, second), nullptr);
  EXPECT_EQ(run_of(cluster, first)->band, run_of(cluster, second)->band);
  const JobId whole = submit_to(cluster, "whole", "b", 1000, true);
  cluster.settle();
  EXPECT_NE(run_of(cluster, whole), nullptr);
  EXPECT_EQ(cluster.core().policy().preemptions, 0U) << "a whole device was left";
}

}  // namespace
}  // namespace penstock::tools
