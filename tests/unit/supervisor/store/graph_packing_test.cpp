#include "supervisor/store/graph_packing.hpp"

#include <gtest/gtest.h>

#include <string>

#include "common/base/rng.hpp"
#include "common/protocol/graph_chunks.hpp"
#include "tests/support/graph_builder.hpp"

namespace penstock::supervisor {
namespace {

/// The columns of a part, packed and unpacked; templates and `wanted` are put aside.
Graph there_and_back(const Graph& graph, std::uint32_t first, std::uint32_t count) {
  GraphPacker packer;
  Graph chunk;
  const Result<void> unpacked = unpack_columns(packer.pack(graph, first, count), first, count, chunk);
  EXPECT_TRUE(unpacked.has_value());
  return chunk;
}

Graph columns_of(const Graph& graph, std::uint32_t first, std::uint32_t count) {
  Graph chunk = chunk_of(graph, first, count);
  chunk.templates.clear();
  chunk.wanted.clear();
  return chunk;
}

/// Every column in use, with the largest and smallest numbers that there are.
Graph wild_graph(std::uint32_t size) {
  Rng rng{7};
  Graph graph;
  graph.payload_offsets = graph.name_offsets = {0};
  for (std::uint32_t i = 0; i < size; ++i) {
    graph.template_of.push_back(static_cast<std::uint32_t>(rng.below(3)));
    for (std::uint64_t k = rng.below(5); k > 0; --k) {
      graph.predecessors.push_back(static_cast<std::uint32_t>(rng.next()));
      graph.edge_outputs.push_back(rng.chance(1, 3) ? EdgeKind::kOrderOnly : static_cast<std::uint16_t>(rng.below(4)));
    }
    graph.input_offsets.push_back(static_cast<std::uint32_t>(graph.predecessors.size()));
    graph.priorities.push_back(static_cast<std::int32_t>(rng.next()));
    graph.expected_ns.push_back(rng.chance(1, 5) ? ~std::uint64_t{0} : rng.next());
    graph.payloads.append(rng.below(30), static_cast<char>(rng.below(256)));
    graph.payload_offsets.push_back(static_cast<std::uint32_t>(graph.payloads.size()));
    graph.names += "key-" + std::to_string(i);
    graph.name_offsets.push_back(static_cast<std::uint32_t>(graph.names.size()));
  }
  return graph;
}

Graph stencil(std::uint32_t width, std::uint32_t rows) {
  Graph graph;
  for (std::uint32_t i = 0; i < width * rows; ++i) {
    graph.template_of.push_back(0);
    for (std::uint32_t k = 0; k < 3 && i >= width; ++k)
      graph.predecessors.push_back(i - width - (i % width) + ((i % width) + width - 1 + k) % width);
    graph.input_offsets.push_back(static_cast<std::uint32_t>(graph.predecessors.size()));
  }
  return graph;
}

TEST(GraphPacking, EveryPartOfAnyGraphComesBackAsItWas) {
  const Graph graph = wild_graph(200);
  EXPECT_EQ(there_and_back(graph, 0, 200), columns_of(graph, 0, 200));
  for (std::uint32_t first = 0; first < 200; first += 13)
    for (const std::uint32_t count : {1U, 2U, 200U - first})
      EXPECT_EQ(there_and_back(graph, first, count), columns_of(graph, first, count));
}

TEST(GraphPacking, ColumnsThatAreNotThereTakeNothing) {
  const Graph bare = GraphBuilder{}.sources(1000).build();
  GraphPacker packer;
  EXPECT_LE(packer.pack(bare, 0, 1000).bytes.size(), 1U);
  EXPECT_EQ(there_and_back(bare, 0, 1000), columns_of(bare, 0, 1000));
  const Graph chain = GraphBuilder{}.chain(50).build();
  EXPECT_EQ(there_and_back(chain, 0, 1), columns_of(chain, 0, 1)) << "a part without edges of a graph that has some";
}

TEST(GraphPacking, ARegularGraphTakesAHundredthOfItsColumns) {
  const Graph graph = stencil(100, 100);
  GraphPacker packer;
  const std::size_t columns = graph.predecessors.size() * 4 + graph.size() * 4;
  EXPECT_LT(packer.pack(graph, 0, 10'000).bytes.size(), columns / 100);
  EXPECT_EQ(there_and_back(graph, 0, 10'000), columns_of(graph, 0, 10'000));
}

TEST(GraphPacking, WhatDoesNotCompressIsStoredAsItIs) {
  Rng rng{3};
  std::string noise;
  while (noise.size() < 4096) noise += static_cast<char>(rng.next());
  const Graph graph = GraphBuilder{}.sources(1).payloads({noise}).build();
  GraphPacker packer;
  const GraphPacker::Packed packed = packer.pack(graph, 0, 1);
  EXPECT_EQ(packed.bytes.size(), packed.raw_bytes);
  EXPECT_EQ(there_and_back(graph, 0, 1), columns_of(graph, 0, 1));
}

// Behind a checksum it takes a mistake of ours to get here; it must not become a second one.
TEST(GraphPacking, WhateverTheBytesAreTheyAreRefusedOrFit) {
  const Graph graph = wild_graph(40);
  GraphPacker packer;
  const GraphPacker::Packed packed = packer.pack(graph, 0, 40);
  const std::string good{packed.bytes};
  Rng rng{11};
  for (int round = 0; round < 20'000; ++round) {
    std::string bad = good;
    for (std::uint64_t flips = 1 + rng.below(3); flips > 0; --flips)
      bad[rng.below(bad.size())] = static_cast<char>(rng.next());
    if (rng.chance(1, 3)) bad.resize(rng.below(bad.size()));
    // Compressed, or as if it had not been.
    const std::uint64_t raw_bytes = rng.chance(1, 2) ? packed.raw_bytes : bad.size();
    Graph chunk;
    if (!unpack_columns({bad, raw_bytes}, 0, 40, chunk)) continue;
    ASSERT_EQ(chunk.template_of.size(), 40U);
    ASSERT_EQ(chunk.input_offsets.size(), 41U);
    ASSERT_EQ(chunk.input_offsets.back(), chunk.predecessors.size());
  }
  Graph chunk;
  EXPECT_FALSE(unpack_columns({good, ~std::uint64_t{0}}, 0, 40, chunk).has_value());
  EXPECT_FALSE(unpack_columns({{}, 0}, 0, 40, chunk).has_value());
}

}  // namespace
}  // namespace penstock::supervisor
