#include "supervisor/core/jobs/watchdog.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

constexpr Instant at(int seconds) { return Instant{std::chrono::seconds{seconds}}; }

TEST(Watchdog, GivesOneAlarmForEachTimeThatNothingHappens) {
  Watchdog watchdog{std::chrono::seconds{10}};
  EXPECT_EQ(watchdog.look_at(), kNever);
  watchdog.note_progress(at(1));
  watchdog.begin(at(1));
  watchdog.begin(at(5));
  EXPECT_EQ(watchdog.look_at(), at(11)) << "work that comes later changes nothing";
  EXPECT_FALSE(watchdog.looks(at(10)));
  EXPECT_TRUE(watchdog.looks(at(11)));
  EXPECT_EQ(watchdog.look_at(), at(21));
  EXPECT_TRUE(watchdog.alarms(at(11)));
  EXPECT_FALSE(watchdog.alarms(at(30))) << "of that an alarm was given";
  watchdog.note_progress(at(31));
  EXPECT_FALSE(watchdog.alarms(at(40)));
  EXPECT_TRUE(watchdog.alarms(at(41)));
}

TEST(Watchdog, LooksNoMoreWhenNoJobRuns) {
  Watchdog watchdog{std::chrono::seconds{10}};
  watchdog.begin(at(1));
  watchdog.stop();
  EXPECT_EQ(watchdog.look_at(), kNever);
  EXPECT_FALSE(watchdog.looks(at(1000)));
}

}  // namespace
}  // namespace penstock::supervisor
