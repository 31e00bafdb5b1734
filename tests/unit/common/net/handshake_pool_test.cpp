#include "common/net/handshake_pool.hpp"

#include <gtest/gtest.h>

#include <future>
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
    return pool.run(kind, [this, name] { order += name; });
  }
  /// Of all steps that were added.
  std::string finish() {
    std::promise<void> last;
    EXPECT_TRUE(pool.run(Step::Further, [this, &last] {
      EXPECT_TRUE(order.find_first_of("ab") == std::string::npos) << "the further steps come first";
      last.set_value();
    }));
    over.set_value();
    last.get_future().wait();
    std::promise<void> end;
    EXPECT_TRUE(pool.run(Step::First, [&end] { end.set_value(); }));
    end.get_future().wait();
    return order;
  }
  std::promise<void> taken;
  std::promise<void> over;
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
