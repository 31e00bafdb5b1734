// How quotas divide slots and devices on a live cluster.
#include "tests/conformance/live_policy.hpp"

namespace penstock::tools {
namespace {

TEST(LiveQuotaPolicy, HalvesThatAreApartAreMovedTogetherOnceForAWholeDevice) {
  SupervisorConfig config = config_of("quota");
  config.policy.projects.push_back({.name = "a", .guaranteed_gpu_slots = 1});
  config.policy.projects.push_back({.name = "b", .guaranteed_gpu_slots = 1});
  LiveCluster cluster{config};
  cluster.join(gpu_worker("w1", 2));
  const JobId blocker = submit(cluster, {.name = "blocker", .project = "a", .milli = 500, .on_gpu = true});
  const JobId blocker2 = submit(cluster, {.name = "blocker2", .project = "a", .milli = 500, .on_gpu = true});
  cluster.advance(1s);
  const JobId first = submit(cluster, {.name = "first", .project = "a", .milli = 500, .on_gpu = true});
  const JobId second = submit(cluster, {.name = "second", .project = "a", .milli = 500, .on_gpu = true});
  cluster.advance(1s);
  cluster.end({blocker, SubtaskIndex{0}});
  cluster.end({first, SubtaskIndex{0}});
  cluster.advance(1s);
  ASSERT_EQ(cluster.runs().size(), 2U);
  const std::uint64_t before = preemptions(cluster);
  const JobId whole = submit(cluster, {.name = "whole", .project = "b", .on_gpu = true});
  cluster.advance(30s);
  EXPECT_EQ(running(cluster, whole), 1U);
  EXPECT_EQ(running(cluster, blocker2), 1U);
  EXPECT_EQ(running(cluster, second), 1U);
  EXPECT_EQ(preemptions(cluster) - before, 1U);
}

TEST(LiveQuotaPolicy, AVictimComesBackInQueueOrder) {
  SupervisorConfig config = config_of("quota");
  config.policy.projects.push_back({.name = "a", .guaranteed_slots = 2});
  config.policy.projects.push_back({.name = "b", .guaranteed_slots = 2});
  LiveCluster cluster{config};
  cluster.join(cpu_worker("w1", 4));
  const JobId low = submit(cluster, {.name = "low", .subtasks = 4, .project = "a"});
  cluster.advance(1s);
  EXPECT_EQ(running(cluster, low), 4U);
  const JobId b = submit(cluster, {.name = "b", .project = "b"});
  const JobId better = submit(cluster, {.name = "better", .project = "a", .priority = 5});
  cluster.advance(30s);
  EXPECT_EQ(running(cluster, b), 1U);
  EXPECT_EQ(running(cluster, better), 1U);
  EXPECT_EQ(running(cluster, low), 2U);
  cluster.end({b, SubtaskIndex{0}});
  cluster.advance(10s);
  EXPECT_EQ(running(cluster, low), 3U);
}

}  // namespace
}  // namespace penstock::tools
