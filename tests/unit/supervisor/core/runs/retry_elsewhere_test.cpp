// SupervisorCore: failures that say that repeating would not mend them.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

FailureDetail coded(FailureClass failure, ErrorCode code, std::int64_t outputs_bytes = 0) {
  FailureDetail detail;
  detail.failure = failure;
  detail.code = code;
  detail.outputs_bytes = outputs_bytes;
  detail.message = "would fail again";
  return detail;
}

TEST(RetryElsewhere, AResultThatIsNoDataFailsTheFirstTime) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  PENSTOCK_EXPECT_COVERAGE_MARK("a failure that repeating would not mend",
                                cluster.fail(2, 0, coded(FailureClass::UserError, ErrorCode::InvalidArgument)));
  EXPECT_EQ(cluster.state(), JobState::Failed);
  EXPECT_EQ(cluster.news().back().error.code, ErrorCode::InvalidArgument);
  EXPECT_EQ(cluster.assigned(), Lines{});
  cluster.ignore();
}

TEST(RetryElsewhere, AModuleThatIsMissingIsLookedForOnOtherWorkersOnly) {
  SupervisorHarness cluster;
  cluster.join({.slots = 1, .bands = 2});
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  const Lines first = cluster.assigned();
  ASSERT_EQ(first, Lines{"0 to w2"});
  cluster.fail(2, 0, coded(FailureClass::UserError, ErrorCode::ProgramNotFound));
  cluster.tick_after(kBackoffMax);
  EXPECT_EQ(cluster.assigned(), Lines{"0#2 to w1"});
  cluster.fail(1, 0, coded(FailureClass::UserError, ErrorCode::ProgramNotFound));
  EXPECT_EQ(cluster.state(), JobState::Failed) << "the other band is that worker's, too";
  EXPECT_EQ(cluster.news().back().error.code, ErrorCode::ProgramNotFound);
  cluster.ignore();
}

TEST(RetryElsewhere, ARequestAboveTheHardLimitOfABandIsTriedOnItsNeighbour) {
  SupervisorHarness cluster;
  cluster.join({.slots = 1, .bands = 2});
  cluster.submit(GraphBuilder{}.add().build());
  ASSERT_EQ(cluster.assigned().size(), 1U);
  cluster.fail(1, 0, coded(FailureClass::Refused, ErrorCode::RequestTooLarge));
  EXPECT_EQ(cluster.assigned().size(), 1U);
  cluster.fail(1, 0, coded(FailureClass::Refused, ErrorCode::RequestTooLarge));
  EXPECT_EQ(cluster.state(), JobState::Failed) << "there is no third";
  cluster.ignore();
}

TEST(RetryElsewhere, OutputsLargerThanTheStoreAreTriedOnlyWhereTheStoreIsLarger) {
  for (const std::int64_t large : {999, 1000}) {
    SupervisorHarness cluster;
    cluster.join({.store_bytes_max = Bytes{large}});
    cluster.join({.store_bytes_max = Bytes{100}});
    cluster.join({.store_bytes_max = Bytes{100}});
    cluster.submit(GraphBuilder{}.add().build());
    const Lines first = cluster.assigned();
    ASSERT_EQ(first, Lines{"0 to w3"});
    cluster.fail(3, 0, coded(FailureClass::Refused, ErrorCode::LimitExceeded, 1000));
    EXPECT_EQ(cluster.state() == JobState::Failed, large < 1000);
    EXPECT_EQ(cluster.assigned(), large < 1000 ? Lines{} : Lines{"0#2 to w1"});
    cluster.ignore();
  }
}

TEST(RetryElsewhere, WhatRanAndFoundNoRoomForItsOutputsIsNotRunTwiceIfItMustNotBe) {
  for (const ErrorCode code : {ErrorCode::LimitExceeded, ErrorCode::StorageFull}) {
    SupervisorHarness cluster;
    cluster.join();
    cluster.join();
    GraphBuilder graph;
    graph.template_at(0).retryable = false;
    cluster.submit(graph.add().build());
    cluster.assigned();
    cluster.fail(2, 0, coded(FailureClass::Refused, code, 1000));
    EXPECT_EQ(cluster.state(), JobState::Failed) << to_string(code);
    EXPECT_EQ(cluster.assigned(), Lines{});
    cluster.ignore();
  }
}

}  // namespace
}  // namespace penstock::supervisor
