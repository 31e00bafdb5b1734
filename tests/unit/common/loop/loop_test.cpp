#include "common/loop/loop.hpp"

#include <gtest/gtest.h>

#include <string>

#include "common/host/clock.hpp"

namespace penstock {
namespace {

// Fault F02: a worker that starts a thousand programs was silent meanwhile, and was given up as lost.
TEST(Loop, SocketsAndTimersHaveTheirTurnWhileThereIsAlwaysWork) {
  Loop loop;
  const Instant too_late = monotonic_now() + std::chrono::seconds{5};
  bool ticked = false;
  LoopTimer timer{loop};
  timer.arm(monotonic_now() + std::chrono::milliseconds{5}, [&] {
    ticked = true;
    loop.stop();
  });
  loop.set_worker([&] {
    if (monotonic_now() < too_late) return true;
    loop.stop();
    return false;
  });
  loop.run();
  EXPECT_TRUE(ticked);
  loop.set_worker(nullptr);
}

// Fault F20: a function that always has more to do lets the actors in between.
TEST(Loop, WhatIsForTheNextTurnComesAfterTheActors) {
  Loop loop;
  std::string order;
  loop.set_worker([&] {
    order += 'a';
    return false;
  });
  std::function<void()> more = [&] {
    order += 'm';
    if (order.size() < 6) loop.next_turn(more);
  };
  loop.next_turn(more);
  while (loop.turn()) EXPECT_LT(order.size(), 100U);
  EXPECT_EQ(order, "amamama");
  loop.set_worker(nullptr);
}

}  // namespace
}  // namespace penstock
