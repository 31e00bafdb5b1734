#include "supervisor/actors/cluster_families.hpp"

#include <gtest/gtest.h>

#include <set>

#include "common/protocol/policy_config.hpp"

namespace penstock::supervisor {
namespace {

/// Whatever the cluster has, with all that may have a label.
SupervisorNumbers crowded() {
  SupervisorNumbers numbers;
  for (std::size_t i = 0; i <= ClusterSample::kPoolsMax; ++i)
    for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
      PoolMetrics& row = numbers.cluster.pools.emplace_back();
      row.pool = "pool-" + std::to_string(i);
      row.kind = kind;
    }
  PolicyConfig config;
  for (std::size_t i = 0; i < ClusterSample::kProjectsMax + 2; ++i) {
    numbers.cluster.projects.emplace_back().project = "project-" + std::to_string(i);
    config.projects.emplace_back().name = "project-" + std::to_string(i);
  }
  for (std::size_t i = 0; i < 50; ++i) config.pools.emplace_back().name = "pool-" + std::to_string(i);
  BusyTimes& busy = numbers.cluster.counters.busy;
  busy.set_names(config);
  for (std::uint32_t project = 0; project < config.projects.size(); ++project)
    for (std::uint32_t pool = 0; pool < config.pools.size(); ++pool) busy.add(project, pool, BandKind::Cpu, 1);
  return numbers;
}

TEST(ClusterFamilies, AtMostTwoThousandSeriesWhateverTheCluster) {
  const std::string text = to_text(families_of(crowded()), MetricFormat::Plain);
  std::size_t series = 0;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) series += text[at] != '#';
  EXPECT_LE(series, 2000U - 50) << "beside those of the metrics port";
  EXPECT_GT(series, 1000U) << "the sample is crowded";
}

TEST(ClusterFamilies, NamesAreUniqueAndOfPrometheus) {
  std::set<std::string> names;
  const MetricFamilies all = families_of({});
  for (const MetricFamily& family : all.all()) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_TRUE(family.name.starts_with("penstock_")) << family.name;
    EXPECT_EQ(family.name.ends_with("_total"), family.kind == MetricKind::Counter) << family.name;
    EXPECT_EQ(family.name.ends_with("_seconds"), family.kind == MetricKind::Histogram) << family.name;
    EXPECT_FALSE(family.help.empty());
  }
}

TEST(ClusterFamilies, TheNumbersComeUnderTheirNames) {
  SupervisorNumbers numbers;
  numbers.cluster.counters.jobs_accepted = 3;
  numbers.cluster.counters.job_times[static_cast<std::size_t>(JobState::Failed)].add_us(2'000'000);
  numbers.cluster.preempted_for[PreemptedFor::kLimit] = 4;
  numbers.gateway.requests_over_rate = 5;
  numbers.journal.commits.add_us(1);
  const std::string text = to_text(families_of(numbers), MetricFormat::Plain);
  for (const char* line :
       {"penstock_jobs_accepted_total 3\n", "penstock_jobs_ended_total{state=\"failed\"} 1\n",
        "penstock_job_duration_seconds_sum{state=\"failed\"} 2\n", "penstock_preemptions_total{reason=\"limit\"} 4\n",
        "penstock_requests_refused_total{reason=\"rate\"} 5\n", "penstock_journal_sync_seconds_count 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

}  // namespace
}  // namespace penstock::supervisor
