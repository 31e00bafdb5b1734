#include "supervisor/core/turns.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow{100s};
constexpr Duration kAfter = 5s;

void note(KindShare& share, bool holds, bool wants, Instant now, Duration after = kAfter, bool kept_from = false,
          std::uint64_t ended_runs = 0) {
  note_turn(share, holds, wants, kept_from, now, after, ended_runs);
}

TEST(Turns, AJobThatGetsSlotsAfterWaitingForSoLongHasItsTurnForAsLong) {
  KindShare share;
  note(share, false, true, kNow);
  EXPECT_EQ(share.since.waits, kNow);
  note(share, false, true, kNow + 3s);
  EXPECT_EQ(share.since.waits, kNow);
  note(share, true, true, kNow + kAfter);
  EXPECT_EQ(share.since.waits, kNever);
  EXPECT_TRUE(is_in_turn(share, kNow + kAfter * 2 - Duration{1}, kAfter));
  EXPECT_FALSE(is_in_turn(share, kNow + kAfter * 2, kAfter));
}

TEST(Turns, AJobThatGetsSlotsSoonerHasNone) {
  KindShare share;
  note(share, false, true, kNow);
  note(share, true, true, kNow + kAfter - Duration{1});
  EXPECT_EQ(share.since.holds, kNow + kAfter - Duration{1});
  EXPECT_FALSE(is_in_turn(share, kNow + kAfter, kAfter));
}

TEST(Turns, AWaitBeginsAnewWhenTheJobWantedNothingButNotWhenItWasKeptFromIt) {
  KindShare share;
  note(share, false, true, kNow);
  note(share, false, false, kNow + 1s, kAfter, true);
  EXPECT_EQ(share.since.waits, kNow);
  note(share, false, false, kNow + 2s);
  EXPECT_EQ(share.since.waits, kNever);
  note(share, false, true, kNow + 3s);
  EXPECT_EQ(share.since.waits, kNow + 3s);
}

TEST(Turns, ATurnEndsWithTheLastSlot) {
  KindShare share;
  note(share, false, true, kNow);
  note(share, true, true, kNow + kAfter);
  note(share, false, true, kNow + kAfter + 1s);
  EXPECT_FALSE(is_in_turn(share, kNow + kAfter + 1s, kAfter));
  EXPECT_EQ(share.since.holds, kNever);
}

// Found by a trial: two jobs with runs of 5 s took the slots from each other every 3 s.
TEST(Turns, EachTurnWithoutAnEndOfARunIsTwiceAsLong) {
  KindShare share;
  Instant now = kNow;
  const auto take_turn = [&](std::uint64_t ended_runs) {
    note(share, false, true, now, kAfter, false, ended_runs);
    now += kAfter;
    note(share, true, true, now, kAfter, false, ended_runs);
  };
  for (const int times : {1, 2, 4, 8}) {
    take_turn(3);
    EXPECT_TRUE(is_in_turn(share, now + kAfter * times - Duration{1}, kAfter)) << times;
    EXPECT_FALSE(is_in_turn(share, now + kAfter * times, kAfter)) << times;
  }
  take_turn(4);
  EXPECT_FALSE(is_in_turn(share, now + kAfter, kAfter)) << "a run has ended meanwhile";
  take_turn(2);
  EXPECT_TRUE(is_in_turn(share, now + kAfter, kAfter)) << "outputs were lost, and no other run has ended";
  for (int i = 0; i < 100; ++i) take_turn(2);
  EXPECT_TRUE(is_in_turn(share, now + kAfter * 65'535, kAfter));
  EXPECT_FALSE(is_in_turn(share, now + kAfter * 65'536, kAfter));
}

TEST(Turns, WithoutTheSettingNobodyHasOne) {
  KindShare share;
  note(share, false, true, kNow, Duration{0});
  note(share, true, true, kNow + 9s, Duration{0});
  EXPECT_FALSE(is_in_turn(share, kNow + 9s, Duration{0}));
}

}  // namespace
}  // namespace penstock::supervisor
