#include <gtest/gtest.h>

#include "supervisor/policy/actions/reclaim_view.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(ReclaimView, TellsWhatCouldComeFreeForAProject) {
  PolicyBuilder builder;
  const std::uint32_t small = builder.device_band(2);
  const std::uint32_t large = builder.device_band(4);
  const std::uint32_t greedy = builder.project("greedy", 1);
  const std::uint32_t modest = builder.project("modest", 2);
  const std::uint32_t late = builder.project("late", 3);
  builder.job("greedy0", greedy);
  builder.holds(1, small);
  builder.job("greedy1", greedy);
  builder.holds(2, large);
  builder.job("modest", modest);
  builder.holds(2, large);
  builder.job("late", late);
  builder.wants(3);
  const Parts parts = parts_named("quota");
  QuotaPass pass{builder.snapshot, 0, parts};
  ReclaimView view{pass};
  EXPECT_EQ(view.free_devices(), 1000);
  EXPECT_TRUE(view.may_lose(late)[greedy]);
  EXPECT_FALSE(view.may_lose(late)[modest]);
  EXPECT_EQ(view.most_on_a_band(late), 2000);
  EXPECT_EQ(view.most_on_a_band(late), 2000);  // The same when asked again.
  pass.trial().leave(1);
  view.look_again();
  EXPECT_EQ(view.free_devices(), 3000);
  EXPECT_FALSE(view.may_lose(late)[greedy]);  // The project has no more than its guarantee now.
  EXPECT_EQ(view.most_on_a_band(late), 0);
}

}  // namespace
}  // namespace penstock::policy
