#include "worker/core/jobs/subtask_table.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

std::vector<RecordIndex> listed(WorkerParts& parts) {
  std::vector<RecordIndex> records;
  parts.tables.subtasks.for_each_of(parts.job, [&](RecordIndex index) { records.push_back(index); });
  return records;
}

TEST(SubtaskTable, ARecordIsFoundBySubtaskUntilItIsFreed) {
  WorkerParts parts;
  SubtaskTable& subtasks = parts.tables.subtasks;
  const RecordIndex first = parts.add(4);
  const RecordIndex second = parts.add(5);
  const RecordIndex third = parts.add(6);
  EXPECT_EQ(subtasks.find(parts.job, SubtaskIndex{5}), second);
  EXPECT_EQ(subtasks.find(parts.job, AttemptRef{SubtaskIndex{5}, Attempt{2}}), RecordIndex::none());
  EXPECT_EQ(listed(parts), (std::vector{third, second, first}));
  subtasks.free(second);
  EXPECT_FALSE(subtasks.find(parts.job, SubtaskIndex{5}).valid());
  EXPECT_EQ(listed(parts), (std::vector{third, first}));
  EXPECT_EQ(parts.context().live, 2U);
}

TEST(SubtaskTable, AListMayLoseTheVisitedRecord) {
  WorkerParts parts;
  for (std::uint32_t i = 0; i < 3; ++i) parts.add(i);
  parts.tables.subtasks.for_each_of(parts.job, [&](RecordIndex index) { parts.tables.subtasks.free(index); });
  EXPECT_EQ(parts.tables.subtasks.live(), 0U);
}

TEST(SubtaskTable, AMoveThatIsNotInTheTableIsADefect) {
  WorkerParts parts;
  const RecordIndex index = parts.add(4);
  EXPECT_DEATH(parts.tables.subtasks.move(parts.record(index), SubtaskState::Storing), "free to storing");
  parts.tables.subtasks.move(parts.record(index), SubtaskState::Queued);
  EXPECT_TRUE(parts.tables.subtasks.is(index, Attempt{1}, SubtaskState::Queued));
  EXPECT_FALSE(parts.tables.subtasks.is_run_of(index, Attempt{1}));
  EXPECT_FALSE(parts.tables.subtasks.is_run_of(RecordIndex{99}, Attempt{1}));
}

TEST(SubtaskTable, ALiveRecordThatIsNotFoundIsABreach) {
  WorkerParts parts;
  const RecordIndex index = parts.add(4);
  parts.tables.subtasks.move(parts.record(index), SubtaskState::Queued);
  parts.tables.subtasks.validate();
  EXPECT_DEATH((parts.record(index).subtask = SubtaskIndex{5}, parts.tables.subtasks.validate()), "find");
}

}  // namespace
}  // namespace penstock::worker
