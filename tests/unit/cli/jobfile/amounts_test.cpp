#include "cli/jobfile/amounts.hpp"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

using namespace std::chrono_literals;

TEST(Amounts, SecondsMustBeFiniteAndSane) {
  EXPECT_EQ(duration_of_seconds(0.25).value(), 250ms);
  EXPECT_FALSE(duration_of_seconds(-0.1));
  EXPECT_FALSE(duration_of_seconds(1e30));
  EXPECT_FALSE(duration_of_seconds(std::numeric_limits<double>::quiet_NaN()));
}

TEST(Amounts, AreShownWithThreeDigitsOrSo) {
  EXPECT_EQ(show_duration(0ns), "0 s");
  EXPECT_EQ(show_duration(421ns), "421 ns");
  EXPECT_EQ(show_duration(12345us), "12.3 ms");
  EXPECT_EQ(show_duration(4560ms), "4.56 s");
  EXPECT_EQ(show_duration(125s), "2 min 05 s");
  EXPECT_EQ(show_duration(200min), "3 h 20 min");
  EXPECT_EQ(show_duration(50h), "2 d 02 h");
  EXPECT_EQ(show_bytes(17), "17 B");
  EXPECT_EQ(show_bytes(1536), "1.5 KiB");
  EXPECT_EQ(show_bytes(INT64_MAX), "8.0 EiB");
  EXPECT_EQ(show_count(0), "0");
  EXPECT_EQ(show_count(999), "999");
  EXPECT_EQ(show_count(1234567), "1,234,567");
}

TEST(Amounts, NumbersAreRoundedToTheirSignificantDigits) {
  EXPECT_EQ(show_rounded(0, 6), "0");
  EXPECT_EQ(show_rounded(2.5, 6), "2.5");
  EXPECT_EQ(show_rounded(12.3456789, 6), "12.3457");
  EXPECT_EQ(show_rounded(-0.00123456789, 6), "-0.00123457");
  EXPECT_EQ(show_rounded(2e-6, 6), "0.000002");
  EXPECT_EQ(show_rounded(-1e-30, 6), "0");
  EXPECT_EQ(show_rounded(1234567.8, 6), "1234568");
  EXPECT_EQ(show_rounded(1000, 6), "1000");
  EXPECT_EQ(show_rounded(0.1 + 0.2, 6), "0.3");
  EXPECT_EQ(show_rounded(999999.9, 6), "1000000");
  EXPECT_EQ(show_rounded(std::numeric_limits<double>::infinity(), 6), "inf");
}

}  // namespace
}  // namespace penstock::cli
