#include "cli/jobfile/job_array.hpp"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

Result<std::vector<std::string>> items(const std::string& text, std::uint64_t items_max = 1000) {
  DocumentValue value;
  value.kind = DocumentValue::Kind::Text;
  value.text = text;
  return read_array(value, items_max);
}

using Items = std::vector<std::string>;

TEST(JobArray, RangesHaveBothEnds) {
  EXPECT_EQ(items("1-3").value(), (Items{"1", "2", "3"}));
  EXPECT_EQ(items("0-9:4, 20").value(), (Items{"0", "4", "8", "20"}));
  EXPECT_EQ(items("08-10").value(), (Items{"08", "09", "10"}));
  EXPECT_EQ(items("18446744073709551614-18446744073709551615").value().size(), 2U);
}

TEST(JobArray, RefusesWhatIsNoRange) {
  for (const char* wrong : {"", "x", "1-", "-1", "3-1", "1-3:0", "1-3,", "1-3,2", "1..3", "99999999999999999999-1"})
    EXPECT_FALSE(items(wrong)) << wrong;
}

TEST(JobArray, RefusesMoreSubtasksThanAllowedBeforeMakingThem) {
  EXPECT_EQ(items("1-18446744073709551615").error().code, ErrorCode::LimitExceeded);
  EXPECT_TRUE(items("1-1000"));
  EXPECT_FALSE(items("0-1000"));
  EXPECT_FALSE(items("1-600,601-1001"));
}

TEST(JobArray, SubstitutesTheItem) {
  EXPECT_EQ(substitute("part-{i} of {i}", "7"), "part-7 of 7");
  EXPECT_EQ(substitute("awk '{{i}}' {i}", "7"), "awk '{i}' 7");
  EXPECT_EQ(substitute("{i", "7"), "{i");
  EXPECT_EQ(substitute("{i}", "{i}"), "{i}");
  EXPECT_FALSE(has_placeholder("{ i }"));
}

}  // namespace
}  // namespace penstock::cli
