// SupervisorCore: moving tentative placements from one band to another.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

TEST(Homes, AnIdleBandTakesWhatIsKeptForOthers) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1, .steal_after = Duration{0}}};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(11).build());
  EXPECT_EQ(cluster.assigned().size(), 3U);
  cluster.join();
  const Lines moved = cluster.assigned();
  EXPECT_EQ(moved.size(), 3U);
  for (const std::string& line : moved) EXPECT_TRUE(line.ends_with("to w2")) << line;
  EXPECT_EQ(cluster.core().counters().moved_here, 4U);
}

// No band is fed by it, and an attempt that stays must not be asked after again and again because a band has looked.
TEST(Homes, WhatHasToStayStaysInItsOrder) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1, .steal_after = Duration{0}}};
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).required = {"worker-1", ""};
  for (std::uint32_t i = 0; i < 12; ++i) graph.add({}, i % 2);
  cluster.submit(graph.build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w1", "2 to w1"}));
  cluster.join();
  EXPECT_EQ(cluster.assigned(), (Lines{"5 to w2", "7 to w2", "9 to w2"}));
  EXPECT_EQ(cluster.core().counters().moved_here, 4U) << "half of what is kept, the lowest in order";
  for (const std::uint32_t subtask : {0U, 1U, 2U}) cluster.succeed(1, subtask);
  EXPECT_EQ(cluster.assigned(), (Lines{"3 to w1", "4 to w1", "6 to w1", "8 to w1", "10 to w1"}));
}

// Found by seed 20023412 of the simulator: a band was idle, and what might run on it stood behind what might not.
TEST(Homes, AnIdleBandFindsWhatFitsItBehindMuchThatDoesNot) {
  constexpr std::uint32_t kFits = 1005;
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1, .steal_after = std::chrono::milliseconds{1}}};
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).required = {"worker-1", ""};
  for (std::uint32_t i = 0; i < 2000; ++i) graph.add({}, i == kFits ? 1 : 0);
  cluster.submit(graph.build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w1", "2 to w1"}));
  cluster.join();
  EXPECT_EQ(cluster.assigned(), Lines{}) << "not all are looked at in one event";
  PENSTOCK_EXPECT_COVERAGE_MARK("an idle band found fitting work behind other work",
                                for (int i = 0; i < 10; ++i) cluster.tick_after(std::chrono::milliseconds{2}));
  EXPECT_EQ(cluster.assigned(), Lines{std::to_string(kFits) + " to w2"});
}

// Seed 120192931: the subtask had been offered in vain once, while it was not worth its move, and never again.
TEST(Homes, AnIdleBandGetsWhatIsWorthItsMoveOnlyNow) {
  SupervisorHarness cluster{
      {.lookahead_subtasks_max = 3, .lookahead_subtasks_initial = 1, .steal_after = std::chrono::milliseconds{1}}};
  cluster.join();
  cluster.submit(GraphBuilder{}.chain(2).build(), {.priority = -1});
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w1, cached"}));
  GraphBuilder bound;
  bound.template_at(0).required = {"worker-1", ""};
  cluster.submit(bound.sources(9).build());
  cluster.ignore();
  cluster.succeed(1, 0, {{0, std::uint64_t{4} << 30U}});
  cluster.say(1, 1, Outcome::Returned);
  cluster.ignore();
  cluster.join();
  for (int i = 0; i < 10; ++i) cluster.tick_after(std::chrono::milliseconds{2});
  EXPECT_EQ(cluster.assigned(), Lines{}) << "its input takes seconds to move";
  for (int i = 0; i < 10; ++i) cluster.tick_after(std::chrono::seconds{2});
  EXPECT_EQ(cluster.assigned(), Lines{"1#2 to w2"});
  cluster.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
