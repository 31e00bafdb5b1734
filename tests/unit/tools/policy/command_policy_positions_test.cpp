#include "tools/policy/command_policy_positions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace penstock::tools {
namespace {

/// How many of them are smaller than each.
std::vector<std::ptrdiff_t> ranks_of(const std::vector<std::string>& texts) {
  std::vector<Decimal> numbers;
  for (const std::string& text : texts) {
    const std::optional<Decimal> number = parse_decimal(text);
    EXPECT_TRUE(number) << text;
    numbers.push_back(number.value_or(Decimal{}));
  }
  std::vector<std::ptrdiff_t> ranks;
  for (const Decimal& each : numbers)
    ranks.push_back(std::count_if(numbers.begin(), numbers.end(), [&](const Decimal& one) { return one < each; }));
  return ranks;
}

using Ranks = std::vector<std::ptrdiff_t>;

TEST(CasePositions, EveryDigitCounts) {
  EXPECT_EQ(ranks_of({"1640995200000005", "1640995200000000", "1640995200000000.0000000001"}), (Ranks{2, 0, 1}));
  EXPECT_EQ(ranks_of({"123456789012345678901234567890", "123456789012345678901234567889"}), (Ranks{1, 0}));
  EXPECT_EQ(ranks_of({"0.00000000000000000002", "0.00000000000000000001"}), (Ranks{1, 0}));
}

TEST(CasePositions, TheSameNumberIsOnePlaceHoweverItIsWritten) {
  EXPECT_EQ(ranks_of({"1.50", "15e-1", "+001.5", "0.015E+2", "2"}), (Ranks{0, 0, 0, 0, 4}));
  EXPECT_EQ(ranks_of({"-2.5", "-30", "0", "-0.0", "4"}), (Ranks{1, 0, 2, 2, 4}));
}

TEST(CasePositions, WhatIsNoNumberIsRefused) {
  for (const char* text :
       {"", "-", ".", "1.2.3", "1e", "1e5x", "ten", "1 2", "--1", "1,5", "1e99999999999", "1e+-1", "1e--1"})
    EXPECT_FALSE(parse_decimal(text)) << text;
}

TEST(CasePositions, NumbersAreTakenAsTheyStandInTheFile) {
  const Result<cli::DocumentValue> file = cli::parse_document(
      R"({"n": [9007199254740993, 9007199254740992, 0.1, "0.2"]})", cli::DocumentFormat::Json, "case");
  ASSERT_TRUE(file);
  const std::vector<cli::DocumentValue>& numbers = file->find("n")->items;
  EXPECT_TRUE(*decimal_of(numbers[1]) < *decimal_of(numbers[0]));
  EXPECT_TRUE(*decimal_of(numbers[2]) < *decimal_of(numbers[3]));
  EXPECT_FALSE(decimal_of(*file));
}

}  // namespace
}  // namespace penstock::tools
