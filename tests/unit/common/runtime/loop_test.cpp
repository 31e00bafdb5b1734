#include "common/runtime/loop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "common/runtime/clock.hpp"

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

// Fault F20: a client that sends without a pause is always ready to be read.
TEST(Loop, WorkHasItsTurnWhileThereIsAlwaysSomethingToRead) {
  Loop loop;
  int handled = 0;
  int handled_before = 0;
  int most_in_a_row = 0;
  std::function<void()> again = [&] {
    if (++handled < 1000) return loop.post(again);
    loop.stop();
  };
  loop.set_worker([&] {
    most_in_a_row = std::max(most_in_a_row, handled - handled_before);
    handled_before = handled;
    return false;
  });
  loop.post(again);
  loop.run();
  most_in_a_row = std::max(most_in_a_row, handled - handled_before);
  EXPECT_GE(handled, 1000);
  EXPECT_LE(most_in_a_row, 8);
  loop.set_worker(nullptr);
}

}  // namespace
}  // namespace penstock
