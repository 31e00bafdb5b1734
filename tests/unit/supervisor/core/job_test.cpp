#include "supervisor/core/job.hpp"

#include <gtest/gtest.h>

#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

/// A job and the graph that it borrows.
struct OwnedJob : Job {
  explicit OwnedJob(const Graph& content) : owned(shape_of(content)) {
    graph.shape = owned.get();
    hot.resize(graph.shape->size());
  }
  std::unique_ptr<GraphShape> owned;
};

OwnedJob job_of(const Graph& graph) { return OwnedJob{graph}; }

TEST(Job, OrderAtTheSupervisorFollowsTheRank) {
  const OwnedJob job = job_of(GraphBuilder{}.add().chain(2).build());
  EXPECT_LT(job.order_key(job.graph.shape->at_rank(0)), job.order_key(job.graph.shape->at_rank(1)));
}

TEST(Job, WorkersAreToldTheSameOrderTheOtherWayRound) {
  const OwnedJob job = job_of(GraphBuilder{}.add().priority(-2).add().priority(7).chain(2).build());
  for (std::uint32_t rank = 1; rank < job.total(); ++rank)
    EXPECT_GT(job.worker_priority(job.graph.shape->at_rank(rank - 1)),
              job.worker_priority(job.graph.shape->at_rank(rank)));
}

TEST(Job, AChangedPriorityBeatsTheRankOnceKeysCarryIt) {
  OwnedJob job = job_of(GraphBuilder{}.chain(3).build());
  job.extras.priority_changes.edit()[SubtaskIndex{2}] = 4;
  job.extras.keys_carry_priority = true;
  EXPECT_EQ(job.user_priority(2), 4);
  EXPECT_EQ(job.user_priority(1), 0);
  EXPECT_LT(job.order_key(2), job.order_key(0));
  EXPECT_GT(job.worker_priority(2), job.worker_priority(0));
  job.extras.priority_changes.edit()[SubtaskIndex{2}] = -4;
  EXPECT_GT(job.order_key(2), job.order_key(1));
}

}  // namespace
}  // namespace penstock::supervisor
