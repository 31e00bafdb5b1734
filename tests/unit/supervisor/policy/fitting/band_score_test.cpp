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
  parts.gpu_fitting = Fitting::BinPack;
  EXPECT_EQ(choose_band(Trial{builder.snapshot, 0, parts}, 1, Trial::When::NowOrLater, {})->band, fuller);
  parts.gpu_fitting = Fitting::Spread;
  EXPECT_EQ(choose_band(Trial{builder.snapshot, 0, parts}, 1, Trial::When::NowOrLater, {})->band, 0U);
  builder.only_on({fuller});
  EXPECT_EQ(choose_band(Trial{builder.snapshot, 0, parts}, 1, Trial::When::NowOrLater, {})->band, fuller);
}

// In a search for victims nothing starts at once, but a member that waits for no other is better off all the same.
TEST(BandScore, IdleRoomCountsWhereOnlyPromisesAreMade) {
  PolicyBuilder builder;
  const std::uint32_t idle = builder.device_band(8);
  const std::uint32_t being_left = builder.device_band(4);
  const std::uint32_t project = builder.project("p", 8);
  builder.job("leaves", project);
  builder.holds(4, being_left);
  builder.last_member().state = MemberState::Leaving;
  builder.job("waits", project);
  builder.wants(2);
  builder.job("waits for a part", project);
  builder.wants(2);
  builder.last_member().request.gpu = 0;
  builder.last_member().devices = 1;
  builder.last_member().device_share = 500;
  for (const Fitting fitting : {Fitting::BinPack, Fitting::Spread}) {
    Parts parts = parts_named("quota");
    parts.gpu_fitting = parts.cpu_fitting = fitting;
    const Trial trial{builder.snapshot, 0, parts};
    for (const std::uint32_t member : {1U, 2U}) {
      const auto choice = choose_band(trial, member, Trial::When::Later, {});
      EXPECT_EQ(choice->band, idle) << member;
      EXPECT_FALSE(choice->fit.now);
      EXPECT_EQ(choose_band_by_scan(trial, {member, Trial::When::Later, {}})->band, idle) << member;
    }
  }
}

}  // namespace
}  // namespace penstock::policy
