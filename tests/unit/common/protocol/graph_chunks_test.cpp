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

}  // namespace
}  // namespace penstock
