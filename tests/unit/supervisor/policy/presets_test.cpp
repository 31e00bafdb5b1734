#include <gtest/gtest.h>

#include "supervisor/policy/parts.hpp"

namespace penstock::policy {
namespace {

TEST(Presets, AllHaveANameAndActions) {
  for (const Preset* each = presets(); !each->name.empty(); ++each) {
    EXPECT_GT(each->parts.action_count, 0U) << each->name;
    EXPECT_TRUE(preset(each->name)) << each->name;
  }
}

TEST(Presets, AMistypedNameFindsTheNearest) {
  const Result<Parts> found = preset("fair_shar");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().remedy, "did you mean 'fair_share'?");
}

}  // namespace
}  // namespace penstock::policy
