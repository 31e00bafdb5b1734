// Where work of a pool goes on a live cluster, and what becomes of its victims.
#include "tests/conformance/live_policy.hpp"

namespace penstock::tools {
namespace {

TEST(LivePools, PlacementObeysTheFittingWithoutContention) {
  const auto places = [](const std::string& preset, const std::string& fitting) {
    SupervisorConfig config = config_of(preset);
    config.policy.pools[0].fitting = fitting;
    LiveCluster cluster{config};
    for (const char* name : {"w1", "w2", "w3"}) cluster.join(cpu_worker(name, 4));
    std::set<std::string> all;
    for (int i = 0; i < 3; ++i) {
      const JobId job = submit(cluster, {.name = "j" + std::to_string(i)});
      cluster.advance(1s);
      all.insert(place_of(cluster, job));
    }
    return all.size();
  };
  EXPECT_EQ(places("priority", "best"), 1U);
  EXPECT_EQ(places("priority", "worst"), 3U);
  EXPECT_EQ(places("quota", "binpack"), 1U);
  EXPECT_EQ(places("quota", "fragmentation"), 1U);  // Nothing of hosts without devices can be lost: they are packed.
  EXPECT_EQ(places("quota", "spread"), 3U);
}

TEST(LivePools, AVictimThatSucceedsWithinItsGraceHasSucceeded) {
  SupervisorConfig config = config_of("priority");
  config.policy.pools[0].preemption = true;
  LiveCluster cluster{config};
  cluster.set_on_stop(LiveCluster::OnStop::Stay);
  cluster.join(cpu_worker("w1", 1));
  const JobId victim = submit(cluster, {.name = "victim"});
  cluster.advance(1s);
  submit(cluster, {.name = "important", .priority = 5});
  cluster.advance(2s);
  ASSERT_TRUE(cluster.runs().at({victim, SubtaskIndex{0}}).asked);
  cluster.end({victim, SubtaskIndex{0}});
  cluster.advance(30s);
  EXPECT_EQ(cluster.core().find_job(victim)->status.state, JobState::Succeeded);
}

// Nothing is asked back for a worker that takes nothing new: it would come and go with every pass.
TEST(LivePools, WorkStaysWhereItIsWhileAnotherWorkerDrains) {
  LiveCluster cluster{config_of("priority")};
  for (const char* name : {"w1", "w2"}) cluster.join(cpu_worker(name, 2));
  submit(cluster, {.name = "a", .subtasks = 12, .priority = 5});
  submit(cluster, {.name = "b"});
  cluster.advance(1s);
  ASSERT_EQ(cluster.runs().size(), 4U);
  ASSERT_TRUE(cluster.ask("drain", {"w2"}).has_value());
  cluster.advance(1s);
  for (auto run = cluster.runs().begin(); run != cluster.runs().end(); ++run)
    if (cluster.name_of(run->second.worker) == "w2") {
      cluster.end(run->first);
      break;
    }
  cluster.advance(1s);
  const std::uint64_t before = cluster.core().counters().returned;
  cluster.advance(10s);
  EXPECT_EQ(cluster.core().counters().returned, before);
}

// A job of parts that waited on a full device, while the plan had another one for it, kept passes coming without end.
TEST(LivePools, PartsOfDevicesRunWhereThePlanHasThem) {
  for (const std::string preset : {"fair_share", "fair_share_max_min", "priority", "quota", "multifactor"}) {
    SupervisorConfig config = config_of(preset);
    config.policy.projects.push_back({.name = "a", .guaranteed_gpu_slots = 2});
    LiveCluster cluster{config};
    cluster.join(gpu_worker("w1", 2));
    for (int round = 0; round < 20; ++round) {
      std::vector<JobId> jobs;
      for (const std::int64_t milli : {700, 500, 400})
        jobs.push_back(submit(cluster, {.name = std::to_string(round) + "/" + std::to_string(milli),
                                        .project = "a",
                                        .milli = milli,
                                        .on_gpu = true}));
      cluster.advance(1s);
      EXPECT_EQ(cluster.runs().size(), 3U) << preset << " " << round;
      const std::uint64_t before = cluster.core().policy().passes;
      cluster.advance(10s);
      EXPECT_LE(cluster.core().policy().passes - before, 101U) << preset << " " << round;
      for (const JobId job : jobs) cluster.end({job, SubtaskIndex{0}});
      cluster.advance(1s);
      for (const JobId job : jobs)
        EXPECT_EQ(cluster.core().find_job(job)->status.state, JobState::Succeeded) << preset << " " << round;
      if (HasFailure()) return;
    }
    EXPECT_TRUE(cluster.troubles().empty());
  }
}

// Seen in a user's trial: a slot of the second pool was given to the bag, another run was preempted for it, and nothing
// ran there, as all work of the bag stood in the queue of the first pool's worker.
TEST(LivePools, WorkOfABagLeavesAFullPoolForASlotInAnother) {
  SupervisorConfig config = config_of("fair_share");
  config.policy.pools[0].name = "x";
  config.policy.pools.push_back({.name = "y", .preset = "fair_share", .workers = {"y*"}});
  LiveCluster cluster{config};
  cluster.join(cpu_worker("x1", 4));
  cluster.join(cpu_worker("y1", 3));
  submit(cluster, {.name = "other", .subtasks = 8});
  cluster.advance(1s);
  submit(cluster, {.name = "bag", .subtasks = 5, .pools = {"y", "x"}});
  cluster.advance(10s);
  EXPECT_EQ(cluster.runs().size(), 7U);
}

// Seen in a user's trial: the job held nothing for good beside an idle worker, and its run that had died with the other
// worker counted as leaving.
TEST(LivePools, AVictimThatDiesWithItsWorkerLeavesNothingBehind) {
  for (const std::string preset : {"priority", "fair_share_max_min", "quota"})
    for (const std::string lost : {"a", "b"})
      for (const auto on_stop : {LiveCluster::OnStop::Stay, LiveCluster::OnStop::Leave})
        for (int after_ms = 0; after_ms < 16; ++after_ms) {
          SupervisorConfig config = config_of(preset);
          config.policy.pools[0].preemption = true;
          LiveCluster cluster{config};
          cluster.set_on_stop(on_stop);
          std::map<std::string, WorkerId> workers;
          for (const char* name : {"a", "b"}) workers[name] = cluster.join(cpu_worker(name, 1));
          const JobId victim = submit(cluster, {.name = "victim", .subtasks = 2});
          cluster.advance(1s);
          const JobId important = submit(cluster, {.name = "important", .priority = 5});
          cluster.advance(std::chrono::milliseconds{after_ms});
          cluster.lose(workers[lost]);
          cluster.advance(std::chrono::milliseconds{after_ms % 3});
          cluster.set_on_stop(LiveCluster::OnStop::Leave);
          cluster.join(cpu_worker(lost, 1));
          cluster.advance(30s);
          const std::string where = preset + " " + lost + " " + std::to_string(after_ms);
          EXPECT_EQ(running(cluster, important), 1U) << where;
          EXPECT_EQ(running(cluster, victim), 1U) << where;
          EXPECT_TRUE(cluster.core().find_job(victim)->shares->preempting->empty()) << where;
        }
}

}  // namespace
}  // namespace penstock::tools
