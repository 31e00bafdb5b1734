#include "supervisor/core/admin/cluster_metrics.hpp"

#include <gtest/gtest.h>

#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

AttemptReport ended(std::uint32_t subtask, std::uint64_t attempt, Outcome outcome, std::uint32_t run_us) {
  AttemptReport report;
  report.subtask = SubtaskIndex{subtask};
  report.attempt = Attempt{attempt};
  report.outcome = outcome;
  report.run_us = run_us;
  report.band = BandIndex{0};
  return report;
}

JobSpec of_project(const std::string& name, const std::string& project) {
  JobSpec spec;
  spec.name = name;
  spec.policy.project = project;
  return spec;
}

constexpr std::size_t kAll = 1000;

TEST(ClusterMetrics, WorkersAndBandsOfAClusterWithoutAPolicy) {
  SupervisorHarness cluster;
  cluster.join({.slots = 4});
  cluster.join({.slots = 2, .gpus = 1});
  cluster.handle(supervisor_event::WorkerSuspected{WorkerId{2}, true});
  BandLoad load;
  load.band = BandIndex{0};
  load.running = 3, load.ready = 2, load.queued = 1, load.preparing = 4, load.cached = 5, load.yielded = 6;
  cluster.report_load(1, load);
  const ClusterMetrics seen = metrics_of(cluster.core(), kAll);
  EXPECT_EQ(seen.workers_ready, 1U);
  EXPECT_EQ(seen.workers_suspected, 1U);
  ASSERT_EQ(seen.pools.size(), 2U);
  EXPECT_EQ(seen.pools[0].pool, "");
  EXPECT_EQ(seen.pools[0].kind, BandKind::Cpu);
  EXPECT_EQ(seen.pools[0].slots, 6U);
  EXPECT_EQ(seen.pools[0].running, 3U);
  EXPECT_EQ(seen.pools[0].ready, 2U);
  EXPECT_EQ(seen.pools[0].preparing, 5U);
  EXPECT_EQ(seen.pools[0].cached, 5U);
  EXPECT_EQ(seen.pools[0].yielded, 6U);
  EXPECT_EQ(seen.pools[1].kind, BandKind::Gpu);
  cluster.ignore();
}

TEST(ClusterMetrics, RunsWaitsAndEndsOfJobsAreCounted) {
  SupervisorHarness cluster;
  cluster.join({.slots = 4});
  GraphBuilder graph;
  graph.template_at(0).request.slots = MilliSlots{2000};
  cluster.submit(graph.add().add().build());
  cluster.assigned();
  EXPECT_EQ(metrics_of(cluster.core(), kAll).jobs_active, 1U);
  EXPECT_EQ(metrics_of(cluster.core(), kAll).jobs_waiting, 0U);
  cluster.tick_after(seconds{5});
  cluster.report(1, {JobId{1}, {ended(0, 1, Outcome::Succeeded, 3'000'000)}, {}, {}, {}});
  cluster.report(1, {JobId{1}, {ended(1, 1, Outcome::Failed, 1'000'000)}, {}, {{}}, {}});
  const SupervisorCounters counters = metrics_of(cluster.core(), kAll).counters;
  const auto native = static_cast<std::size_t>(RunnerKind::Native);
  EXPECT_EQ(counters.runs[native].count(), 2U);
  EXPECT_EQ(counters.runs[native].sum_us(), 4'000'000U);
  ASSERT_EQ(counters.busy.rows().size(), 1U);
  EXPECT_EQ(counters.busy.rows()[0].slot_us, 8'000'000U) << "two slots each";
  const DurationCounts& waits = counters.job_waits[static_cast<std::size_t>(JobKind::Training)];
  EXPECT_EQ(waits.count(), 1U) << "of the first attempt alone";
  EXPECT_EQ(waits.sum_us(), 2'000'000U) << "5 s without the 3 s of the run";
  cluster.ignore();
}

TEST(ClusterMetrics, AReturnedAttemptThatNeverRanIsNoRun) {
  SupervisorHarness cluster;
  cluster.join({.slots = 1});
  cluster.submit(GraphBuilder{}.sources(1).build());
  cluster.assigned();
  cluster.report(1, {JobId{1}, {ended(0, 1, Outcome::Returned, 0)}, {}, {}, {}});
  EXPECT_EQ(metrics_of(cluster.core(), kAll).counters.runs[0].count(), 0U);
  cluster.ignore();
}

TEST(ClusterMetrics, AJobIsCountedAtItsEndByItsState) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(1).build());
  cluster.tick_after(milliseconds{1500});
  cluster.succeed(1, 0);
  const ClusterMetrics seen = metrics_of(cluster.core(), kAll);
  EXPECT_EQ(seen.jobs_active, 0U);
  const auto& times = seen.counters.job_times;
  EXPECT_EQ(times[static_cast<std::size_t>(JobState::Succeeded)].sum_us(), 1'500'000U);
  EXPECT_EQ(times[static_cast<std::size_t>(JobState::Failed)].count(), 0U);
  cluster.ignore();
}

