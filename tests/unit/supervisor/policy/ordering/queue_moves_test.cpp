#include <gtest/gtest.h>

#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/ordering/queue_moves.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

std::vector<std::uint32_t> order_of(const Snapshot& snapshot) {
  std::vector<std::uint32_t> order;
  for (const QueueRow& row : workloads_in_order(snapshot, 0)) order.push_back(row.workload);
  return order;
}

PolicyBuilder three() {
  PolicyBuilder builder;
  for (const char* name : {"a", "b", "c"}) {
    Workload& added = builder.workload(name);
    added.position = added.submitted * kPositionScale;
    builder.waiting(1);
  }
  return builder;
}

// Spec: policy-determined 12 P15.
TEST(QueueMoves, PutOneBesideAnotherAndLeaveTheRest) {
  PolicyBuilder builder = three();
  const Result<Move> move = plan_move(builder.snapshot, order_of(builder.snapshot), 2, {1, Side::AheadOf});
  ASSERT_TRUE(move && move->changed);
  builder.snapshot.workloads[2].position = move->position;
  EXPECT_EQ(order_of(builder.snapshot), (std::vector<std::uint32_t>{0, 2, 1}));
}

TEST(QueueMoves, GoBeforeTheFirstAndBehindTheLast) {
  PolicyBuilder builder = three();
  const Result<Move> first = plan_move(builder.snapshot, order_of(builder.snapshot), 2, {0, Side::AheadOf});
  ASSERT_TRUE(first && first->changed);
  builder.snapshot.workloads[2].position = first->position;
  EXPECT_EQ(order_of(builder.snapshot), (std::vector<std::uint32_t>{2, 0, 1}));
  const Result<Move> last = plan_move(builder.snapshot, order_of(builder.snapshot), 2, {1, Side::BehindOf});
  ASSERT_TRUE(last && last->changed);
  builder.snapshot.workloads[2].position = last->position;
  EXPECT_EQ(order_of(builder.snapshot), (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(QueueMoves, TakeTheOthersPriority) {
  PolicyBuilder builder = three();
  builder.snapshot.workloads[0].priority = -1;
  const Result<Move> move = plan_move(builder.snapshot, order_of(builder.snapshot), 2, {0, Side::BehindOf});
  ASSERT_TRUE(move);
  EXPECT_EQ(move->priority, -1);
}

TEST(QueueMoves, SayWhenThereIsNoRoomOrNoSuchJob) {
  PolicyBuilder builder = three();
  builder.snapshot.workloads[1].position = 1;
  const Result<Move> full = plan_move(builder.snapshot, order_of(builder.snapshot), 2, {1, Side::AheadOf});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::LimitExceeded);
  EXPECT_FALSE(plan_move(builder.snapshot, order_of(builder.snapshot), 2, {7, Side::AheadOf}));
}

}  // namespace
}  // namespace penstock::policy
