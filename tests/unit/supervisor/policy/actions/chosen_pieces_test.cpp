#include <gtest/gtest.h>

#include "supervisor/policy/actions/chosen_pieces.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

/// Two single jobs on one band, and a job with a member there and one on another band.
PolicyBuilder two_bands() {
  PolicyBuilder builder;
  const std::uint32_t first = builder.device_band(4);
  const std::uint32_t second = builder.device_band(4);
  const std::uint32_t project = builder.project("p", 4);
  for (int i = 0; i < 2; ++i) {
    builder.job("single" + std::to_string(i), project);
    builder.holds(1, first);
  }
  builder.job("spread", project);
  builder.holds(1, first);
  builder.holds(1, second);
  return builder;
}

TEST(ChosenPieces, SingleJobsCountOnTheirBand) {
  const PolicyBuilder builder = two_bands();
  const Parts parts = parts_named("quota");
  const Trial trial{builder.snapshot, 0, parts};
  const VictimPiece first{0, {0}, trial.amount(0), 0, 0};
  const VictimPiece second{1, {1}, trial.amount(1), 0, 0};
  ChosenPieces pieces{trial};
  pieces.add(first, false);
  pieces.add(second, true);
  EXPECT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces.of_jobs_on(0).size(), 2U);
  EXPECT_TRUE(pieces.of_jobs_on(1).empty());
  EXPECT_TRUE(pieces.are_single_on(0));
  EXPECT_EQ(pieces.gone_from(0).gpu, 2000);
  EXPECT_EQ(pieces.all_from(0).gpu, 2000);
  EXPECT_EQ(pieces.lost_from(0), 1000);
  EXPECT_EQ(pieces.last_bands(), std::vector<std::uint32_t>{0});
  pieces.clear();
  EXPECT_EQ(pieces.gone_from(0).gpu, 0);
  EXPECT_TRUE(pieces.bands().empty());
}

TEST(ChosenPieces, AllPiecesOfAJobGoWithEachBandOfIt) {
  const PolicyBuilder builder = two_bands();
  const Parts parts = parts_named("quota");
  const Trial trial{builder.snapshot, 0, parts};
  const VictimPiece on_first{2, {2}, trial.amount(2), 0};
  const VictimPiece on_second{2, {3}, trial.amount(3), 0};
  ChosenPieces pieces{trial};
  pieces.add(on_second, true);
  EXPECT_EQ(pieces.last_bands(), std::vector<std::uint32_t>{1});
  pieces.add(on_first, true);
  EXPECT_EQ(pieces.last_bands(), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(pieces.of_jobs_on(0).size(), 2U);
  EXPECT_EQ(pieces.of_jobs_on(1).size(), 2U);
  EXPECT_FALSE(pieces.are_single_on(0));
  EXPECT_EQ(&pieces[0], &on_second);
}

}  // namespace
}  // namespace penstock::policy
