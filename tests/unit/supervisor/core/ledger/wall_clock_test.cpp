#include "supervisor/core/ledger/wall_clock.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr Instant kStart{hours{5}};
const WallClock kClock{kStart, 1'700'000'000'000};

TEST(WallClock, ATimeOfThisTermGoesThereAndBack) {
  EXPECT_EQ(kClock.unix_ms(kStart), 1'700'000'000'000);
  EXPECT_EQ(kClock.unix_ms(kStart + milliseconds{1500}), 1'700'000'001'500);
  EXPECT_EQ(kClock.instant_of(1'699'999'999'000), kStart - milliseconds{1000});
}

TEST(WallClock, AnUnknownTimeAndOneOfTheFutureAreTheStart) {
  EXPECT_EQ(kClock.instant_of(0), kStart);
  EXPECT_EQ(kClock.instant_of(1'700'000'000'001), kStart);
}

TEST(WallClock, ATimeIsAtMostACenturyAgo) {
  EXPECT_EQ(kClock.instant_of(INT64_MIN / 4), kStart - hours{36'500 * 24});
}

}  // namespace
}  // namespace penstock::supervisor
