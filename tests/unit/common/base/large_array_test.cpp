#include "common/base/large_array.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

namespace penstock {
namespace {

bool is_aligned(const void* address, std::size_t to) { return reinterpret_cast<std::uintptr_t>(address) % to == 0; }

TEST(LargeArray, ABigOneBeginsAtALargePage) {
  for (const std::size_t bytes : {kLargePage, 5 * kLargePage / 4, 3 * kLargePage / 2}) {
    const LargeArray<std::uint32_t> numbers(bytes / sizeof(std::uint32_t));
    EXPECT_TRUE(is_aligned(numbers.data(), kLargePage)) << bytes;
  }
}

TEST(LargeArray, ASmallOneIsAlignedAsItsElementsAre) {
  struct alignas(64) Line {
    std::uint32_t number = 0;
  };
  LargeArray<Line> lines;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    lines.push_back(Line{i});
    ASSERT_TRUE(is_aligned(lines.data(), 64));
  }
  EXPECT_EQ(lines[999].number, 999U);
}

TEST(LargeArray, WhatItHoldsSurvivesItsGrowthFromSmallToLarge) {
  LargeArray<std::uint64_t> numbers;
  const std::size_t count = 2 * kLargePage / sizeof(std::uint64_t);
  for (std::uint64_t i = 0; i < count; ++i) numbers.push_back(i);
  EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0}), count * (count - 1) / 2);
  numbers.clear();
  numbers.shrink_to_fit();
  EXPECT_TRUE(numbers.empty());
}

}  // namespace
}  // namespace penstock
