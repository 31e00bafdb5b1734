#include "supervisor/core/output_table.hpp"

#include <gtest/gtest.h>

#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

TEST(OutputTable, AJobWithoutBytesKeepsNothing) {
  const auto shape = shape_of(GraphBuilder{}.chain(2).build());
  OutputTable data;
  EXPECT_FALSE(data.in_use());
  EXPECT_EQ(data.bytes(*shape, 0, 0), 0);
  EXPECT_EQ(data.total_bytes(*shape, 0), 0);
}

TEST(OutputTable, ReadersAreTheDataEdges) {
  const auto shape = shape_of(GraphBuilder{}.add().add({0}).add({0, GraphBuilder::order(1)}).build());
  OutputTable data;
  data.open(*shape);
  EXPECT_TRUE(data.in_use());
  EXPECT_EQ(data.readers(0), 2U);
  EXPECT_EQ(data.readers(1), 0U);
  data.open(*shape);  // Again: changes nothing.
  EXPECT_EQ(data.readers(0), 2U);
}

TEST(OutputTable, EachOutputHasItsOwnSize) {
  GraphBuilder graph;
  graph.template_at(0).output_count = 0;
  graph.template_at(1).output_count = 3;
  graph.add().add({}, 1).add({}, 1);
  const auto shape = shape_of(graph.build());
  OutputTable data;
  data.open(*shape);
  data.set_bytes(*shape, 0, 0, 1);
  data.set_bytes(*shape, 1, 0, 10);
  data.set_bytes(*shape, 1, 2, 20);
  data.set_bytes(*shape, 2, 1, 30);
  EXPECT_EQ(data.total_bytes(*shape, 0), 1);
  EXPECT_EQ(data.bytes(*shape, 1, 1), 0);
  EXPECT_EQ(data.bytes(*shape, 1, 2), 20);
  EXPECT_EQ(data.total_bytes(*shape, 1), 30);
  EXPECT_EQ(data.total_bytes(*shape, 2), 30);
}

TEST(OutputTable, ReplicasAreASet) {
  const auto shape = shape_of(GraphBuilder{}.sources(2).build());
  OutputTable data;
  data.open(*shape);
  EXPECT_EQ(data.replicas(0), nullptr);
  data.add_replica(0, WorkerId{4});
  data.add_replica(0, WorkerId{4});
  data.add_replica(0, WorkerId{5});
  ASSERT_NE(data.replicas(0), nullptr);
  EXPECT_EQ(*data.replicas(0), (std::vector<WorkerId>{WorkerId{4}, WorkerId{5}}));
  data.remove_replica(0, WorkerId{4});
  data.remove_replica(1, WorkerId{4});
  EXPECT_EQ(*data.replicas(0), std::vector<WorkerId>{WorkerId{5}});
  data.forget_replicas(0);
  EXPECT_EQ(data.replicas(0), nullptr);
}

TEST(OutputTable, ClearingForgetsAll) {
  const auto shape = shape_of(GraphBuilder{}.sources(1).build());
  OutputTable data;
  data.open(*shape);
  data.set_bytes(*shape, 0, 0, 5);
  data.set_gone(0, true);
  EXPECT_TRUE(data.gone(0));
  data.clear();
  EXPECT_FALSE(data.in_use());
}

}  // namespace
}  // namespace penstock::supervisor
