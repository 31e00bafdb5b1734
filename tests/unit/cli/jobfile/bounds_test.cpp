#include "cli/jobfile/bounds.hpp"

#include <gtest/gtest.h>

#include "cli/jobfile/graph_builder.hpp"

namespace penstock::cli {
namespace {

struct Planned {
  std::int64_t ns = 0;
  std::vector<std::uint32_t> predecessors;
};

Graph plan(const std::vector<Planned>& subtasks) {
  GraphBuilder builder;
  builder.add_template({});
  for (const Planned& subtask : subtasks) {
    builder.add_subtask({0, {}, {}, 0, Duration{subtask.ns}});
    for (const std::uint32_t predecessor : subtask.predecessors) builder.data_edge(predecessor);
    builder.end_inputs();
  }
  return builder.take();
}

TEST(Bounds, OfAChainAreItsLength) {
  const ScheduleBounds bounds = list_schedule_bound(plan({{5, {}}, {7, {0}}, {9, {1}}}), 4);
  EXPECT_EQ(bounds.critical_path, Duration{21});
  EXPECT_EQ(bounds.lower_bound, Duration{21});
  EXPECT_EQ(bounds.list_schedule, Duration{21});
}

TEST(Bounds, OfIndependentSubtasksAreTheWorkPerSlot) {
  const ScheduleBounds bounds = list_schedule_bound(plan({{4, {}}, {4, {}}, {4, {}}, {3, {}}}), 2);
  EXPECT_EQ(bounds.work, Duration{15});
  EXPECT_EQ(bounds.critical_path, Duration{4});
  EXPECT_EQ(bounds.lower_bound, Duration{8});
  EXPECT_EQ(bounds.list_schedule, Duration{8});
}

TEST(Bounds, TheLongestPathGoesFirst) {
  // By position, 0 and 1 would start and the chain 2, 3 would follow: 14 instead of 10.
  const Graph graph = plan({{4, {}}, {4, {}}, {5, {}}, {5, {2}}});
  EXPECT_EQ(list_schedule_bound(graph, 2).list_schedule, Duration{10});
}

TEST(Bounds, SubtasksWithoutDurationUseTheirTemplates) {
  Graph graph = plan({{0, {}}, {3, {0}}});
  graph.templates[0].expected_duration = Duration{2};
  EXPECT_EQ(critical_path(graph), Duration{5});
}

TEST(Bounds, WorkOfNoDurationTakesNoTime) {
  EXPECT_EQ(list_schedule_bound(plan({{0, {}}, {0, {0}}, {0, {}}}), 1).list_schedule, Duration{0});
  EXPECT_EQ(critical_path(plan({})), Duration{0});
}

}  // namespace
}  // namespace penstock::cli
