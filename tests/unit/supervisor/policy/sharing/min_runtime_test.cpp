#include <gtest/gtest.h>

#include "supervisor/policy/sharing/min_runtime.hpp"

namespace penstock::policy {
namespace {

using std::chrono::seconds;

TEST(MinRuntime, TheFirstOneUpTheTreeHolds) {
  std::vector<Owner> owners(4);
  owners[1].parent = 0;
  owners[2].parent = 0;
  owners[0].reclaim_min_runtime = seconds{30};
  owners[1].reclaim_min_runtime = seconds{8};
  owners[0].preempt_min_runtime = seconds{20};
  EXPECT_EQ(preempt_min_runtime(owners, 1, seconds{1}), seconds{20});
  EXPECT_EQ(preempt_min_runtime(owners, 3, seconds{1}), seconds{1});
  EXPECT_EQ(reclaim_min_runtime_between(owners, 2, 1, seconds{1}), seconds{8}) << "its branch";
  EXPECT_EQ(reclaim_min_runtime_between(owners, 3, 1, seconds{1}), seconds{30}) << "another root: the victim's root";
}

}  // namespace
}  // namespace penstock::policy
