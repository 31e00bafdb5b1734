// A peer that moves a little at a time is as slow as one that is silent.
#include "worker/transfer/pace_watch.hpp"

#include <gtest/gtest.h>

#include "tests/unit/worker/transfer/transfer_ends.hpp"

namespace penstock::worker {
namespace {

TEST(PaceWatch, APeerThatMovesTooLittleIsSlowAndOneThatMovesEnoughIsNot) {
  Turning turning;
  PaceWatch drips{turning.loop.io()};
  PaceWatch flows{turning.loop.io()};
  bool slow = false;
  bool flowing_is_slow = false;
  constexpr std::size_t kMany = 1'000'000'000;
  flows.begin({milliseconds{20}, 1}, [&] { flowing_is_slow = true; });
  drips.begin({milliseconds{100}, kMany}, [&] { slow = true; });
  EXPECT_TRUE(turning.until([&] {
    drips.moved(1);
    flows.moved(1);
    return slow;
  }));
  EXPECT_FALSE(flowing_is_slow);
  flows.end();
}

TEST(PaceWatch, EndsAndBeginsAnew) {
  Turning turning;
  PaceWatch watch{turning.loop.io()};
  int first = 0;
  int second = 0;
  watch.begin({milliseconds{1}, 1}, [&] { ++first; });
  watch.begin({milliseconds{1}, 1}, [&] { ++second; });
  EXPECT_TRUE(turning.until([&] { return second == 1; }));
  watch.begin({milliseconds{1}, 1}, [&] { ++first; });
  watch.end();
  PaceWatch later{turning.loop.io()};
  bool passed = false;
  later.begin({milliseconds{20}, 1}, [&] { passed = true; });
  EXPECT_TRUE(turning.until([&] { return passed; }));
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
}

TEST(PaceWatch, CountsWhatAnOperationMovesAsItMoves) {
  Turning turning;
  PaceWatch watch{turning.loop.io()};
  bool slow = false;
  auto condition = watch.at_once(100);
  watch.begin({milliseconds{10}, 60}, [&] { slow = true; });
  EXPECT_EQ(condition(boost::system::error_code{}, 0), 100U);
  condition(boost::system::error_code{}, 40);
  condition(boost::system::error_code{}, 59);
  EXPECT_EQ(condition(asio::error::eof, 59), 0U);
  EXPECT_TRUE(turning.until([&] { return slow; }));
}

}  // namespace
}  // namespace penstock::worker
