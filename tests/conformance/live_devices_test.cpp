// Subtasks with several devices of one host, on the production cores in virtual time (docs/policy.md, Several devices).
#include "tests/conformance/live_policy.hpp"

namespace penstock::tools {
namespace {

const std::vector<std::string> kPresets{"fair_share", "fair_share_max_min", "priority", "quota", "multifactor"};

std::size_t running_on(const LiveCluster& cluster, JobId job, const std::string& worker) {
  return static_cast<std::size_t>(std::count_if(cluster.runs().begin(), cluster.runs().end(), [&](const auto& run) {
    return run.first.job == job && cluster.name_of(run.second.worker) == worker;
  }));
}

TEST(LiveDevices, EachRunHasItsDevicesOnOneHost) {
  for (const std::string& preset : kPresets) {
    LiveCluster cluster{config_of(preset)};
    cluster.join(gpu_host("a", 3));
    cluster.join(gpu_host("b", 4));
    const JobId pairs = submit(cluster, {.name = "pairs", .subtasks = 8, .milli = 2000, .on_gpu = true});
    cluster.settle();
    EXPECT_EQ(running_on(cluster, pairs, "a"), 1U) << preset;
    EXPECT_EQ(running_on(cluster, pairs, "b"), 2U) << preset;
    const JobId single = submit(cluster, {.name = "single", .milli = 1000, .on_gpu = true});
    cluster.settle();
    EXPECT_EQ(running(cluster, single), 1U) << preset << ": a pair does not fit there";
    EXPECT_EQ(running(cluster, pairs), 3U) << preset;
    EXPECT_TRUE(cluster.troubles().empty()) << preset;
  }
}

TEST(LiveDevices, JobsOfPairsAndOfSingleDevicesShareFairly) {
  LiveCluster cluster{config_of("fair_share")};
  cluster.join(gpu_host("a", 8));
  const JobId pairs = submit(cluster, {.name = "pairs", .subtasks = 8, .milli = 2000, .on_gpu = true});
  cluster.settle();
  EXPECT_EQ(running(cluster, pairs), 4U);
  const JobId singles = submit(cluster, {.name = "singles", .subtasks = 16, .milli = 1000, .on_gpu = true});
  cluster.settle();
  EXPECT_EQ(running(cluster, pairs), 2U);
  EXPECT_EQ(running(cluster, singles), 4U);
  const std::uint64_t left = preemptions(cluster);
  cluster.advance(30s);
  EXPECT_EQ(preemptions(cluster), left);
}

TEST(LiveDevices, AMoreImportantRunGetsAllItsDevicesAtOnce) {
  SupervisorConfig config = config_of("priority");
  config.policy.pools[0].preemption = true;
  LiveCluster cluster{config};
  cluster.join(gpu_host("a", 4));
  const JobId low = submit(cluster, {.name = "low", .subtasks = 4, .milli = 1000, .on_gpu = true});
  cluster.settle();
  EXPECT_EQ(running(cluster, low), 4U);
  const JobId high = submit(cluster, {.name = "high", .milli = 3000, .on_gpu = true, .priority = 5});
  cluster.settle();
  EXPECT_EQ(running(cluster, high), 1U);
  EXPECT_EQ(running(cluster, low), 1U);
}

/// A job of one subtask with so many thousandths of devices, and as many of slots.
SubmitReply offer(LiveCluster& cluster, std::int64_t gpu) {
  JobSpec spec;
  spec.name = "gpu";
  Graph graph = GraphBuilder{}.sources(1).build();
  graph.templates[0].request.slots = MilliSlots{gpu};
  graph.templates[0].request.gpu = MilliGpu{gpu};
  return cluster.submit(spec, graph);
}

TEST(LiveDevices, APartOfADeviceIsGivenByBandsOfOneDeviceOnly) {
  LiveCluster cluster{config_of("quota")};
  cluster.join(gpu_host("a", 2));
  const SubmitReply refused = offer(cluster, 500);
  EXPECT_NE(to_string(refused.refusal).find("a/gpus has several"), std::string::npos) << to_string(refused.refusal);
  cluster.join(gpu_worker("b", 1));
  const JobId part = offer(cluster, 500).job;
  cluster.settle();
  EXPECT_EQ(place_of(cluster, part), "b");
}

TEST(LiveDevices, MoreThanAHostHasIsRefusedWithTheWayOut) {
  LiveCluster cluster{config_of("fair_share")};
  cluster.join(gpu_worker("a", 4));
  const SubmitReply refused = offer(cluster, 2000);
  EXPECT_EQ(refused.refusal.code, ErrorCode::RequestTooLarge);
  EXPECT_NE(refused.refusal.remedy.find("--gpus-together"), std::string::npos) << to_string(refused.refusal);
  EXPECT_NE(to_string(offer(cluster, 1500).refusal).find("1 to 16 whole ones"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
