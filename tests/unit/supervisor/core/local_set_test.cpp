#include "supervisor/core/local_set.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

TEST(LocalSet, TakesTheSmallestKeyFirst) {
  LocalSet set;
  for (const std::uint64_t key : {5U, 1U, 3U}) set.push_ready(key);
  EXPECT_EQ(set.best_ready(), 1U);
  EXPECT_EQ(set.take_ready(), 1U);
  EXPECT_EQ(set.take_ready(), 3U);
  EXPECT_EQ(set.take_ready(), 5U);
  EXPECT_EQ(set.best_ready(), LocalSet::kNone);
}

TEST(LocalSet, ASortedRunOfSourcesAndTheHeapAreOneQueue) {
  LocalSet set;
  for (const std::uint64_t key : {2U, 4U, 6U}) set.push_ready(key);
  set.push_ready(5);
  set.push_ready(1);
  EXPECT_EQ(set.ready_count(), 5U);
  for (const std::uint64_t key : {1U, 2U, 4U, 5U, 6U}) EXPECT_EQ(set.take_ready(), key);
  EXPECT_TRUE(set.empty());
}

TEST(LocalSet, CandidatesForLookaheadAreKeptApart) {
  LocalSet set;
  set.push_ahead(9);
  set.push_ahead(8);
  set.push_ready(10);
  EXPECT_EQ(set.ready_count(), 1U);
  EXPECT_EQ(set.ahead_count(), 2U);
  EXPECT_EQ(set.best_ahead(), 8U);
  EXPECT_EQ(set.take_ahead(), 8U);
  EXPECT_EQ(set.take_ahead(), 9U);
  EXPECT_EQ(set.best_ahead(), LocalSet::kNone);
  EXPECT_FALSE(set.empty());
}

TEST(LocalSet, GivesAwayFromTheLowEnd) {
  LocalSet set;
  for (const std::uint64_t key : {2U, 4U, 6U}) set.push_ready(key);
  set.push_ready(1);
  EXPECT_EQ(set.take_lowest_ready(), 6U);
  EXPECT_EQ(set.take_lowest_ready(), 4U);
  EXPECT_EQ(set.take_lowest_ready(), 2U);
  EXPECT_EQ(set.take_lowest_ready(), 1U);
  EXPECT_EQ(set.take_lowest_ready(), LocalSet::kNone);
}

TEST(LocalSet, TheBestOfSeveralIsNeverGivenAway) {
  LocalSet set;
  for (std::uint64_t key = 20; key > 0; --key) set.push_ready(key);
  for (int i = 0; i < 19; ++i) EXPECT_NE(set.take_lowest_ready(), 1U);
  EXPECT_EQ(set.take_ready(), 1U);
}

TEST(LocalSet, ARunThatWasGivenAwayInPartIsTakenToItsEnd) {
  LocalSet set;
  for (const std::uint64_t key : {2U, 4U}) set.push_ready(key);
  EXPECT_EQ(set.take_ready(), 2U);
  EXPECT_EQ(set.take_lowest_ready(), 4U);
  EXPECT_EQ(set.best_ready(), LocalSet::kNone);
  set.push_ready(7);
  EXPECT_EQ(set.take_ready(), 7U);
  EXPECT_EQ(set.ready_count(), 0U);
}

TEST(LocalSet, TheBestIsNotGivenAwayThoughItIsTheLastOfItsRun) {
  LocalSet set;
  for (const std::uint64_t key : {1U, 9U, 7U}) set.push_ready(key);
  EXPECT_EQ(set.take_lowest_ready(), 9U);
  EXPECT_EQ(set.take_lowest_ready(), 7U);
  EXPECT_EQ(set.take_ready(), 1U);
}

}  // namespace
}  // namespace penstock::supervisor
