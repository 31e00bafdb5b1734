#include "common/base/duration_counts.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(DurationCounts, ABoundIsInclusive) {
  for (std::size_t i = 0; i < DurationCounts::kBoundsUs.size(); ++i) {
    DurationCounts counts;
    counts.add_us(DurationCounts::kBoundsUs[i]);
    counts.add_us(DurationCounts::kBoundsUs[i] + 1);
    EXPECT_EQ(counts.count_at(i), 1U) << i;
    EXPECT_EQ(counts.count_at(i + 1), 1U) << i;
    EXPECT_EQ(counts.count(), 2U);
    EXPECT_EQ(counts.sum_us(), 2 * DurationCounts::kBoundsUs[i] + 1);
  }
}

TEST(DurationCounts, TimeThatRunsBackwardsIsNone) {
  DurationCounts counts;
  counts.add(std::chrono::seconds{-5});
  counts.add(std::chrono::milliseconds{2});
  EXPECT_EQ(counts.count_at(0), 1U);
  EXPECT_EQ(counts.sum_us(), 2000U);
}

TEST(DurationCounts, Add) {
  DurationCounts all;
  DurationCounts some;
  some.add_us(1);
  some.add_us(~std::uint64_t{0} >> 1U);
  all.add(some);
  all.add(some);
  EXPECT_EQ(all.count_at(0), 2U);
  EXPECT_EQ(all.count_at(DurationCounts::kBoundsUs.size()), 2U);
}

}  // namespace
}  // namespace penstock
