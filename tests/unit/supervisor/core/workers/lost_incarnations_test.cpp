#include "supervisor/core/workers/lost_incarnations.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

TEST(LostIncarnations, EachIsTakenOnce) {
  LostIncarnations lost{4};
  lost.remember({Incarnation{7}, true, {AssignedRef{JobId{1}, 2, 3}}});
  lost.remember({Incarnation{8}, {}, {}});
  EXPECT_FALSE(lost.take(Incarnation{9}).has_value());
  const std::optional<LostIncarnation> taken = lost.take(Incarnation{7});
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->drain_order, std::optional{true});
  ASSERT_EQ(taken->held.size(), 1U);
  EXPECT_EQ(taken->held[0].subtask, 2U);
  EXPECT_FALSE(lost.take(Incarnation{7}).has_value());
  EXPECT_TRUE(lost.take(Incarnation{8}).has_value());
}

TEST(LostIncarnations, BeyondTheLimitTheFirstIsForgotten) {
  LostIncarnations lost{2};
  for (std::uint64_t i = 1; i <= 3; ++i) lost.remember({Incarnation{i}, {}, {}});
  EXPECT_FALSE(lost.take(Incarnation{1}).has_value());
  EXPECT_TRUE(lost.take(Incarnation{2}).has_value());
  EXPECT_TRUE(lost.take(Incarnation{3}).has_value());
}

TEST(LostIncarnations, ALimitOfNoneKeepsNone) {
  LostIncarnations lost{0};
  lost.remember({Incarnation{1}, {}, {}});
  EXPECT_FALSE(lost.take(Incarnation{1}).has_value());
}

}  // namespace
}  // namespace penstock::supervisor