TEST(ClusterMetrics, JobsOfProjectsAndPools) {
  PolicedSupervisor cluster{policed("fair_share_max_min", {{.name = "a"}, {.name = "b"}})};
  cluster.join({.slots = 2});
  cluster.submit(GraphBuilder{}.sources(8).build(), of_project("first", "a"));
  cluster.submit(GraphBuilder{}.sources(8).build(), of_project("second", "a"));
  cluster.submit(GraphBuilder{}.sources(8).build(), of_project("third", ""));
  cluster.settle(3);
  const ClusterMetrics seen = metrics_of(cluster.core(), kAll);
  ASSERT_EQ(seen.projects.size(), 3U);  // Two of the configuration, and that of jobs without one.
  EXPECT_EQ(seen.projects[0].project, "a");
  EXPECT_EQ(seen.projects[0].jobs, 2U);
  EXPECT_GT(seen.projects[0].wanted_milli, 0U);
  EXPECT_EQ(seen.projects[1].jobs, 0U);
  EXPECT_EQ(seen.projects[2].project, "");
  EXPECT_EQ(seen.projects[2].jobs, 1U);
  ASSERT_EQ(seen.pools.size(), 1U);
  EXPECT_EQ(seen.pools[0].pool, "all");
  EXPECT_EQ(seen.pools[0].jobs, 3U);
  EXPECT_TRUE(seen.pools[0].contended);
  EXPECT_GE(seen.passes_begun, 3U);
  EXPECT_GE(seen.counters.passes.count(), 3U);
  cluster.ignore();
}

TEST(ClusterMetrics, ASampleLooksAtSoManyJobsAtMost) {
  SupervisorHarness cluster;
  for (int i = 0; i < 3; ++i) cluster.submit(GraphBuilder{}.sources(1).build(), {.wait_for_resources = true});
  EXPECT_EQ(metrics_of(cluster.core(), 3).jobs_not_seen, 0U);
  EXPECT_EQ(metrics_of(cluster.core(), 3).jobs_waiting, 3U);
  const ClusterMetrics seen = metrics_of(cluster.core(), 2);
  EXPECT_EQ(seen.jobs_active, 3U);
  EXPECT_EQ(seen.jobs_not_seen, 1U);
  EXPECT_EQ(seen.jobs_waiting, 2U);
  cluster.ignore();
}

TEST(ClusterMetrics, PoolsAndProjectsBeyondTheMostShareARow) {
  std::vector<ProjectConfig> projects;
  for (std::size_t i = 0; i < ClusterSample::kProjectsMax + 2; ++i)
    projects.push_back({.name = "p" + std::to_string(i)});
  PolicedSupervisor cluster{policed("fair_share_max_min", projects)};
  cluster.submit(GraphBuilder{}.sources(1).build(), of_project("first", "p0"));
  cluster.submit(GraphBuilder{}.sources(1).build(), of_project("second", projects[ClusterSample::kProjectsMax].name));
  cluster.submit(GraphBuilder{}.sources(1).build(), of_project("third", projects.back().name));
  const ClusterMetrics seen = metrics_of(cluster.core(), kAll);
  ASSERT_EQ(seen.projects.size(), ClusterSample::kProjectsMax + 1);
  EXPECT_EQ(seen.projects[0].jobs, 1U);
  EXPECT_EQ(seen.projects.back().project, BusyTimes::kOther);
  EXPECT_EQ(seen.projects.back().jobs, 2U);
  cluster.ignore();
}

TEST(ClusterMetrics, PreemptionsHaveReasons) {
  PolicedSupervisor cluster{policed("priority")};
  cluster.join({.slots = 2});
  cluster.submit(GraphBuilder{}.sources(2).build(), of_project("low", ""));
  cluster.settle(2);
  for (const std::uint32_t subtask : {0U, 1U}) cluster.say(1, subtask, Outcome::Started);
  JobSpec high = of_project("high", "");
  high.priority = 10;
  high.policy.gang = 2;
  cluster.submit(GraphBuilder{}.sources(2).build(), high);
  cluster.settle(2);
  const ClusterMetrics seen = metrics_of(cluster.core(), kAll);
  EXPECT_EQ(seen.preempted_for[static_cast<std::size_t>(policy::PreemptionReason::Priority)], 2U);
  std::uint64_t all = 0;
  for (const std::uint64_t count : seen.preempted_for) all += count;
  EXPECT_EQ(all, 2U);
  cluster.ignore();
}

TEST(ClusterMetrics, AJobOnHoldLeavesForThatReason) {
  PolicedSupervisor cluster{policed("priority")};
  cluster.join({.slots = 1});
  cluster.submit(GraphBuilder{}.sources(1).build(), of_project("held", ""));
  cluster.settle(2);
  cluster.say(1, 0, Outcome::Started);
  ASSERT_TRUE(cluster.ask("hold", {"held"}));
  cluster.settle(2);
  const ClusterMetrics seen = metrics_of(cluster.core(), kAll);
  EXPECT_EQ(seen.jobs_on_hold, 1U);
  EXPECT_EQ(seen.preempted_for[PreemptedFor::kOnHold], 1U);
  cluster.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
