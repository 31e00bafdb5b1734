#include "tools/bench/bench_figures.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace penstock::tools {
namespace {

SubtaskTrace trace(std::uint32_t subtask, std::uint32_t worker, std::uint64_t arrived_us, std::uint64_t started_us) {
  SubtaskTrace made;
  made.worker = WorkerId{worker};
  made.run.subtask = SubtaskIndex{subtask};
  made.run.arrived_us = arrived_us;
  made.run.started_us = started_us;
  made.run.ended_us = started_us + 100;
  return made;
}

/// 2 reads 0 and 1; 3 reads 2.
Graph diamond() {
  Graph graph;
  graph.templates.emplace_back();
  graph.template_of = {0, 0, 0, 0};
  graph.predecessors = {0, 1, 2};
  graph.input_offsets = {0, 0, 0, 2, 3};
  return graph;
}

TEST(Percentiles, AreThoseOfTheSortedTimes) {
  std::vector<std::uint64_t> times(100);
  std::iota(times.rbegin(), times.rend(), 1);
  const Percentiles found = percentiles_of(times);
  EXPECT_EQ(found.count, 100U);
  EXPECT_EQ(found.p50_us, 50);
  EXPECT_EQ(found.p99_us, 99);
  EXPECT_EQ(found.max_us, 100);
  EXPECT_EQ(percentiles_of({7}).p99_us, 7);
  EXPECT_EQ(percentiles_of({}).count, 0U);
}

TEST(SuccessorTimes, TellForwardedSubtasksFromThoseSentAfterwards) {
  // 2 was there before its last predecessor (1, until 250) ended; 3 came after 2 had ended at 360.
  SuccessorTimes times;
  add_successor_times(diamond(), {trace(0, 1, 0, 10), trace(1, 1, 0, 150), trace(2, 1, 5, 260), trace(3, 1, 400, 430)},
                      times);
  EXPECT_EQ(times.forwarded_us, (std::vector<std::uint64_t>{10}));
  EXPECT_EQ(times.through_supervisor_us, (std::vector<std::uint64_t>{70}));
}

TEST(SuccessorTimes, WhatEndedElsewhereWasToldByTheSupervisor) {
  SuccessorTimes times;
  add_successor_times(diamond(), {trace(0, 1, 0, 10), trace(1, 2, 0, 150), trace(2, 1, 5, 260)}, times);
  EXPECT_TRUE(times.forwarded_us.empty());
  EXPECT_EQ(times.through_supervisor_us, (std::vector<std::uint64_t>{10}));
}

TEST(SuccessorTimes, AHoleInTheTracesIsNoPair) {
  SuccessorTimes times;
  add_successor_times(diamond(), {trace(0, 1, 0, 10), trace(2, 1, 5, 260)}, times);
  EXPECT_TRUE(times.forwarded_us.empty() && times.through_supervisor_us.empty());
}

TEST(Median, IsTheMiddle) {
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median_of({}), 0);
}

TEST(BenchFigures, TheFirstAndTheLastTenThousandAreReadOffTheNews) {
  // 64 at once, then 1,000 a millisecond, at last 500 a millisecond.
  std::vector<NewsPoint> news{{0.010, 64}};
  double at = 0.010;
  std::uint64_t count = 64;
  for (; count < 50'064; count += 2000) news.push_back({at += 0.002, count + 2000});
  for (; count < 70'064; count += 1000) news.push_back({at += 0.002, count + 1000});
  const EdgeRates rates = edge_rates(news, 10'000);
  EXPECT_NEAR(rates.first_per_s, 1e6, 1);
  EXPECT_NEAR(rates.last_per_s, 5e5, 1);
}

TEST(BenchFigures, AShortJobHasNoEnds) {
  EXPECT_EQ(edge_rates({}, 10'000).first_per_s, 0);
  EXPECT_EQ(edge_rates({{0.1, 5000}, {0.2, 10'000}, {0.3, 20'000}}, 10'000).last_per_s, 0);
}

TEST(BenchFigures, SecondsBecomeMicroseconds) {
  const Percentiles found = percentiles_of_seconds({0.003, 0.001, 0.002});
  EXPECT_EQ(found.p50_us, 2000);
  EXPECT_EQ(found.max_us, 3000);
  EXPECT_EQ(percentiles_of_seconds({-1e-6}).max_us, 0) << "clocks have a grain";
}

}  // namespace
}  // namespace penstock::tools
