// The price of a graph is at least what it takes.
#include "supervisor/core/graph_price.hpp"

#include <gtest/gtest.h>

#include "supervisor/core/job.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

TEST(GraphPrice, CoversWhatAGraphAndItsJobTake) {
  for (const Graph& graph : {GraphBuilder{}.sources(20'000).build(), GraphBuilder{}.chain(20'000).build()}) {
    SupervisorHarness cluster;
    cluster.submit(graph, {});
    EXPECT_LE(cluster.core().memory_bytes(), graph_price(totals_of(graph)));
    EXPECT_LE(cluster.core().held_bytes(), graph_price(totals_of(graph)));
    EXPECT_GE(cluster.core().held_bytes(), cluster.core().memory_bytes());
  }
}

TEST(GraphPrice, TextIsThereTwiceWhileChunksAreJoined) {
  GraphTotals totals;
  const std::uint64_t nothing = graph_price(totals);
  totals.payload_bytes = 1000;
  totals.name_bytes = 10;
  EXPECT_EQ(graph_price(totals), nothing + 2020);
}

TEST(GraphPrice, FurtherOutputsCostTheJobThatMakesThem) {
  Graph many = GraphBuilder{}.sources(10).build();
  const auto one_each = shape_of(many);
  EXPECT_EQ(one_each->output_count(), 10U);
  EXPECT_EQ(outputs_price(*one_each), 0U);
  many.templates[0].output_count = 5;
  const auto five_each = shape_of(many);
  EXPECT_EQ(five_each->output_count(), 50U);
  EXPECT_EQ(outputs_price(*five_each), 40U * 16U);
  EXPECT_EQ(job_price(*five_each), job_price(*one_each) + 40U * 16U);
}

}  // namespace
}  // namespace penstock::supervisor
