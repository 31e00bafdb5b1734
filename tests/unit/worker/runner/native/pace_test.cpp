#include "worker/runner/native/pace.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

bool yes() { return true; }
bool no() { return false; }

TEST(Pace, ARunThatWasPreemptedIsToldAboutAsLongAsTheLastOne) {
  Pace pace;
  EXPECT_EQ(pace.told(200, no), 200);
  EXPECT_EQ(pace.told(4'000'000, yes), 1000);
  EXPECT_EQ(pace.told(200, no), 200);
}

TEST(Pace, ALongRunThatHadItsProcessorIsToldAsItWas) {
  Pace pace;
  EXPECT_EQ(pace.told(200, no), 200);
  EXPECT_EQ(pace.told(4'000'000, no), 4'000'000);
}

// On a machine that has too much to do every long run is preempted.
TEST(Pace, LongRunsAreLearnedAlsoWhereAllArePreempted) {
  Pace pace;
  int runs = 0;
  while (pace.told(10'000'000, yes) < 10'000'000) ++runs;
  EXPECT_LE(runs, 8);
}

TEST(Pace, NobodyAsksAfterOrdinaryRuns) {
  Pace pace;
  int asked = 0;
  for (int i = 0; i < 100; ++i)
    pace.told(200 + i % 7 * 100, [&] {
      ++asked;
      return false;
    });
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace penstock::worker
