#include "supervisor/core/driver/desired_workers.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

// Spec: policy-determined 9.6.
TEST(DesiredWorkers, FollowWhatWaitsAndWhatOneWorkerHolds) {
  const std::vector<WaitingRequests> jobs{{{{2, 2}}}, {{{3, 1}, {8, 1}}}};
  EXPECT_EQ(desired_workers(jobs, {4, 0}), 4) << "ceil((2 + 2 + 3 + 8) / 4)";
  EXPECT_EQ(desired_workers(jobs, {2, 0}), 6) << "3 fits no worker and fills no whole ones: ceil((2 + 2 + 8) / 2)";
  EXPECT_EQ(desired_workers({}, {4, 100}), 0);
}

TEST(DesiredWorkers, ACapOfAJobBoundsWhatItCallsFor) {
  EXPECT_EQ(desired_workers({{{{1, 1000}}, 8}}, {4, 0}), 2);
  EXPECT_EQ(desired_workers({{{{1, 1000}}, 8}, {{{1, 4}}}}, {4, 0}), 3);
}

TEST(DesiredWorkers, RequestsWithoutSlotsTakeLightPlaces) {
  EXPECT_EQ(desired_workers({{{{0, 3}}}}, {0, 2}), 2);
  EXPECT_EQ(desired_workers({{{{0, 3}}}}, {4, 0}), 0) << "no worker has room for them";
  EXPECT_EQ(desired_workers({{{{0, 300}, {4, 1}}}}, {4, 100}), 3) << "the larger of both";
}

}  // namespace
}  // namespace penstock::supervisor
