#include "common/runtime/loop.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace penstock
