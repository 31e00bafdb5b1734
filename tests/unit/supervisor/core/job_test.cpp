#include "supervisor/core/job.hpp"

#include <gtest/gtest.h>

#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

/// A job and the graph that it borrows.
struct OwnedJob : Job {
  explicit OwnedJob(const Graph& content) : owned(shape_of(content)) {
    shape = owned.get();
    hot.resize(shape->size());
  }
  std::unique_ptr<GraphShape> owned;
};

OwnedJob job_of(const Graph& graph) { return OwnedJob{graph}; }

TEST(Job, OrderAtTheSupervisorFollowsTheRank) {
  const OwnedJob job = job_of(GraphBuilder{}.add().chain(2).build());
  EXPECT_LT(job.order_key(job.shape->at_rank(0)), job.order_key(job.shape->at_rank(1)));
}

TEST(Job, WorkersAreToldTheSameOrderTheOtherWayRound) {
  const OwnedJob job = job_of(GraphBuilder{}.add().priority(-2).add().priority(7).chain(2).build());
  for (std::uint32_t rank = 1; rank < job.total(); ++rank)
    EXPECT_GT(job.worker_priority(job.shape->at_rank(rank - 1)), job.worker_priority(job.shape->at_rank(rank)));
}

TEST(Job, AChangedPriorityBeatsTheRankOnceKeysCarryIt) {
  OwnedJob job = job_of(GraphBuilder{}.chain(3).build());
  job.priority_changes.edit()[SubtaskIndex{2}] = 4;
  job.keys_carry_priority = true;
  EXPECT_EQ(job.user_priority(2), 4);
  EXPECT_EQ(job.user_priority(1), 0);
  EXPECT_LT(job.order_key(2), job.order_key(0));
  EXPECT_GT(job.worker_priority(2), job.worker_priority(0));
  job.priority_changes.edit()[SubtaskIndex{2}] = -4;
  EXPECT_GT(job.order_key(2), job.order_key(1));
}

TEST(Job, HasALocalSetForEachBandWithATentativePlacement) {
  OwnedJob job = job_of(GraphBuilder{}.add().build());
  EXPECT_EQ(job.find_local(BandSlot{3}), nullptr);
  job.local(BandSlot{3}).push_ready(1);
  job.local(BandSlot{0}).push_ready(2);
  ASSERT_NE(job.find_local(BandSlot{3}), nullptr);
  EXPECT_EQ(job.find_local(BandSlot{3})->best_ready(), 1U);
  EXPECT_EQ(job.find_local(BandSlot{1}), nullptr);
  EXPECT_EQ(job.locals.size(), 2U);
}

}  // namespace
}  // namespace penstock::supervisor
