#include "supervisor/core/local_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "common/base/rng.hpp"

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

TEST(LocalSet, ConsecutiveKeysTakeNoMemoryBesideTheSet) {
  LocalSet set;
  for (std::uint64_t key = 100; key < 1'000'100; ++key) set.push_ready(key);
  EXPECT_EQ(set.memory_bytes(), 0U);
  EXPECT_EQ(set.ready_count(), 1'000'000U);
  for (std::uint64_t key = 100; key < 200; ++key) EXPECT_EQ(set.take_ready(), key);
  EXPECT_EQ(set.take_lowest_ready(), 1'000'099U);
  set.push_ready(5'000'000);
  EXPECT_GT(set.memory_bytes(), 0U) << "a second range";
}

TEST(LocalSet, AKeyThatIsPushedTwiceIsTakenTwice) {
  LocalSet set;
  for (const std::uint64_t key : {3U, 4U, 4U, 5U}) set.push_ready(key);
  for (const std::uint64_t key : {3U, 4U, 4U, 5U}) EXPECT_EQ(set.take_ready(), key);
  EXPECT_TRUE(set.empty());
}

TEST(LocalSet, ForeseesWhatWillBeTaken) {
  LocalSet set;
  for (const std::uint64_t key : {10U, 11U, 12U}) set.push_ready(key);
  set.push_ahead(20);
  std::array<std::uint64_t, 8> keys{};
  ASSERT_EQ(set.next_keys(keys), 4U);
  EXPECT_TRUE(std::equal(keys.begin(), keys.begin() + 4, std::array<std::uint64_t, 4>{10, 11, 12, 20}.begin()));
  EXPECT_EQ(set.next_keys(std::span{keys}.first(2)), 2U) << "no more than there is room for";
  EXPECT_EQ(LocalSet{}.next_keys(keys), 0U);

  set.push_ready(50);
  EXPECT_EQ(set.next_keys(keys), 4U) << "ranges behind the first would be another trip";

  for (const std::uint64_t key : {5U, 4U, 3U, 2U}) set.push_ready(key);
  EXPECT_EQ(set.next_keys(keys), 7U);
  EXPECT_EQ(keys[0], 2U) << "the best of those that came later, and two that may be the next";
}

// The set against one that keeps every key in order, with runs, gaps, repetitions and keys from before.
TEST(LocalSet, NeverLosesOrInventsAKey) {
  Rng rng{7};
  for (std::uint32_t round = 0; round < 200; ++round) {
    LocalSet set;
    std::multiset<std::uint64_t> all;
    std::uint64_t key = 1000;
    for (std::uint32_t step = 0; step < 300; ++step) {
      switch (rng.below(5)) {
        case 0:
        case 1: key += rng.below(3); break;
        case 2: key -= rng.below(4); break;
        case 3:
          if (!all.empty()) {
            ASSERT_EQ(set.best_ready(), *all.begin());
            ASSERT_EQ(set.take_ready(), *all.begin());
            all.erase(all.begin());
          }
          continue;
        default:
          if (const std::uint64_t low = set.take_lowest_ready(); low != LocalSet::kNone) {
            ASSERT_TRUE(all.contains(low));
            ASSERT_TRUE(all.size() == 1 || low > *all.begin() || all.count(low) > 1) << "the best of several";
            all.erase(all.find(low));
          }
          continue;
      }
      set.push_ready(key);
      all.insert(key);
      std::vector<std::uint64_t> keys = set.all_keys();
      std::sort(keys.begin(), keys.end());
      ASSERT_TRUE(std::equal(keys.begin(), keys.end(), all.begin(), all.end()));
      ASSERT_EQ(set.ready_count(), all.size());
    }
  }
}

// A long queue of many ranges gives its memory back while it is used up.
TEST(LocalSet, WhatWasTakenIsForgotten) {
  LocalSet set;
  for (std::uint64_t key = 0; key < 40'000; key += 2) set.push_ready(key);
  for (std::uint64_t key = 0; key < 40'000; key += 2) ASSERT_EQ(set.take_ready(), key);
  EXPECT_TRUE(set.empty());
  EXPECT_LT(set.memory_bytes(), 1000U);
}

TEST(LocalSet, ErasesAnyKeyOfTheRunAndOfTheHeap) {
  Rng rng{11};
  for (int round = 0; round < 400; ++round) {
    LocalSet set;
    std::set<std::uint64_t> all;
    for (int i = 0; i < 120; ++i) {
      const std::uint64_t key = rng.below(200);
      switch (rng.below(4)) {
        case 0:  // Ascending keys make a run, with gaps.
          if (const std::uint64_t next = all.empty() ? key : *all.rbegin() + 1 + rng.below(2); all.insert(next).second)
            set.push_ready(next);
          break;
        case 1:
          if (all.insert(key).second) set.push_ready(key);
          break;
        case 2:
          ASSERT_EQ(set.erase(key), all.erase(key) == 1) << key;
          break;
        default:
          if (const std::uint64_t best = set.best_ready(); best != LocalSet::kNone && rng.below(2) == 0) {
            ASSERT_EQ(best, *all.begin());
            all.erase(set.take_ready());
          } else if (const std::uint64_t low = set.take_lowest_ready(); low != LocalSet::kNone) {
            ASSERT_EQ(all.erase(low), 1U);
          }
      }
      ASSERT_EQ(set.ready_count(), all.size());
    }
    std::vector<std::uint64_t> keys = set.all_keys();
    std::sort(keys.begin(), keys.end());
    ASSERT_TRUE(std::equal(keys.begin(), keys.end(), all.begin(), all.end()));
    for (const std::uint64_t key : all) ASSERT_EQ(set.take_ready(), key);
  }
}

}  // namespace
}  // namespace penstock::supervisor
