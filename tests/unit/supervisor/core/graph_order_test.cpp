#include "supervisor/core/graph_order.hpp"

#include <gtest/gtest.h>

#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using List = std::vector<std::uint32_t>;
using std::chrono::milliseconds;
using std::chrono::seconds;

List order_of(const Graph& graph) {
  const auto shape = shape_of(graph);
  List order;
  for (std::uint32_t rank = 0; rank < shape->size(); ++rank) {
    order.push_back(shape->at_rank(rank));
    EXPECT_EQ(shape->rank_of(shape->at_rank(rank)), rank);
  }
  return order;
}

TEST(GraphOrder, TheLongestPathGoesFirst) {
  // 0 alone; 1 -> 2 -> 3.
  EXPECT_EQ(order_of(GraphBuilder{}.add().add().add({1}).add({2}).build()), (List{1, 2, 0, 3}));
}

TEST(GraphOrder, DurationsWeighMoreThanDepth) {
  // 0 -> 1, both short; 2 alone takes long.
  EXPECT_EQ(order_of(GraphBuilder{}
                         .add()
                         .expected(milliseconds{1})
                         .add({0})
                         .expected(milliseconds{1})
                         .add()
                         .expected(milliseconds{9})
                         .build()),
            (List{2, 0, 1}));
}

TEST(GraphOrder, ATemplateTellsTheDurationThatASubtaskDoesNot) {
  GraphBuilder graph;
  graph.template_at(1).expected_duration = seconds{1};
  graph.add().expected(milliseconds{500}).add({}, 1);
  EXPECT_EQ(order_of(graph.build()), (List{1, 0}));
}

TEST(GraphOrder, ThePriorityOfTheUserBeatsThePath) {
  EXPECT_EQ(order_of(GraphBuilder{}.chain(3).add().priority(1).build()), (List{3, 0, 1, 2}));
}

TEST(GraphOrder, PrioritiesOfTemplateAndSubtaskAdd) {
  GraphBuilder graph;
  graph.template_at(0).priority = 3;
  graph.add().priority(-5).add({}, 1).priority(-1);
  EXPECT_EQ(order_of(graph.build()), (List{1, 0}));
}

TEST(GraphOrder, TiesGoByPosition) { EXPECT_EQ(order_of(GraphBuilder{}.sources(4).build()), (List{0, 1, 2, 3})); }

TEST(GraphOrder, ASortedGraphStoresNoPermutation) {
  const GraphOrder order = order_by_critical_path(GraphBuilder{}.chain(4).build(), {});
  EXPECT_TRUE(order.rank_of.empty());
  EXPECT_TRUE(order.at_rank.empty());
}

TEST(GraphOrder, CriticalPathAndTotalAreSums) {
  const auto shape = shape_of(GraphBuilder{}
                                  .add()
                                  .expected(milliseconds{10})
                                  .add({0})
                                  .expected(milliseconds{20})
                                  .add({0})
                                  .expected(milliseconds{5})
                                  .add({1, 2})
                                  .expected(milliseconds{1})
                                  .build());
  EXPECT_EQ(shape->critical_path_ns(), 31'000'000U);
  EXPECT_EQ(shape->total_ns(), 36'000'000U);
}

// A year fits 583 times into 64 bits of nanoseconds; the sums used to wrap and turned the order around.
TEST(GraphOrder, SumsOfYearsSaturateInsteadOfWrapping) {
  GraphBuilder graph;
  graph.add();
  for (std::uint32_t i = 0; i < 700; ++i) graph.add({i}).expected(std::chrono::hours{24 * 365});
  const auto shape = shape_of(graph.build());
  EXPECT_EQ(shape->rank_of(0), 0U);
  EXPECT_EQ(shape->critical_path_ns(), ~std::uint64_t{0});
  EXPECT_EQ(shape->total_ns(), ~std::uint64_t{0});
}

TEST(GraphOrder, EdgesMayPointForwardsInTheNumbering) {
  // 2 -> 1 -> 0
  const auto shape = shape_of(GraphBuilder{}.add({1}).add({2}).add().build());
  EXPECT_EQ(shape->rank_of(2), 0U);
  EXPECT_EQ(shape->rank_of(0), 2U);
  ASSERT_EQ(shape->successors(2).size(), 1U);
  EXPECT_EQ(shape->successors(2)[0], 1U);
}

TEST(GraphOrder, SuccessorsStandInTheOrderOfTheirNumbers) {
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint32_t> successors;
  link_successors(GraphBuilder{}.add().fan_out(3).add({2, 1}).build(), offsets, successors);
  EXPECT_EQ(offsets, (List{0, 3, 4, 5, 5, 5}));
  EXPECT_EQ(successors, (List{1, 2, 3, 4, 4}));
}

// Subtasks that are all alike are not looked at one by one; the figures are the same.
TEST(GraphOrder, SubtasksThatAreAllAlikeStayAsTheyAre) {
  for (const Duration each : {Duration{0}, Duration{milliseconds{5}}, Duration{std::chrono::hours{8000}}}) {
    GraphBuilder one_template;
    one_template.template_at(0).expected_duration = each;
    for (int i = 0; i < 700; ++i) one_template.add();
    const Graph alike = one_template.build();
    ASSERT_EQ(alike.templates.size(), 1U);
    Graph two_templates = alike;
    two_templates.templates.push_back(alike.templates.front());
    const GraphOrder quick = order_by_critical_path(alike, {});
    const GraphOrder slow = order_by_critical_path(two_templates, {});
    EXPECT_EQ(quick.at_rank, slow.at_rank);
    EXPECT_EQ(quick.rank_of, slow.rank_of);
    EXPECT_EQ(quick.critical_path_ns, slow.critical_path_ns);
    EXPECT_EQ(quick.total_ns, slow.total_ns);
  }
}

}  // namespace
}  // namespace penstock::supervisor
