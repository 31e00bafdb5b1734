#include "common/protocol/time_limit.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""h;

TEST(TimeLimit, FromAMillisecondToTenYearsIsALimit) {
  for (const Duration good : {Duration{1ms}, Duration{90s}, Duration{24h * 3650}})
    EXPECT_TRUE(check_time_limit("it", good).has_value());
}

TEST(TimeLimit, AnyOtherIsRefusedWithWhatItMayBe) {
  EXPECT_EQ(to_string(check_time_limit("it", Duration{0}).error()),
            "it: is 0s, and may be from 1ms to 87600h (leave it out for a job without one)");
  EXPECT_EQ(to_string(check_time_limit("it", -5s).error()),
            "it: is -5s, and may be from 1ms to 87600h (leave it out for a job without one)");
  for (const Duration bad : {Duration{999'999}, Duration{24h * 3650} + Duration{1}, Duration::max(), Duration::min()})
    EXPECT_EQ(check_time_limit("it", bad).error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace penstock
