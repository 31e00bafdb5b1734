#include "worker/core/runs/run_watch.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

using std::chrono::seconds;
using worker_action::StopRun;

TEST(RunWatch, ARunIsAskedThenKilledOnceItsGraceIsOver) {
  WorkerParts parts;
  const RecordIndex index = parts.run(0);
  parts.runs.watch.stop(index, StopReason::Cancelled, seconds{2});
  EXPECT_FALSE(parts.take<StopRun>().back().kill);
  parts.pass(seconds{1});
  parts.runs.watch.check();
  EXPECT_EQ(parts.take<StopRun>().size(), 0U);
  EXPECT_EQ(parts.runs.watch.deadline(), parts.event.now + seconds{1});
  parts.pass(seconds{1});
  parts.runs.watch.check();
  EXPECT_TRUE(parts.take<StopRun>().back().kill);
  parts.pass(seconds{10});
  parts.runs.watch.check();
  EXPECT_EQ(parts.take<StopRun>().size(), 0U) << "each is said once";
}

TEST(RunWatch, AShorterGraceAndACancelOverrideAPreemption) {
  WorkerParts parts;
  const RecordIndex index = parts.run(0);
  parts.runs.watch.stop(index, StopReason::Preempted, seconds{9});
  parts.runs.watch.stop(index, StopReason::Cancelled, seconds{1});
  parts.runs.watch.stop(index, StopReason::Preempted, seconds{5});
  EXPECT_EQ(parts.record(index).stopping, StopReason::Cancelled);
  EXPECT_EQ(parts.record(index).stop_at, parts.event.now + seconds{1});
  EXPECT_EQ(parts.take<StopRun>().size(), 1U);
}

TEST(RunWatch, ATimeLimitStopsARun) {
  WorkerParts parts;
  parts.program.time_limit = seconds{3};
  parts.program.kill_grace = seconds{1};
  const RecordIndex index = parts.run(0);
  parts.pass(seconds{3});
  parts.runs.watch.check();
  EXPECT_EQ(parts.record(index).stopping, StopReason::TimedOut);
  parts.pass(seconds{1});
  parts.runs.watch.check();
  const auto stops = parts.take<StopRun>();
  ASSERT_EQ(stops.size(), 2U);
  EXPECT_TRUE(stops[1].kill && stops[1].overdue);
}

TEST(RunWatch, ALongRunIsReportedAsStartedOnce) {
  WorkerParts parts;
  const RecordIndex index = parts.run(0);
  EXPECT_EQ(parts.runs.watch.deadline(), parts.event.now + parts.config.started_after);
  parts.pass(parts.config.started_after);
  parts.runs.watch.check();
  parts.runs.watch.check();
  EXPECT_EQ(parts.outcomes(), std::vector{Outcome::Started});
  EXPECT_TRUE(parts.record(index).told_started);
}

}  // namespace
}  // namespace penstock::worker
