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

// D10 of issue 23: the older of two victims moved to the place that the gang left, before the oldest job, which waited.
TEST(LiveQuotaPolicy, AVictimMovesOnlyBehindItsBettersThatWait) {
  SupervisorConfig config = config_of("quota");
  config.policy.projects.push_back({.name = "a", .guaranteed_slots = 1});
  config.policy.projects.push_back({.name = "b", .guaranteed_slots = 2});
  LiveCluster cluster{config};
  cluster.join(cpu_worker("w1", 2));
  const JobId oldest = submit(cluster, {.name = "oldest", .project = "a"});
  ASSERT_TRUE(cluster.ask("hold", {to_string(oldest)}).has_value());
  cluster.advance(1s);
  const JobId older = submit(cluster, {.name = "older", .project = "a"});
  cluster.advance(1s);
  ASSERT_EQ(running(cluster, oldest), 0U);
  ASSERT_EQ(running(cluster, older), 1U);
  cluster.join(cpu_worker("w2", 1));
  const JobId gang = submit(cluster, {.name = "gang", .subtasks = 2, .project = "a", .gang = 2});
  cluster.advance(1s);
  ASSERT_EQ(running(cluster, gang), 2U);
  ASSERT_TRUE(cluster.ask("release", {to_string(oldest)}).has_value());
  cluster.advance(1s);
  const JobId late = submit(cluster, {.name = "late", .project = "b", .milli = 2000});
  cluster.advance(30s);
  EXPECT_EQ(place_of(cluster, late), "w1");
  EXPECT_EQ(place_of(cluster, oldest), "w2");
  EXPECT_EQ(running(cluster, older), 0U);
  EXPECT_EQ(running(cluster, gang), 0U);
  EXPECT_EQ(preemptions(cluster), 3U);
}

// D2 of issue 23: limits were tested before victims had left.
TEST(LiveQuotaPolicy, ADepartmentAtItsLimitIsDividedByGuarantees) {
  SupervisorConfig config = config_of("quota");
  config.policy.projects.push_back({.name = "d", .is_department = true, .guaranteed_slots = 4, .slots_max = 4});
  config.policy.projects.push_back({.name = "a", .department = "d", .guaranteed_slots = 2});
  config.policy.projects.push_back({.name = "b", .department = "d", .guaranteed_slots = 2});
  LiveCluster cluster{config};
  cluster.join(cpu_worker("w1", 8));
  const JobId a = submit(cluster, {.name = "a", .subtasks = 8, .project = "a"});
  cluster.advance(1s);
  EXPECT_EQ(running(cluster, a), 4U);
  const JobId b = submit(cluster, {.name = "b", .subtasks = 8, .project = "b"});
  cluster.advance(30s);
  EXPECT_EQ(running(cluster, a), 2U);
  EXPECT_EQ(running(cluster, b), 2U);
  EXPECT_EQ(preemptions(cluster), 2U);
}

// D2 of issue 23.
TEST(LiveQuotaPolicy, WithinALimitTheMoreImportantReplacesTheLess) {
  SupervisorConfig config = config_of("quota");
  config.policy.projects.push_back({.name = "a", .guaranteed_slots = 1, .slots_max = 1});
  LiveCluster cluster{config};
  cluster.join(cpu_worker("w1", 8));
  const JobId training = submit(cluster, {.name = "training", .project = "a"});
  cluster.advance(1s);
  EXPECT_EQ(running(cluster, training), 1U);
  const JobId interactive = submit(cluster, {.name = "interactive", .project = "a", .kind = JobKind::Interactive});
  cluster.advance(30s);
  EXPECT_EQ(running(cluster, interactive), 1U);
  EXPECT_EQ(running(cluster, training), 0U);
}

// Found by a trial: single slots were taken from one job, one by one, until a whole gang went for the last of them, and
// the runs of the first job began again.
TEST(LiveQuotaPolicy, WhatOneGangGivesIsNotTakenFromOthersToo) {
  for (const std::uint32_t wanted : {4U, 6U}) {
    SupervisorConfig config = config_of("quota");
    config.policy.projects.push_back({.name = "vision", .guaranteed_slots = 4});
    config.policy.projects.push_back({.name = "speech", .guaranteed_slots = 4});
    LiveCluster cluster{config};
    cluster.join(cpu_worker("w1", 4));
    cluster.join(cpu_worker("w2", 4));
    const JobId first = submit(cluster, {.name = "first", .subtasks = 4, .project = "vision"});
    const JobId gang = submit(cluster, {.name = "gang", .subtasks = 4, .project = "vision", .gang = 4});
    cluster.advance(1s);
    const JobId other = submit(cluster, {.name = "other", .subtasks = wanted, .project = "speech"});
    cluster.advance(5s);
    EXPECT_EQ(running(cluster, first), 4U) << wanted;
    EXPECT_EQ(running(cluster, gang), 0U) << wanted;
    EXPECT_EQ(running(cluster, other), 4U) << wanted;
    EXPECT_EQ(preemptions(cluster), 4U) << wanted;
  }
}

}  // namespace
}  // namespace penstock::tools
