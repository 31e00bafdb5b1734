#include "cli/amounts.hpp"

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

}  // namespace
}  // namespace penstock::cli
