#include "tools/bench/shapes.hpp"

#include <gtest/gtest.h>

#include "cli/jobfile/graph_builder.hpp"

namespace penstock::tools {
namespace {

using Numbers = std::vector<std::uint32_t>;

Graph make(Shape shape, std::uint32_t subtasks, std::uint32_t width = 0) {
  ShapeOptions options;
  options.shape = shape;
  options.subtasks = subtasks;
  options.width = width;
  const Result<Graph> graph = make_graph(options);
  EXPECT_TRUE(graph) << to_string(graph.error());
  return graph.value();
}

Numbers predecessors(const Graph& graph, std::uint32_t subtask) {
  return {graph.predecessors.begin() + graph.input_offsets[subtask],
          graph.predecessors.begin() + graph.input_offsets[subtask + 1]};
}

TEST(Shapes, HaveTheEdgesOfTheirNames) {
  EXPECT_EQ(make(Shape::Flat, 10).edge_count(), 0U);
  EXPECT_EQ(make(Shape::Trivial, 10).edge_count(), 0U);
  EXPECT_EQ(predecessors(make(Shape::Chain, 10), 9), Numbers{8});
  EXPECT_EQ(predecessors(make(Shape::Chains, 10, 3), 9), Numbers{6});
  const Graph stencil = make(Shape::Stencil, 20, 5);
  EXPECT_EQ(predecessors(stencil, 5), (Numbers{0, 1}));
  EXPECT_EQ(predecessors(stencil, 7), (Numbers{1, 2, 3}));
  EXPECT_EQ(predecessors(stencil, 9), (Numbers{3, 4}));
  const Graph fft = make(Shape::Fft, 16, 4);
  EXPECT_EQ(predecessors(fft, 4), (Numbers{0, 1}));
  EXPECT_EQ(predecessors(fft, 8), (Numbers{4, 6}));
  EXPECT_EQ(predecessors(fft, 12), (Numbers{8, 9}));
  EXPECT_EQ(predecessors(make(Shape::AllToAll, 9, 3), 5), (Numbers{0, 1, 2}));
}

TEST(Shapes, ATreeReducesAllLeavesToOne) {
  for (const std::uint32_t subtasks : {1U, 2U, 6U, 7U, 1000U}) {
    const Graph tree = make(Shape::Tree, subtasks);
    EXPECT_EQ(tree.edge_count(), subtasks - 1);
    const cli::SuccessorLists successors = cli::successors_of(tree);
    for (std::uint32_t i = 0; i + 1 < subtasks; ++i)
      EXPECT_EQ(successors.offsets[i + 1] - successors.offsets[i], 1U) << i;
  }
  EXPECT_EQ(predecessors(make(Shape::Tree, 7), 6), (Numbers{4, 5}));
}

TEST(Shapes, RandomEdgesComeFromNearColumnsAndFromTheSeedAlone) {
  const Graph graph = make(Shape::RandomNearest, 1000, 10);
  EXPECT_EQ(graph, make(Shape::RandomNearest, 1000, 10));
  for (std::uint32_t i = 10; i < 1000; ++i)
    for (const std::uint32_t predecessor : predecessors(graph, i)) {
      EXPECT_EQ(predecessor / 10, i / 10 - 1);
      EXPECT_LE(std::abs(static_cast<int>(predecessor % 10) - static_cast<int>(i % 10)), 2);
    }
  // Half of up to five.
  EXPECT_GT(graph.edge_count(), 1800U);
  EXPECT_LT(graph.edge_count(), 2800U);
  ShapeOptions other{.shape = Shape::RandomNearest, .subtasks = 1000, .width = 10, .seed = 2};
  EXPECT_NE(make_graph(other)->predecessors, graph.predecessors);
}

TEST(Shapes, EveryShapeIsSortedAndComplete) {
  for (int number = 0; number < 9; ++number)
    for (const std::uint32_t subtasks : {1U, 2U, 17U, 100U}) {
      const Graph graph = make(static_cast<Shape>(number), subtasks, 7);
      ASSERT_EQ(graph.size(), subtasks);
      ASSERT_EQ(graph.input_offsets.size(), subtasks + 1);
      for (std::uint32_t i = 0; i < subtasks; ++i)
        for (const std::uint32_t predecessor : predecessors(graph, i)) EXPECT_LT(predecessor, i);
    }
}

TEST(Shapes, PayloadsBeginWithWhatTheOperatorReads) {
  ShapeOptions options{.subtasks = 3, .burn = Duration{1000}, .payload_bytes = 20, .output_bytes = 1};
  const Graph graph = make_graph(options).value();
  EXPECT_EQ(graph.templates[0].program, "burn");
  EXPECT_EQ(graph.payload_offsets, (Numbers{0, 20, 40, 60}));
  EXPECT_EQ(graph.payloads.substr(20, 9), (std::string{"\xe8\x03\0\0\0\0\0\0\x01", 9}));
  options.payload_bytes = 1;
  EXPECT_EQ(make_graph(options)->payload_offsets[1], 16U);
  EXPECT_EQ(make(Shape::Flat, 1).templates[0].program, "noop");
}

TEST(Shapes, RefuseWhatIsTooLarge) {
  ShapeOptions options{.subtasks = 0};
  EXPECT_EQ(make_graph(options).error().code, ErrorCode::InvalidArgument);
  options.subtasks = 0xffffffffU;
  EXPECT_EQ(make_graph(options).error().code, ErrorCode::LimitExceeded);
  options = {.shape = Shape::AllToAll, .subtasks = 10'000'000, .width = 1'000'000};
  EXPECT_EQ(make_graph(options).error().code, ErrorCode::LimitExceeded);
}

TEST(Shapes, NamesAreReadBack) {
  for (int number = 0; number < 9; ++number)
    EXPECT_EQ(parse_shape(to_string(static_cast<Shape>(number))).value(), static_cast<Shape>(number));
  EXPECT_EQ(parse_shape("stencl").error().remedy, "did you mean 'stencil'?");
}

TEST(Shapes, AlternatingWorkersTakeTurns) {
  Result<Graph> graph = make_graph({.shape = Shape::Chain, .subtasks = 5});
  ASSERT_TRUE(graph.has_value());
  alternate_workers(*graph, 2);
  for (std::size_t i = 0; i < graph->size(); ++i)
    EXPECT_EQ(graph->templates[graph->template_of[i]].required.worker, i % 2 == 0 ? "worker-1" : "worker-2");
  EXPECT_EQ(graph->edge_count(), 4U);
}

TEST(Shapes, AShapeOfCommandsHasNoPayloadOfOperators) {
  Result<Graph> graph = make_graph({.shape = Shape::Flat, .subtasks = 3, .burn = Duration{5}, .payload_bytes = 20});
  ASSERT_TRUE(graph.has_value());
  become_command(*graph, "/bin/true");
  EXPECT_EQ(graph->templates[0].runner, RunnerKind::Command);
  EXPECT_EQ(graph->templates[0].program, "/bin/true");
  EXPECT_TRUE(graph->payloads.empty() && graph->payload_offsets.empty() && graph->templates[0].payload.empty());
}

}  // namespace
}  // namespace penstock::tools
