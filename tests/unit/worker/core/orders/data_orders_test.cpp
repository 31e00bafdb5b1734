#include "worker/core/orders/data_orders.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

struct DataOrdersTest : ::testing::Test {
  WorkerParts parts;
  DataOrders orders{parts.event, parts.tables, parts.reports, parts.data, parts.runs};
};

TEST_F(DataOrdersTest, ANoticeTellsWhereADatumIsAndWakesSuccessors) {
  const RecordIndex successor = parts.add(1, {WorkerParts::input(0)});
  const SubtaskIndex producer{0};
  parts.tables.successors.add(successor, parts.job, {&producer, 1});
  parts.runs.flow.cache(parts.record(successor));
  orders.notice({JobId{1}, {{producer, 0, WorkerId{5}, 10}}});
  EXPECT_EQ(parts.record(successor).state, SubtaskState::Queued) << "its input has to be brought";
  const DatumIndex datum = parts.data.table.find(WorkerParts::key(0));
  ASSERT_TRUE(datum.valid());
  EXPECT_EQ(parts.data.table[datum].location, WorkerId{5});
  EXPECT_TRUE(parts.context().settled.contains(producer));
}

TEST_F(DataOrdersTest, AProducerWhoseDatumIsDroppedIsNotSettledAnyMore) {
  parts.here(0, 10);
  parts.context().settled.insert(SubtaskIndex{0});
  orders.drop({JobId{1}, false, {{SubtaskIndex{0}, 0}}});
  EXPECT_FALSE(parts.context().settled.contains(SubtaskIndex{0}));
  EXPECT_EQ(parts.take<worker_action::DropDatum>().size(), 1U);
  EXPECT_NE(parts.reports.reporter.deadline(), kNever) << "there is more room";
}

TEST_F(DataOrdersTest, ACopyIsFetchedOrTakenFromSharedStorage) {
  orders.keep({JobId{1}, {{SubtaskIndex{0}, 0, WorkerId{5}, 10, {}}, {SubtaskIndex{1}, 0, {}, 10, Incarnation{9}}}});
  parts.data.keeper.start_fetches();
  EXPECT_EQ(parts.take<worker_action::FetchInput>().size(), 1U);
  EXPECT_EQ(parts.take<worker_action::AdoptCheckpoint>().size(), 1U);
  EXPECT_EQ(parts.data.table[parts.data.table.find(WorkerParts::key(1))].place, DatumPlace::Spilled);
  orders.keep({});
  EXPECT_EQ(parts.take<worker_action::Reject>().size(), 1U) << "of no job";
}

}  // namespace
}  // namespace penstock::worker
