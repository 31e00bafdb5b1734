#include <gtest/gtest.h>

#include "supervisor/policy/pool_rules.hpp"

namespace penstock::policy {
namespace {

TEST(PoolRules, RequestsWithoutAPoolGoToTheDefaults) {
  const PoolDefaults defaults{"light", "compute"};
  EXPECT_EQ(route(defaults, "", 0), "light");
  EXPECT_EQ(route(defaults, "", 4), "compute");
  EXPECT_EQ(route(defaults, "named", 4), "named");
}

TEST(PoolRules, GangsHaveEqualParts) {
  EXPECT_TRUE(check_gang_shape(1, 2));
  EXPECT_TRUE(check_gang_shape(8, 4));
  EXPECT_FALSE(check_gang_shape(6, 4));
}

TEST(PoolRules, AWorkerComesBackAsItWas) {
  const std::vector<DeviceRecord> devices{{0, "nvda", "u0", "3090"}};
  EXPECT_TRUE(check_devices_unchanged(devices, devices));
  EXPECT_FALSE(check_devices_unchanged(devices, {}));
  EXPECT_FALSE(check_devices_unchanged(devices, {{0, "nvda", "u1", "3090"}}));
  EXPECT_FALSE(check_pool_unchanged("a", "b"));
}

// Spec: policy-determined 9.6.
TEST(PoolRules, DesiredWorkersFollowWhatWaits) {
  const std::vector<DesiredRequest> requests{{0, 2, true}, {0, 2, true}, {1, 3, true}, {1, 8, true}, {1, 8, false}};
  EXPECT_EQ(desired_workers(requests, {}, {4, 0}), 4) << "ceil((2 + 2 + 3 + 8) / 4)";
  EXPECT_EQ(desired_workers(requests, {2, -1}, {4, 0}), 4) << "ceil((2 + 3 + 8) / 4)";
  EXPECT_EQ(desired_workers({{0, 0, true}, {0, 0, true}, {0, 0, true}}, {}, {0, 2}), 2);
}

}  // namespace
}  // namespace penstock::policy
