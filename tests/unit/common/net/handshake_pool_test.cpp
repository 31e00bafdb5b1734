#include "common/net/handshake_pool.hpp"

#include <gtest/gtest.h>

#include <future>
#include <semaphore>
#include <string>

namespace penstock {
namespace {

using Step = HandshakePool::Step;

/// A pool with one thread, which is kept.
struct Kept {
  explicit Kept(std::size_t steps_max) : pool(1, steps_max) {
    EXPECT_TRUE(pool.run(Step::First, [this] {
      taken.set_value();
      over.get_future().wait();
    }));
    taken.get_future().wait();
  }
  bool add(Step kind, char name) {
    const bool is_taken = pool.run(kind, [this, name] {
      order += name;
      done.release();
    });
    added += is_taken ? 1 : 0;
    return is_taken;
  }
  /// Of all steps that were added.
  std::string finish() {
    over.set_value();
    for (int i = 0; i < added; ++i) done.acquire();
    return order;
  }
  std::promise<void> taken;
  std::promise<void> over;
  std::counting_semaphore<> done{0};
  int added = 0;
  std::string order;  ///< In which steps were computed.
  HandshakePool pool;
};

TEST(HandshakePool, WhatHasBegunGoesOnFirstAndIsNeverShedThenTheLatestBegins) {
  Kept kept{3};
  EXPECT_TRUE(kept.add(Step::First, 'a'));
  EXPECT_TRUE(kept.add(Step::First, 'b'));
  for (const char name : {'x', 'y', 'z', 'w'}) EXPECT_TRUE(kept.add(Step::Further, name));
  EXPECT_EQ(kept.finish(), "xyzwba");
}

TEST(HandshakePool, BeginnersBeyondTheLimitAreShed) {
  Kept kept{2};
  EXPECT_TRUE(kept.add(Step::First, 'a'));
  EXPECT_TRUE(kept.add(Step::First, 'b'));
  EXPECT_FALSE(kept.add(Step::First, 'c'));
  kept.over.set_value();
  kept.pool.stop();
  EXPECT_FALSE(kept.add(Step::Further, 'd')) << "the pool has stopped";
}

}  // namespace
}  // namespace penstock
