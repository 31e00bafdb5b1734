#include "worker/core/band/running_list.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

TEST(RunningList, TheLastTakesThePlaceOfOneThatHasEnded) {
  WorkerParts parts{{}, 3};
  const RecordIndex first = parts.run(0);
  const RecordIndex second = parts.run(1);
  const RecordIndex third = parts.run(2);
  RunningList& running = parts.band().running;
  ASSERT_EQ(running.size(), 3U);
  running.ended(parts.record(first), parts.tables.subtasks, parts.event.now);
  EXPECT_EQ(running.records(), (std::vector{third, second}));
  EXPECT_EQ(parts.record(third).running_position, 0U);
  EXPECT_TRUE(running.any_ended());
  running.ended(parts.record(second), parts.tables.subtasks, parts.event.now);
  EXPECT_EQ(running.records(), std::vector{third});
}

TEST(RunningList, AFollowerHasThePlaceAndTheTimeOfTheEnd) {
  WorkerParts parts;
  const RecordIndex first = parts.run(0);
  const RecordIndex second = parts.add(1);
  const Instant end = parts.event.now + std::chrono::milliseconds{1};
  parts.band().running.followed(parts.record(first), second, parts.record(second), end);
  EXPECT_EQ(parts.band().running.records(), std::vector{second});
  EXPECT_EQ(parts.record(second).started, end);
  EXPECT_EQ(parts.band().running.progress_at(), end);
}

TEST(RunningList, RunsOfDifferentShapesHaveNoneInCommon) {
  WorkerParts parts{{}, 2};
  const RecordIndex first = parts.run(0);
  parts.record(first).program->shape = 3;
  EXPECT_EQ(parts.band().running.shape(parts.tables.subtasks), 3);
  const RecordIndex second = parts.run(1);
  parts.record(second).program->shape = 3;
  EXPECT_EQ(parts.band().running.shape(parts.tables.subtasks), 3);
  parts.record(second).program->shape = 4;
  EXPECT_EQ(parts.band().running.shape(parts.tables.subtasks), 0);
}

}  // namespace
}  // namespace penstock::worker
