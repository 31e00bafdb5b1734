#include "worker/core/runs/subtask_ends.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

TEST(SubtaskEnds, AnEndGivesBackWhateverTheRecordHolds) {
  WorkerParts parts;
  parts.program.request.memory = Bytes{300};
  parts.here(7, 10);
  parts.run(0);
  const RecordIndex ready = parts.run(1, {WorkerParts::input(7)});
  ASSERT_EQ(parts.record(ready).state, SubtaskState::Ready);
  ASSERT_EQ(parts.data.table[parts.data.table.find(WorkerParts::key(7))].pins, 1U);
  parts.runs.ends.end(ready, Outcome::Cancelled);
  EXPECT_EQ(parts.band().quota.used(), Bytes{300});
  EXPECT_EQ(parts.band().execute.waiting() + parts.band().prepare.holding(), 0U);
  EXPECT_EQ(parts.data.table[parts.data.table.find(WorkerParts::key(7))].pins, 0U);
  EXPECT_EQ(parts.tables.subtasks.live(), 1U);
  EXPECT_EQ(parts.outcomes(), std::vector{Outcome::Cancelled});
}

TEST(SubtaskEnds, APermitToStoreGoesToTheNextRecord) {
  WorkerParts parts{WorkerConfig{.store_permits = 1}, 2};
  const RecordIndex first = parts.add(0);
  const RecordIndex second = parts.add(1);
  EXPECT_TRUE(parts.band().store_permits.take(first));
  EXPECT_FALSE(parts.band().store_permits.take(second));
  parts.record(first).holds_store_permit = true;
  parts.runs.ends.end(first, Outcome::Succeeded);
  const auto stores = parts.take<worker_action::StoreOutputs>();
  ASSERT_EQ(stores.size(), 1U);
  EXPECT_EQ(stores[0].record, second);
  EXPECT_TRUE(parts.record(second).holds_store_permit);
}

TEST(SubtaskEnds, OutputsThatDoNotCountAreDiscardedAndDropped) {
  WorkerParts parts;
  const RecordIndex index = parts.run(0);
  parts.record(index).outputs = {{0, 10}};
  parts.record(index).outputs_stored = false;
  parts.record(index).drops_outputs = true;
  parts.runs.ends.fail(index, FailureDetail{});
  EXPECT_EQ(parts.take<worker_action::DiscardOutputs>().size(), 1U);
  EXPECT_EQ(parts.take<worker_action::DropDatum>().size(), 1U);
  EXPECT_EQ(parts.outcomes(), std::vector{Outcome::Failed});
}

TEST(SubtaskEnds, AForgottenJobIsClosedWithItsLastRecord) {
  WorkerParts parts;
  parts.here(7, 10);
  const RecordIndex first = parts.add(0);
  const RecordIndex second = parts.add(1);
  parts.context().forgotten = true;
  parts.context().identity = JobIdentity{1, 2};
  parts.runs.ends.end(first, Outcome::Cancelled);
  EXPECT_TRUE(parts.tables.jobs.is_open(parts.job));
  parts.runs.ends.end(second, Outcome::Cancelled);
  EXPECT_FALSE(parts.tables.jobs.is_open(parts.job));
  EXPECT_EQ(parts.data.table.size(), 0U);
  EXPECT_EQ(parts.take<worker_action::NameJob>().size(), 1U);
}

}  // namespace
}  // namespace penstock::worker
