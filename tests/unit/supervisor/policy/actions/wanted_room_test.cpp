#include "supervisor/policy/actions/wanted_room.hpp"

#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

/// Two full bands of four devices with jobs of two devices each; a job that wants three waits.
class WantedRoomOf : public testing::Test {
 protected:
  WantedRoomOf() {
    for (int i = 0; i < 2; ++i) builder.device_band(4);
    const std::uint32_t above = builder.project("above", 2);
    const std::uint32_t below = builder.project("below", 6);
    for (std::uint32_t i = 0; i < 4; ++i) {
      builder.job("job" + std::to_string(i), above);
      builder.holds(2, i / 2);
    }
    builder.job("waits", below);
    builder.wants(3);
    rules.not_project = below;
  }
  VictimPiece piece(const QuotaPass& pass, std::uint32_t job) const {
    return {job, {job}, pass.trial().amount(job), 0, job / 2};
  }

  PolicyBuilder builder;
  SolveRules rules;
  const Parts parts = parts_named("quota");
};

TEST_F(WantedRoomOf, PiecesOfOneBandMakeRoomTogether) {
  const QuotaPass pass{builder.snapshot, 0, parts};
  WantedRoom room{pass, rules};
  room.look_at({4});
  room.look_at_recorded({});
  EXPECT_FALSE(room.fits_anyway(0));
  EXPECT_FALSE(room.is_there());
  const VictimPiece first = piece(pass, 0);
  const VictimPiece second = piece(pass, 1);
  const VictimPiece other = piece(pass, 2);
  EXPECT_FALSE(room.might_fit({&first, &other}));
  EXPECT_TRUE(room.might_fit({&first, &second}));
  ChosenPieces chosen{pass.trial()};
  chosen.add(first, true);
  EXPECT_TRUE(room.is_missing_on(0, chosen));
  EXPECT_FALSE(room.is_for_first_on(0, chosen.all_from(0)));
  chosen.add(second, true);
  EXPECT_FALSE(room.is_missing_on(0, chosen));
  EXPECT_TRUE(room.is_for_first_on(0, chosen.all_from(0)));
}

TEST_F(WantedRoomOf, RecordedPiecesCountWithThoseThatAreChosen) {
  const QuotaPass pass{builder.snapshot, 0, parts};
  WantedRoom room{pass, rules};
  room.look_at({4});
  const VictimPiece first = piece(pass, 0);
  const VictimPiece second = piece(pass, 1);
  room.look_at_recorded({&first});
  ChosenPieces chosen{pass.trial()};
  chosen.add(second, true);
  EXPECT_FALSE(room.is_missing_on(0, chosen));
  room.look_at_recorded({&first, &second});
  EXPECT_TRUE(room.is_there());
}

}  // namespace
}  // namespace penstock::policy
