// The witness of the watchdog notices what it is there for: each rule is broken once.
#include "tests/simulation/world/watchdog_witness.hpp"

#include <gtest/gtest.h>

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow{10s};
constexpr const char* kSilent = "the cluster stands still, and the watchdog has not told of it";

TEST(WatchdogWitness, AStandstillThatIsNotToldOfIsABreach) {
  WatchdogWitness witness{100ms};
  witness.progress(kNow);
  EXPECT_EQ(witness.look(kNow + 200ms), "");
  EXPECT_EQ(witness.look(kNow + 200ms + Duration{1}), kSilent);
  EXPECT_EQ(witness.alarm(), "");
  EXPECT_EQ(witness.look(kNow + 1s), "");
  witness.progress(kNow + 1s);
  EXPECT_EQ(witness.look(kNow + 2s), "") << "for the watchdog that may be the same standstill";
  witness.progress(kNow + 2s, true);
  EXPECT_EQ(witness.look(kNow + 3s), kSilent);
}

TEST(WatchdogWitness, OneStandstillIsToldOfOnce) {
  WatchdogWitness witness{100ms};
  witness.progress(kNow);
  EXPECT_EQ(witness.alarm(), "");
  EXPECT_EQ(witness.alarm(), "the watchdog tells twice of one standstill");
  witness.progress(kNow + 1s);
  EXPECT_EQ(witness.alarm(), "");
}

TEST(WatchdogWitness, WhereSomethingIsSaidToRunNothingIsToBeTold) {
  WatchdogWitness witness{100ms};
  witness.progress(kNow);
  witness.note_load(true, kNow);
  EXPECT_EQ(witness.look(kNow + 1s), "");
  witness.note_load(false, kNow + 1s);
  EXPECT_EQ(witness.look(kNow + 1100ms), "");
  EXPECT_EQ(witness.look(kNow + 1100ms + Duration{1}), kSilent);
}

}  // namespace
}  // namespace penstock::simulation
