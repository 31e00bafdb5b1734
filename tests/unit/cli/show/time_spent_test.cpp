#include "cli/show/time_spent.hpp"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

using namespace std::chrono_literals;

struct Times {
  std::uint64_t arrived_us, ready_us, started_us, ended_us;
};

SubtaskTrace trace(std::uint16_t lane, const Times& times) {
  SubtaskTrace made;
  made.worker = WorkerId{0};
  made.run.band = BandIndex{0};
  made.run.lane = SlotIndex{lane};
  made.run.arrived_us = times.arrived_us;
  made.run.ready_us = times.ready_us;
  made.run.started_us = times.started_us;
  made.run.ended_us = times.ended_us;
  return made;
}

TEST(TimeSpent, GapsAreOverheadOnceTheNextOneIsReady) {
  // Slot 0: 10 us of overhead, 100 at work, 50 idle until the next is ready and 5 until it starts, 35 at work.
  const TimeSpent spent =
      measure_time_spent({trace(0, {0, 0, 10, 110}), trace(0, {20, 160, 165, 200}), trace(1, {0, 40, 100, 150})});
  EXPECT_EQ(spent.attempts, 3U);
  EXPECT_EQ(spent.slots, 2U);
  EXPECT_EQ(spent.span, 200us);
  EXPECT_EQ(spent.run, 185us);
  EXPECT_EQ(spent.overhead, 10us + 5us + 60us);
  EXPECT_EQ(spent.idle, 400us - 185us - 75us);
  EXPECT_EQ(spent.inputs, 140us + 40us);
  EXPECT_EQ(spent.waiting, 10us + 5us + 60us);
}

TEST(TimeSpent, OfNothingIsNothing) {
  EXPECT_EQ(measure_time_spent({}).attempts, 0U);
  EXPECT_EQ(show_time_spent(measure_time_spent({})), "");
}

TEST(TimeSpent, TracesThatContradictThemselvesDoNotWrap) {
  const TimeSpent spent = measure_time_spent({trace(0, {100, 50, 20, 10}), trace(0, {0, 0, UINT64_MAX, 0})});
  EXPECT_EQ(spent.run, 0us);
  EXPECT_GE(spent.idle, 0us);
}

TEST(TimeSpent, IsShownWithSharesAndMeans) {
  const TimeSpent spent = measure_time_spent({trace(0, {0, 0, 0, 100}), trace(0, {0, 100, 100, 200})});
  const std::string text = show_time_spent(spent);
  EXPECT_NE(text.find("2 attempts on 1 slots in 200 us"), std::string::npos) << text;
  EXPECT_NE(text.find("slots: running programs       200 us  100.0%  100 us"), std::string::npos) << text;
}

}  // namespace
}  // namespace penstock::cli
