#include <gtest/gtest.h>

#include "supervisor/policy/sharing/reclaim_rules.hpp"

namespace penstock::policy {
namespace {

/// Devices: what is guaranteed, held, and the fair share.
Owner holding(std::int64_t guaranteed, std::int64_t held, std::int64_t fair_share) {
  Owner owner;
  owner.of[2] = {.guaranteed = guaranteed, .allocated = held, .fixed = held, .fair_share = fair_share};
  return owner;
}

TEST(ReclaimRules, NobodyTakesBeyondHisShare) {
  EXPECT_TRUE(may_reclaim({holding(1, 1, 2)}, {0, {.gpu = 1}, true}));
  EXPECT_FALSE(may_reclaim({holding(1, 2, 2)}, {0, {.gpu = 1}, true}));
  EXPECT_FALSE(may_reclaim({holding(1, 1, 2)}, {0, {.gpu = 1}, false})) << "not preemptible: within the guarantee";
}

TEST(ReclaimRules, OnlyWhoIsAboveHisShareLoses) {
  EXPECT_TRUE(reclaim_is_fair({holding(2, 1, 2), holding(2, 3, 2)}, {0, {.gpu = 1}, true}, {{1, {.gpu = 1}}}, 1000));
  EXPECT_FALSE(reclaim_is_fair({holding(2, 1, 2), holding(2, 2, 2)}, {0, {.gpu = 1}, true}, {{1, {.gpu = 1}}}, 1000));
}

TEST(ReclaimRules, AGuaranteeTakesFromWhoIsAboveHisOwn) {
  EXPECT_TRUE(reclaim_is_fair({holding(3, 2, 3), holding(2, 3, 3)}, {0, {.gpu = 1}, true}, {{1, {.gpu = 1}}}, 1000));
}

TEST(ReclaimRules, NobodyEndsFullerThanHisVictim) {
  // 3 of 2 for the reclaimer's department, 1 of 2 for the victim's.
  std::vector<Owner> owners{holding(9, 2, 2), holding(0, 3, 2), holding(9, 0, 9), holding(0, 3, 2)};
  owners[2].parent = 0;
  owners[3].parent = 1;
  EXPECT_FALSE(reclaim_is_fair(owners, {2, {.gpu = 1}, true}, {{3, {.gpu = 2}}}, 1000));
}

TEST(ReclaimRules, WhatTheVictimHasGuaranteedWouldComeBack) {
  const std::vector<ReclaimedPiece> pieces{{1, {.gpu = 2}}, {1, {.gpu = 2}}, {1, {.gpu = 3}}};
  const Reclaimer reclaimer{0, {.gpu = 6}, true};
  EXPECT_TRUE(would_come_back({holding(2, 1, 8), holding(2, 7, 2)}, reclaimer, pieces))
      << "one of 2 would be within the victim's guarantee again, and the reclaimer is beyond his";
  EXPECT_FALSE(would_come_back({holding(8, 1, 8), holding(2, 7, 2)}, reclaimer, pieces));
  EXPECT_FALSE(would_come_back({holding(2, 1, 8), holding(1, 7, 2)}, reclaimer, pieces));
  EXPECT_TRUE(reclaim_is_fair({holding(2, 1, 8), holding(2, 7, 2)}, reclaimer, pieces, 1000)) << "the page allows it";
}

}  // namespace
}  // namespace penstock::policy
