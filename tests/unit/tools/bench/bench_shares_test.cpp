#include "tools/bench/bench_shares.hpp"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

using News = std::vector<NewsPoint>;

TEST(CommonTime, CountsFromTheFirstResultOfTheLastToTheLastOfTheFirst) {
  const News early{{0.0, 0}, {1.0, 10}, {3.0, 30}};
  const News late{{2.0, 5}, {4.0, 25}, {6.0, 45}};
  const CommonTime found = common_time({early, late});
  EXPECT_DOUBLE_EQ(found.seconds, 1.0);  // From 2 to 3.
  ASSERT_EQ(found.jobs.size(), 2U);
  EXPECT_EQ(found.jobs[0].succeeded, 10U);
  EXPECT_EQ(found.jobs[1].succeeded, 10U);
  EXPECT_DOUBLE_EQ(found.jobs[0].share, 0.5);
}

TEST(CommonTime, IsNothingForJobsThatRanOneAfterTheOther) {
  EXPECT_EQ(common_time({{{1.0, 10}, {2.0, 20}}, {{3.0, 1}, {4.0, 20}}}).seconds, 0);
  EXPECT_EQ(common_time({{{1.0, 10}, {2.0, 20}}, {{1.0, 0}}}).seconds, 0);
  EXPECT_EQ(common_time({{{1.0, 10}, {2.0, 20}}, {}}).seconds, 0);
  EXPECT_EQ(common_time({}).seconds, 0);
}

TEST(CommonTime, SubtasksEndEvenlyBetweenTwoNews) {
  const CommonTime found = common_time({{{0.0, 10}, {10.0, 110}}, {{2.0, 1}, {3.0, 31}}});
  ASSERT_EQ(found.jobs.size(), 2U);
  EXPECT_EQ(found.jobs[0].succeeded, 10U);
  EXPECT_EQ(found.jobs[1].succeeded, 30U);
  EXPECT_DOUBLE_EQ(found.jobs[1].share, 0.75);
}

}  // namespace
}  // namespace penstock::tools
