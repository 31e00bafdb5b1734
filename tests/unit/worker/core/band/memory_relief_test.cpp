#include "worker/core/band/memory_relief.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

using std::chrono::seconds;

struct ReliefSteps : ::testing::Test {
  ReliefStep measure(std::int64_t used, std::int64_t idle = 0, RunnerKind by = RunnerKind::Process) {
    return relief.measured({BandIndex{0}, Bytes{used}, by, Bytes{idle}}, quota, now, seconds{1});
  }
  MemoryRelief relief;
  MemoryQuota quota{Bytes{100}, Bytes{200}, {}};
  Instant now = instant_at(seconds{1});
};

TEST_F(ReliefSteps, StepsFollowEachOtherNotFasterThanTheirInterval) {
  EXPECT_FALSE(measure(200).any) << "the hard limit is not crossed";
  EXPECT_TRUE(measure(201).stop_grants);
  EXPECT_TRUE(relief.active());
  EXPECT_FALSE(measure(201).any) << "too early";
  now += seconds{1};
  EXPECT_EQ(measure(150).spill, Bytes{50});
  now += seconds{1};
  EXPECT_TRUE(measure(150).restart_idle);
  const ReliefStep below = measure(100);
  EXPECT_TRUE(below.ends);
  EXPECT_FALSE(below.any);
  EXPECT_FALSE(relief.active());
  EXPECT_FALSE(measure(100).ends) << "it has ended already";
}

TEST_F(ReliefSteps, IdleRunnersGoFirstAndNothingElseIfThatIsEnough) {
  const ReliefStep step = measure(250, 60);
  EXPECT_TRUE(step.restart_idle);
  EXPECT_FALSE(step.stop_grants);
  EXPECT_FALSE(relief.active());
  relief.idle_restarted();
  EXPECT_EQ(relief.idle_use(), Bytes{0});
  const ReliefStep more = measure(250, 10);
  EXPECT_TRUE(more.restart_idle && more.stop_grants) << "240 are still above the hard limit";
}

TEST_F(ReliefSteps, MemoryOfCommandsAndRunnersIsAddedUp) {
  EXPECT_FALSE(measure(150).any);
  EXPECT_TRUE(measure(51, 0, RunnerKind::Command).stop_grants);
}

}  // namespace
}  // namespace penstock::worker
