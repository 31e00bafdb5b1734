#include <gtest/gtest.h>

#include "supervisor/policy/fitting/band_score.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(BandScore, PacksTowardsTheFuller) {
  EXPECT_EQ(pack_score(8, 4, 16), 6 * kScoreUnit);
  EXPECT_EQ(pack_score(4, 4, 16), 9 * kScoreUnit);
  EXPECT_EQ(pack_score(1, 1, 1), 9 * kScoreUnit);
  EXPECT_EQ(pack_score(0, 0, 0), 0);
}

TEST(BandScore, ChoosesByFittingAndName) {
  PolicyBuilder builder;
  builder.device_band(4);
  const std::uint32_t fuller = builder.device_band(4);
  const std::uint32_t project = builder.project("p", 8);
  builder.job("runs", project);
  builder.holds(2, fuller);
  builder.job("waits", project);
  builder.wants(1);
  Parts parts = parts_named("quota");
  EXPECT_EQ(choose_band(Trial{builder.snapshot, 0, parts}, 1, Trial::When::NowOrLater, {})->band, fuller);
  parts.gpu_fitting = Fitting::Spread;
  EXPECT_EQ(choose_band(Trial{builder.snapshot, 0, parts}, 1, Trial::When::NowOrLater, {})->band, 0U);
  builder.only_on({fuller});
  EXPECT_EQ(choose_band(Trial{builder.snapshot, 0, parts}, 1, Trial::When::NowOrLater, {})->band, fuller);
}

}  // namespace
}  // namespace penstock::policy
