#include "worker/core/rooms.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

TEST(WorkerRooms, AJobIsOpenedOnceForAllTables) {
  Tables tables;
  const JobSlot slot = tables.open_job(JobId{1});
  std::vector<RecordIndex> complete;
  tables.successors.finished_here(slot, {SubtaskIndex{3}, Attempt{1}}, complete);
  EXPECT_EQ(tables.open_job(JobId{1}), slot);
  EXPECT_TRUE(tables.successors.is_finished(slot, SubtaskIndex{3})) << "the second call forgets nothing";
}

TEST(WorkerRooms, PartsOfDifferentRoomsSeeTheSameTables) {
  WorkerParts parts;
  const RecordIndex index = parts.run(0);
  EXPECT_EQ(parts.record(index).state, SubtaskState::Running);
  EXPECT_EQ(parts.tables.counters.started, 1U);
  parts.runs.ends.end(index, Outcome::Cancelled);
  EXPECT_EQ(parts.outcomes(), std::vector{Outcome::Cancelled});
}

}  // namespace
}  // namespace penstock::worker
