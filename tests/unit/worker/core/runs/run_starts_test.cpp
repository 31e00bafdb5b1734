#include "worker/core/runs/run_starts.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

using worker_action::StartSubtask;

TEST(RunStarts, AStartHasALaneAndGivesThePermitBack) {
  WorkerParts parts;
  parts.program.request.memory = Bytes{10};
  parts.program.time_limit = std::chrono::seconds{3};
  const RecordIndex index = parts.run(4);
  const auto starts = parts.take<StartSubtask>();
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0].id, (SubtaskId{JobId{1}, SubtaskIndex{4}}));
  EXPECT_EQ(starts[0].lane, parts.record(index).lane);
  EXPECT_FALSE(starts[0].resumed || starts[0].offered);
  EXPECT_FALSE(parts.record(index).holds_permit);
  EXPECT_EQ(parts.record(index).stop_at, parts.event.now + std::chrono::seconds{3});
  EXPECT_NE(parts.runs.watch.deadline(), kNever);
}

TEST(RunStarts, AResumedRunKeepsItsLaneAndItsStart) {
  WorkerParts parts;
  const RecordIndex index = parts.run(4);
  const Instant started = parts.record(index).started;
  const SlotIndex lane = parts.record(index).lane;
  parts.take<StartSubtask>();
  parts.band().execute.yield_slot(index);
  parts.tables.subtasks.move(parts.record(index), SubtaskState::Yielded);
  parts.band().execute.resume_slot(index, 1);
  parts.pass(std::chrono::seconds{1});
  parts.band().dirty = true;
  parts.runs.pump.pump_all();
  EXPECT_TRUE(parts.take<StartSubtask>().back().resumed);
  EXPECT_EQ(parts.record(index).started, started);
  EXPECT_EQ(parts.record(index).lane, lane);
  EXPECT_EQ(parts.band().running.size(), 1U);
  EXPECT_EQ(parts.tables.counters.started, 1U);
}

TEST(RunStarts, ATakenOverRunHasTheLaneOfTheEnded) {
  WorkerParts parts;
  const RecordIndex first = parts.run(0);
  const RecordIndex second = parts.run(1);
  const std::vector<RecordIndex> running{first};
  std::vector<RecordIndex> offered;
  parts.band().execute.offer(
      1, running, [](const QueueItem&) { return true; }, offered);
  ASSERT_EQ(offered, std::vector{second});
  RunEnd end = parts.end_of(first);
  end.next = second;
  parts.runs.starts.take_over(end);
  EXPECT_EQ(parts.record(second).state, SubtaskState::Running);
  EXPECT_EQ(parts.record(second).lane, parts.record(first).lane);
  EXPECT_EQ(parts.band().running.records(), std::vector{second});
}

}  // namespace
}  // namespace penstock::worker
