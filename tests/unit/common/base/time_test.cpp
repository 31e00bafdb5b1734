#include "common/base/time.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using std::chrono::seconds;

TEST(Time, LaterAddsAndStopsAtBothEnds) {
  const Instant at = instant_at(seconds{100});
  EXPECT_EQ(later(at, seconds{5}), instant_at(seconds{105}));
  EXPECT_EQ(later(at, -seconds{5}), instant_at(seconds{95}));
  EXPECT_EQ(later(at, Duration::max()), kNever);
  EXPECT_EQ(later(kNever, Duration{0}), kNever);
  EXPECT_EQ(later(kNever, Duration{1}), kNever);
  EXPECT_EQ(later(kNever, -Duration{1}), kNever - Duration{1});
  EXPECT_EQ(later(instant_at(-seconds{1}), Duration::min()), Instant::min());
}

}  // namespace
}  // namespace penstock
