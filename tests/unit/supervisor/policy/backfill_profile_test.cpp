#include <gtest/gtest.h>

#include "supervisor/policy/backfill_profile.hpp"
#include "supervisor/policy/parts.hpp"

namespace penstock::policy {
namespace {

using std::chrono::seconds;
constexpr Instant kNow{};

Backfill ten_slots(std::uint32_t depth) {
  return {AvailabilityProfile{kNow, 4, {{kNow + seconds{10}, 6}}}, kNow, depth};
}
const auto kAnywhere = [] { return true; };

// Spec: policy-flux 9.
TEST(BackfillProfile, ALaterJobStartsIfItDelaysNoReservation) {
  Backfill easy = ten_slots(1);
  EXPECT_EQ(easy.next({8, seconds{5}}, kAnywhere).at, kNow + seconds{10});
  EXPECT_EQ(easy.next({4, seconds{11}}, kAnywhere).verdict, BackfillVerdict::Waits);
  EXPECT_EQ(easy.next({2, seconds{20}}, kAnywhere).verdict, BackfillVerdict::Starts);
}

TEST(BackfillProfile, FirstComeFirstServedStopsAtTheFirstBlocked) {
  Backfill fcfs = ten_slots(0);
  EXPECT_EQ(fcfs.next({8, seconds{5}}, kAnywhere).verdict, BackfillVerdict::Waits);
  EXPECT_EQ(fcfs.next({1, seconds{1}}, kAnywhere).verdict, BackfillVerdict::Waits);
}

TEST(BackfillProfile, ConservativeReservesForAll) {
  Backfill all = ten_slots(kReserveAll);
  EXPECT_EQ(all.next({8, seconds{10}}, kAnywhere).verdict, BackfillVerdict::Reserved);
  EXPECT_EQ(all.next({10, seconds{5}}, kAnywhere).at, kNow + seconds{20});
  EXPECT_EQ(all.next({2, seconds{100}}, kAnywhere).at, kNow + seconds{25});
}

// Its end is not known, so a job that starts later may delay it.
TEST(BackfillProfile, BehindOneWhoseStartIsNotKnownNobodyStarts) {
  Backfill easy{AvailabilityProfile{kNow, 4, {{kNever, 6}}}, kNow, 1};
  const BackfillOutcome head = easy.next({8, seconds{5}}, kAnywhere);
  EXPECT_EQ(head.verdict, BackfillVerdict::Reserved);
  EXPECT_EQ(head.at, kNever);
  EXPECT_EQ(easy.next({1, seconds{1}}, kAnywhere).verdict, BackfillVerdict::Waits);
}

// Its start costs nobody a slot, so that no reservation is spent on it, and nobody waits behind it.
TEST(BackfillProfile, WhoNeedsNoSlotsTakesNoReservation) {
  const auto nowhere = [] { return false; };
  for (const std::uint32_t depth : {0U, 1U}) {
    Backfill policy = ten_slots(depth);
    EXPECT_EQ(policy.next({0, seconds{5}}, nowhere).verdict, BackfillVerdict::Waits);
    EXPECT_EQ(policy.next({4, seconds{5}}, kAnywhere).verdict, BackfillVerdict::Starts);
    EXPECT_EQ(policy.next({8, seconds{5}}, kAnywhere).verdict,
              depth == 0 ? BackfillVerdict::Waits : BackfillVerdict::Reserved);
    EXPECT_EQ(policy.next({0, seconds{5}}, kAnywhere).verdict, BackfillVerdict::Starts) << "whoever is blocked";
  }
}

TEST(BackfillProfile, WhatIsReservedForOneThatIsBoundIsNobodyElsesFromThenOn) {
  Backfill easy = ten_slots(1);
  const BackfillRequest bound{3, seconds{5}, false};
  EXPECT_EQ(easy.next(bound, [] { return false; }).verdict, BackfillVerdict::Waits);
  ASSERT_TRUE(easy.reserves());
  EXPECT_EQ(easy.keep(bound, kNow + seconds{10}, 1).at, kNow + seconds{10});
  EXPECT_FALSE(easy.reserves());
  EXPECT_EQ(easy.next({4, seconds{1}}, kAnywhere).verdict, BackfillVerdict::Starts) << "until then it may be used";
}

TEST(BackfillProfile, WhatIsKeptForOneWhoseStartNobodyKnowsIsNobodyElses) {
  Backfill easy = ten_slots(1);
  const BackfillRequest bound{3, seconds{5}, false};
  EXPECT_EQ(easy.next(bound, [] { return false; }).verdict, BackfillVerdict::Waits);
  EXPECT_EQ(easy.keep(bound, kNever, 1).at, kNever);
  EXPECT_EQ(easy.next({4, seconds{1}}, kAnywhere).verdict, BackfillVerdict::Waits);
  EXPECT_EQ(easy.next({3, seconds{100}}, kAnywhere).verdict, BackfillVerdict::Starts);
}

// Slots that are free, but not together, are kept for it; slots where it may not be are not.
TEST(BackfillProfile, WhoFindsNoPlaceKeepsWhatIsFreeIfItWouldDo) {
  const auto nowhere = [] { return false; };
  for (const bool anywhere : {true, false}) {
    Backfill easy{AvailabilityProfile{kNow, 4}, kNow, 1};
    EXPECT_EQ(easy.next({4, seconds{5}, anywhere}, nowhere).verdict,
              anywhere ? BackfillVerdict::Reserved : BackfillVerdict::Waits);
    EXPECT_EQ(easy.next({1, seconds{1}}, kAnywhere).verdict,
              anywhere ? BackfillVerdict::Waits : BackfillVerdict::Starts);
  }
}

TEST(BackfillProfile, WhoIsPastHisLimitEndsInTheFuture) {
  const AvailabilityProfile profile{kNow + seconds{5}, 0, {{kNow, 1}}};
  EXPECT_EQ(profile.earliest(1, seconds{1}), kNow + seconds{65}) << "spec: policy-flux 9";
  const AvailabilityProfile finer{kNow + seconds{5}, 0, {{kNow, 1}}, seconds{1}};
  EXPECT_EQ(finer.earliest(1, seconds{1}), kNow + seconds{6});
  EXPECT_EQ(profile.earliest(2, seconds{1}), kNever);
}

TEST(BackfillProfile, WhatComesBackAddsUpInTheOrderOfTime) {
  const AvailabilityProfile profile{
      kNow, 1, {{kNow + seconds{9}, 4}, {kNow + seconds{3}, 2}, {kNever, 8}, {kNow + seconds{9}, 1}}};
  EXPECT_EQ(profile.earliest(1, Duration::max()), kNow);
  EXPECT_EQ(profile.earliest(3, Duration::max()), kNow + seconds{3});
  EXPECT_EQ(profile.earliest(8, Duration::max()), kNow + seconds{9});
  EXPECT_EQ(profile.earliest(9, Duration::max()), kNever);
}

// Else whatever is free would stay so for as long as he goes on.
TEST(BackfillProfile, BehindOneThatIsPastHisLimitOthersPassMeanwhile) {
  Backfill easy{AvailabilityProfile{kNow, 4, {{kNow - seconds{10}, 6}}}, kNow, 1};
  EXPECT_EQ(easy.next({8, seconds{5}}, kAnywhere).at, kNow + seconds{60});
  EXPECT_EQ(easy.next({4, seconds{30}}, kAnywhere).verdict, BackfillVerdict::Starts);
}

// A promise to begin later shortens what is free now.
TEST(BackfillProfile, FreeNowMeansUntilTheEnd) {
  AvailabilityProfile profile{kNow, 4, {{kNow + seconds{10}, 6}}};
  profile.occupy(kNow + seconds{10}, seconds{5}, 8);
  EXPECT_TRUE(profile.is_free_now(4, seconds{10}));
  EXPECT_FALSE(profile.is_free_now(4, seconds{11}));
  EXPECT_TRUE(profile.is_free_now(2, Duration::max()));
  EXPECT_FALSE(profile.is_free_now(5, seconds{1}));
}

// Later jobs are told whether they start, not when they would: that nobody promised.
TEST(BackfillProfile, WithItsReservationsGivenOutItStillFillsGaps) {
  Backfill easy = ten_slots(1);
  EXPECT_EQ(easy.next({8, seconds{5}}, kAnywhere).verdict, BackfillVerdict::Reserved);
  for (int i = 0; i < 3; ++i) {
    const BackfillOutcome blocked = easy.next({9, seconds{5}}, kAnywhere);
    EXPECT_EQ(blocked.verdict, BackfillVerdict::Waits);
    EXPECT_EQ(blocked.at, kNever);
  }
  EXPECT_EQ(easy.next({4, seconds{10}}, kAnywhere).verdict, BackfillVerdict::Starts);
}

}  // namespace
}  // namespace penstock::policy
