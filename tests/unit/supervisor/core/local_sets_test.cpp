#include "supervisor/core/local_sets.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

TEST(LocalSets, ABandGetsASetWhenOneIsAskedFor) {
  LocalSets sets;
  EXPECT_EQ(sets.find(BandSlot{3}), nullptr);
  sets.at(BandSlot{3}).push_ready(1);
  sets.at(BandSlot{0}).push_ready(2);
  ASSERT_NE(sets.find(BandSlot{3}), nullptr);
  EXPECT_EQ(sets.find(BandSlot{3})->best_ready(), 1U);
  EXPECT_EQ(sets.find(BandSlot{1}), nullptr);
  EXPECT_EQ(sets.size(), 2U);
}

TEST(LocalSets, AllSetsAreOfBandsInItsRange) {
  LocalSets sets;
  EXPECT_EQ(sets.first(), sets.end());
  sets.at(BandSlot{7});
  sets.at(BandSlot{9});
  sets.at(BandSlot{5});
  EXPECT_EQ(sets.first(), 5U);
  EXPECT_EQ(sets.end(), 10U);
}

TEST(LocalSets, NothingIsLeftOfClearedSets) {
  LocalSets sets;
  sets.at(BandSlot{4}).push_ready(1);
  EXPECT_GT(sets.memory_bytes(), 0U);
  sets.clear();
  EXPECT_EQ(sets.find(BandSlot{4}), nullptr);
  EXPECT_EQ(sets.memory_bytes(), 0U);
  EXPECT_EQ(sets.size(), 0U);
}

}  // namespace
}  // namespace penstock::supervisor
