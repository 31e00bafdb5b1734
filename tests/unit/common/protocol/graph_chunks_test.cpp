#include "common/protocol/graph_chunks.hpp"

#include <gtest/gtest.h>

#include "tests/support/graph_builder.hpp"

namespace penstock {
namespace {

const Graph kGraph = GraphBuilder{}
                         .sources(3)
                         .join()
                         .add({{3, 0}, GraphBuilder::order(1)})
                         .keys({"a", "bb", "c", "d", "e"})
                         .payloads({"1", "", "333", "4", "5"})
                         .wanted({4})
                         .build();

TEST(GraphChunks, AChunkStartsItsOffsetsAnewAndKeepsTheNumbersOfPredecessors) {
  const Graph chunk = chunk_of(kGraph, 3, 2);
  EXPECT_TRUE(chunk.templates.empty());
  EXPECT_TRUE(chunk.wanted.empty());
  EXPECT_EQ(chunk.input_offsets, (std::vector<std::uint32_t>{0, 3, 5}));
  EXPECT_EQ(chunk.predecessors, (std::vector<std::uint32_t>{0, 1, 2, 3, 1}));
  EXPECT_EQ(chunk.names, "de");
  EXPECT_EQ(chunk.name_offsets, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(chunk.payloads, "45");
}

TEST(GraphChunks, TheFirstChunkBringsTemplatesAndWhatIsWanted) {
  const Graph chunk = chunk_of(kGraph, 0, 3);
  EXPECT_EQ(chunk.templates, kGraph.templates);
  EXPECT_EQ(chunk.wanted, kGraph.wanted);
  EXPECT_EQ(chunk_of(kGraph, 0, 5), kGraph);
}

TEST(GraphChunks, AChunkHoldsAtLeastOneSubtaskAndAtMostTheRest) {
  EXPECT_EQ(chunk_size(kGraph, 0, 1), 1U);
  EXPECT_EQ(chunk_size(kGraph, 1, 1'000'000), 4U);
  const std::uint32_t some = chunk_size(kGraph, 0, 80);
  EXPECT_GT(some, 1U);
  EXPECT_LT(some, 5U);
}

Graph with_payload(std::size_t bytes) {
  Graph graph;
  graph.templates = {Template{}};
  graph.template_of = {0, 0};
  graph.input_offsets = {0, 0, 0};
  graph.payloads.assign(bytes, 'p');
  graph.payload_offsets = {0, 0, static_cast<std::uint32_t>(bytes)};
  return graph;
}

TEST(GraphChunks, WhatFitsIntoNoMessageIsRefusedByName) {
  constexpr std::size_t kMessage = 100'000;
  constexpr std::size_t kChunk = 10'000;
  EXPECT_TRUE(check_chunks(with_payload(kMessage - 1024 - 12), kChunk, kMessage));
  const Result<void> refused = check_chunks(with_payload(kMessage - 1024 - 11), kChunk, kMessage);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(refused.error().subject, "subtask 1");
  EXPECT_NE(refused.error().message.find("98977"), std::string::npos) << refused.error().message;
}

TEST(GraphChunks, WhatAllSubtasksShareHasToFitIntoTheFirstMessage) {
  Graph graph = with_payload(10);
  graph.templates[0].payload.assign(60'000, 't');
  EXPECT_TRUE(check_chunks(graph, 10'000, 100'000));
  graph.templates.push_back(graph.templates[0]);
  const Result<void> refused = check_chunks(graph, 10'000, 100'000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().subject, "what the graph's subtasks share");
}

TEST(GraphChunks, ManySubtasksFitHoweverManyTheyAre) {
  Graph graph;
  graph.templates = {Template{}};
  graph.template_of.assign(100'000, 0);
  graph.input_offsets.assign(100'001, 0);
  EXPECT_TRUE(check_chunks(graph, 10'000, 20'000));
  EXPECT_TRUE(check_chunks(Graph{}, 10'000, 20'000));
}

}  // namespace
}  // namespace penstock
