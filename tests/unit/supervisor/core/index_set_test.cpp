#include "supervisor/core/index_set.hpp"

#include <gtest/gtest.h>

#include <set>

#include "common/base/rng.hpp"

namespace penstock::supervisor {
namespace {

TEST(IndexSet, AnEmptySetHasNoNext) {
  const IndexSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.contains(0));
  EXPECT_EQ(set.next(0), IndexSet::kNone);
  EXPECT_EQ(set.next_around(5000), IndexSet::kNone);
}

TEST(IndexSet, InsertingAndErasingTwiceCountsOnce) {
  IndexSet set;
  set.insert(7);
  set.insert(7);
  EXPECT_EQ(set.size(), 1U);
  set.erase(7);
  set.erase(7);
  set.erase(1'000'000);
  EXPECT_TRUE(set.empty());
}

TEST(IndexSet, FindsTheNextAcrossWordsBlocksAndTops) {
  IndexSet set;
  // The last and first numbers of a word, of a block of words and of a word of the top.
  for (const std::uint32_t number : {63U, 64U, 4095U, 4096U, 262143U, 262144U, 600000U}) set.insert(number);
  EXPECT_EQ(set.next(0), 63U);
  EXPECT_EQ(set.next(64), 64U);
  EXPECT_EQ(set.next(65), 4095U);
  EXPECT_EQ(set.next(4096), 4096U);
  EXPECT_EQ(set.next(4097), 262143U);
  EXPECT_EQ(set.next(262144), 262144U);
  EXPECT_EQ(set.next(262145), 600000U);
  EXPECT_EQ(set.next(600001), IndexSet::kNone);
  EXPECT_EQ(set.next_around(600001), 63U);
}

TEST(IndexSet, ErasingTheLastOfABlockForgetsTheBlock) {
  IndexSet set;
  set.insert(5000);
  set.insert(300000);
  set.erase(5000);
  EXPECT_EQ(set.next(0), 300000U);
  set.erase(300000);
  EXPECT_EQ(set.next(0), IndexSet::kNone);
}

TEST(IndexSet, WhatIsBelow64StaysWhenMoreComes) {
  IndexSet set;
  for (const std::uint32_t number : {0U, 7U, 63U}) set.insert(number);
  EXPECT_EQ(set.next(8), 63U);
  EXPECT_EQ(set.next(64), IndexSet::kNone);
  EXPECT_FALSE(set.contains(64));
  set.erase(7);
  set.insert(64);
  EXPECT_EQ(set.size(), 3U);
  EXPECT_EQ(set.next(1), 63U);
  EXPECT_EQ(set.next(64), 64U);
  set.erase(0);
  set.erase(63);
  EXPECT_EQ(set.next(0), 64U);
  EXPECT_EQ(set.next_around(65), 64U);
}

TEST(IndexSet, AgreesWithAnOrderedSet) {
  Rng rng{1};
  IndexSet set;
  std::set<std::uint32_t> model;
  for (int step = 0; step < 20000; ++step) {
    // Dense near the start, sparse further on.
    const auto number = static_cast<std::uint32_t>(rng.below(rng.chance(1, 2) ? 300 : 700'000));
    if (rng.chance(1, 2))
      set.insert(number), model.insert(number);
    else
      set.erase(number), model.erase(number);
    const auto from = static_cast<std::uint32_t>(rng.below(800'000));
    const auto found = model.lower_bound(from);
    ASSERT_EQ(set.next(from), found == model.end() ? IndexSet::kNone : *found);
    ASSERT_EQ(set.contains(number), model.contains(number));
    ASSERT_EQ(set.size(), model.size());
  }
}

}  // namespace
}  // namespace penstock::supervisor
