#include "cli/jobfile/graph_builder.hpp"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

TEST(GraphBuilder, EqualTemplatesAreOne) {
  GraphBuilder builder;
  Template content;
  content.name = "a";
  content.environment = {"X=1", "Y=2"};
  EXPECT_EQ(builder.add_template(content), 0U);
  EXPECT_EQ(builder.add_template(content), 0U);
  content.environment = {"X=1,", "Y=2"};
  EXPECT_EQ(builder.add_template(content), 1U);
  content.time_limit = Duration{1};
  EXPECT_EQ(builder.add_template(content), 2U);
}

TEST(GraphBuilder, LeavesOutColumnsThatSayNothing) {
  GraphBuilder builder;
  builder.add_template({});
  for (int i = 0; i < 2; ++i) {
    builder.add_subtask({});
    builder.end_inputs();
  }
  const Graph graph = builder.take();
  EXPECT_TRUE(graph.name_offsets.empty());
  EXPECT_TRUE(graph.payload_offsets.empty());
  EXPECT_TRUE(graph.priorities.empty());
  EXPECT_TRUE(graph.expected_ns.empty());
  EXPECT_TRUE(graph.edge_outputs.empty());
  EXPECT_EQ(name_of(graph, 1), "1");
}

TEST(GraphBuilder, KnowsTheEdgesOfTheOpenSubtaskOnly) {
  GraphBuilder builder;
  builder.add_template({});
  for (int i = 0; i < 4; ++i) builder.add_subtask({});
  builder.end_inputs();
  builder.data_edge(0);
  EXPECT_TRUE(builder.has_edge_from(0));
  EXPECT_FALSE(builder.has_edge_from(2));
  builder.order_edge(3);
  EXPECT_TRUE(builder.has_edge_from(0));
  EXPECT_TRUE(builder.has_edge_from(3));
  builder.end_inputs();
  EXPECT_FALSE(builder.has_edge_from(0));
}

Graph of_edges(std::uint32_t count, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  GraphBuilder builder;
  builder.add_template({});
  for (std::uint32_t i = 0; i < count; ++i) {
    builder.add_subtask({});
    for (const auto& [from, to] : edges)
      if (to == i) builder.data_edge(from);
    builder.end_inputs();
  }
  return builder.take();
}

TEST(GraphSequence, PutsPredecessorsFirst) {
  const GraphSequence sequence = sequence_of(of_edges(4, {{3, 0}, {0, 2}, {2, 1}, {3, 1}}));
  EXPECT_EQ(sequence.order, (std::vector<std::uint32_t>{3, 0, 2, 1}));
  EXPECT_TRUE(sequence.cycle.empty());
}

TEST(GraphSequence, NamesOneCycleAndNotWhatLiesBehindIt) {
  const Graph graph = of_edges(6, {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}, {4, 5}});
  const GraphSequence sequence = sequence_of(graph);
  EXPECT_EQ(sequence.cycle, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(show_cycle(graph, sequence.cycle), "1 -> 2 -> 3 -> 1");
}

}  // namespace
}  // namespace penstock::cli
