#include "cli/amounts.hpp"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

using namespace std::chrono_literals;

TEST(Amounts, DurationsHaveAUnit) {
  EXPECT_EQ(parse_duration_text("10s").value(), 10s);
  EXPECT_EQ(parse_duration_text("1.5 h").value(), 90min);
  EXPECT_EQ(parse_duration_text("250us").value(), 250us);
  EXPECT_EQ(parse_duration_text("0ns").value(), 0ns);
  for (const char* wrong : {"", "10", "s", "-1s", "10 parsecs", "nans", "inf s", "1e300h", "99999999h", "1s1s", " 1s"})
    EXPECT_FALSE(parse_duration_text(wrong)) << wrong;
}

TEST(Amounts, BytesThatDoNotFitAreRefusedInsteadOfWrapping) {
  EXPECT_EQ(parse_bytes_text("512MiB").value(), Bytes{std::int64_t{512} << 20});
  EXPECT_EQ(parse_bytes_text("1.5 kB").value(), Bytes{1500});
  EXPECT_EQ(parse_bytes_text("7").value(), Bytes{7});
  EXPECT_EQ(parse_bytes_text("7EiB").value(), kGiB * (std::int64_t{7} << 30));
  for (const char* wrong : {"", "8EiB", "10EB", "-1B", "1K", "1 mib", "99999999999999999999", "x"})
    EXPECT_FALSE(parse_bytes_text(wrong)) << wrong;
}

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
