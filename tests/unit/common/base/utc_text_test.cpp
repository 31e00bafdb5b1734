#include "common/base/utc_text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace penstock {
namespace {

TEST(UtcText, TimesAreReadAsPeopleWriteThem) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(1'796'029'951'999), "2026-11-30T09:12:31Z");
  EXPECT_EQ(utc_text(951'782'400'000), "2000-02-29T00:00:00Z");
  EXPECT_EQ(utc_text(-1), "1969-12-31T23:59:59Z");
}

TEST(UtcText, TimesThatNoCalendarHasAreItsFirstAndLastSecond) {
  EXPECT_EQ(utc_text(std::numeric_limits<std::int64_t>::min()), "1000-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(std::numeric_limits<std::int64_t>::max()), "9999-12-31T23:59:59Z");
}

}  // namespace
}  // namespace penstock
