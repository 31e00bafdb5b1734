#include "supervisor/policy/sharing/water_level.hpp"

#include <gtest/gtest.h>

namespace penstock::policy {
namespace {

TEST(WaterLevel, IsExactBeforeItIsRounded) {
  const std::vector<ShareGroup> groups{{.demand = 5}, {.demand = 5, .weight = 2000}};
  WaterLevel water{groups, Slope::Weight};
  const std::vector<Wide> shares = water.divide_exactly(4);
  EXPECT_EQ(shares[0] * 3, 4 * water.denominator());
  EXPECT_EQ(shares[1] * 3, 8 * water.denominator());
  EXPECT_EQ(water.divide(4), (std::vector<std::int64_t>{1, 3}));
}

TEST(WaterLevel, RisesByWeightAndDemandOrByWeightAlone) {
  const std::vector<ShareGroup> groups{{.demand = 10}, {.demand = 30}};
  EXPECT_EQ((WaterLevel{groups, Slope::Demand}.divide(8)), (std::vector<std::int64_t>{2, 6}));
  EXPECT_EQ((WaterLevel{groups, Slope::Weight}.divide(8)), (std::vector<std::int64_t>{4, 4}));
}

}  // namespace
}  // namespace penstock::policy
