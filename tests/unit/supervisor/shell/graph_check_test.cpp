#include "supervisor/shell/graph_check.hpp"

#include <gtest/gtest.h>

#include "common/protocol/graph_chunks.hpp"
#include "tests/support/graph_builder.hpp"

namespace penstock::supervisor {
namespace {

SubmitChunk part_of(const Graph& graph, std::uint32_t first, std::uint32_t count) {
  SubmitChunk chunk;
  chunk.submission = 5;
  chunk.first = first == 0;
  chunk.last = first + count == graph.size();
  if (chunk.first) chunk.spec.name = "graph";
  chunk.graph = chunk_of(graph, first, count);
  return chunk;
}

TEST(GraphCheck, AGraphIsCheckedWithItsLastChunk) {
  const Graph graph = GraphBuilder{}.sources(1).chain(3).build();
  GraphCheck check{GraphLimits{}};
  EXPECT_EQ(check.take(part_of(graph, 0, 2)), nullptr);
  const std::unique_ptr<supervisor_event::GraphChecked> checked = check.take(part_of(graph, 2, 2));
  ASSERT_NE(checked, nullptr);
  EXPECT_EQ(checked->submission, 5U);
  EXPECT_EQ(checked->spec.name, "graph");
  ASSERT_NE(checked->shape, nullptr);
  EXPECT_EQ(checked->shape->size(), 4U);
}

TEST(GraphCheck, TheFirstChunkThatBreaksALimitEndsItAndTheOthersAreIgnored) {
  const Graph graph = GraphBuilder{}.sources(1).chain(3).build();
  GraphLimits limits;
  limits.subtasks_max = 2;
  GraphCheck check{limits};
  const std::unique_ptr<supervisor_event::GraphChecked> refused = check.take(part_of(graph, 0, 3));
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->shape, nullptr);
  EXPECT_EQ(refused->refusal.code, ErrorCode::LimitExceeded);
  EXPECT_EQ(check.take(part_of(graph, 3, 1)), nullptr);
}

TEST(GraphCheck, AWholeGraphThatCannotBeIsRefused) {
  const Graph graph = GraphBuilder{}.add({1}).add({0}).build();
  GraphCheck check{GraphLimits{}};
  const std::unique_ptr<supervisor_event::GraphChecked> refused = check.take(part_of(graph, 0, 2));
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->refusal.code, ErrorCode::GraphCycle);
}

}  // namespace
}  // namespace penstock::supervisor
