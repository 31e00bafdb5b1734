#include "cli/bench_figures.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace penstock::cli {
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

TEST(SuccessorDelays, TellForwardedSubtasksFromThoseSentAfterwards) {
  // 2 was there before its last predecessor (1, until 250) ended; 3 came after 2 had ended at 360.
  const SuccessorDelays delays = successor_delays(
      diamond(), {trace(0, 1, 0, 10), trace(1, 1, 0, 150), trace(2, 1, 5, 260), trace(3, 1, 400, 430)});
  EXPECT_EQ(delays.forwarded.count, 1U);
  EXPECT_EQ(delays.forwarded.max_us, 10);
  EXPECT_EQ(delays.through_supervisor.count, 1U);
  EXPECT_EQ(delays.through_supervisor.max_us, 70);
}

TEST(SuccessorDelays, ClocksOfTwoWorkersAreNotCompared) {
  const SuccessorDelays delays =
      successor_delays(diamond(), {trace(0, 1, 0, 10), trace(1, 2, 0, 150), trace(2, 1, 5, 260)});
  EXPECT_EQ(delays.forwarded.count + delays.through_supervisor.count, 0U);
}

TEST(Median, IsTheMiddle) {
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median_of({}), 0);
}

}  // namespace
}  // namespace penstock::cli
