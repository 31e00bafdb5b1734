#include "supervisor/core/graph_shape.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

TEST(GraphShape, FindsASubtaskByItsKey) {
  const auto shape = shape_of(GraphBuilder{}.sources(3).keys({"left", "right", "2"}).build());
  EXPECT_EQ(shape->find("right"), SubtaskIndex{1});
  EXPECT_EQ(shape->find("2"), SubtaskIndex{2});
  EXPECT_EQ(shape->find("lef"), SubtaskIndex::none());
  EXPECT_EQ(shape->name(0), "left");
}

TEST(GraphShape, WithoutKeysTheNumberIsTheName) {
  const auto shape = shape_of(GraphBuilder{}.sources(12).build());
  EXPECT_EQ(shape->name(11), "11");
  EXPECT_EQ(shape->find("11"), SubtaskIndex{11});
  EXPECT_EQ(shape->find("12"), SubtaskIndex::none());
}

// Fault F31: a search through all names took milliseconds of the supervisor for each order.
TEST(GraphShape, FindsEachOfManyKeysAndNoOther) {
  constexpr std::uint32_t kCount = 5000;
  std::vector<std::string> keys;
  for (std::uint32_t i = 0; i < kCount; ++i) keys.push_back("k" + std::to_string(i * 7919 % kCount));
  const auto shape = shape_of(GraphBuilder{}.sources(kCount).keys(keys).build());
  for (std::uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(shape->find(keys[i]), SubtaskIndex{i}) << keys[i];
  for (const char* absent : {"", "k", "k5000", "k00", "l", "a"}) EXPECT_EQ(shape->find(absent), SubtaskIndex::none());
  EXPECT_EQ(shape->find_key_or_number("17"), SubtaskIndex{17});
  EXPECT_EQ(shape->find_key_or_number("5000"), SubtaskIndex::none());
}

TEST(GraphShape, WithoutKeysOnlyTheNumberAsItIsPrintedIsAName) {
  const auto shape = shape_of(GraphBuilder{}.sources(12).build());
  EXPECT_EQ(shape->find("011"), SubtaskIndex::none());
  EXPECT_EQ(shape->find_key_or_number("011"), SubtaskIndex{11});
}

TEST(GraphShape, EdgesLeadBothWays) {
  const auto shape = shape_of(GraphBuilder{}.sources(2).add({0, 1}).add({0, GraphBuilder::order(2)}).build());
  EXPECT_EQ(shape->edge_count(), 4U);
  ASSERT_EQ(shape->predecessors(3).size(), 2U);
  EXPECT_EQ(shape->predecessors(3)[1], 2U);
  EXPECT_EQ(shape->edge_output(shape->first_edge(3)), 0U);
  EXPECT_EQ(shape->edge_output(shape->first_edge(3) + 1), EdgeKind::kOrderOnly);
  ASSERT_EQ(shape->successors(0).size(), 2U);
  EXPECT_EQ(shape->successors(0)[1], 3U);
  EXPECT_TRUE(shape->successors(3).empty());
}

TEST(GraphShape, UserPrioritiesSaturate) {
  GraphBuilder graph;
  graph.template_at(0).priority = std::numeric_limits<std::int32_t>::max();
  graph.add().priority(5);
  EXPECT_EQ(shape_of(graph.build())->user_priority(0), std::numeric_limits<std::int32_t>::max());
}

TEST(GraphShape, ASubtasksOwnDurationWins) {
  GraphBuilder graph;
  graph.template_at(0).expected_duration = std::chrono::seconds{2};
  graph.add().add().expected(std::chrono::seconds{5});
  const auto shape = shape_of(graph.build());
  EXPECT_EQ(shape->expected_duration(0), std::chrono::seconds{2});
  EXPECT_EQ(shape->expected_duration(1), std::chrono::seconds{5});
}

TEST(GraphShape, TellsTheMemoryThatItsColumnsTake) {
  const auto small = shape_of(GraphBuilder{}.sources(10).build());
  const auto large = shape_of(GraphBuilder{}.sources(10'000).build());
  EXPECT_GE(large->memory_bytes(), 10'000 * sizeof(std::uint32_t));
  EXPECT_LT(small->memory_bytes(), large->memory_bytes());
}

}  // namespace
}  // namespace penstock::supervisor
