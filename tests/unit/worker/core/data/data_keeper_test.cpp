#include "worker/core/data/data_keeper.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

using worker_action::CancelFetch;
using worker_action::DropDatum;
using worker_action::FetchInput;
using worker_action::ReleaseDatum;

FetchEnd end_of(std::uint32_t producer, std::int64_t bytes) { return {WorkerParts::key(producer), true, Bytes{bytes}}; }

TEST(DataKeeper, RecordsThatWaitForOneDatumShareItsTransfer) {
  WorkerParts parts;
  const DatumIndex datum = parts.remote(7, 10);
  const RecordIndex first = parts.add(0);
  const RecordIndex second = parts.add(1);
  parts.data.keeper.want(datum, first);
  parts.data.keeper.want(datum, second);
  parts.data.keeper.start_fetches();
  EXPECT_EQ(parts.take<FetchInput>().size(), 1U);
  const InputNews news = parts.data.keeper.fetched(end_of(7, 10));
  EXPECT_EQ(news.datum, datum);
  EXPECT_FALSE(news.failure.has_value());
  EXPECT_EQ(parts.data.keeper.arrived(datum), (std::vector{first, second}));
  EXPECT_EQ(parts.data.table.bytes_here(), Bytes{10});
  parts.data.keeper.validate();
}

TEST(DataKeeper, TransfersStartByPriorityAndNotMoreThanAllowed) {
  WorkerParts parts{WorkerConfig{.fetches_max = 1}};
  parts.data.keeper.want(parts.remote(7, 10), parts.add(0, {}, 1));
  parts.data.keeper.want(parts.remote(8, 10), parts.add(1, {}, 5));
  parts.data.keeper.keep(parts.remote(9, 10));
  parts.data.keeper.start_fetches();
  const auto fetches = parts.take<FetchInput>();
  ASSERT_EQ(fetches.size(), 1U);
  EXPECT_EQ(fetches[0].key, WorkerParts::key(8));
}

TEST(DataKeeper, ADatumOfAnotherSizeIsNotTheWantedOne) {
  WorkerParts parts;
  const RecordIndex waiter = parts.add(0);
  const DatumIndex datum = parts.remote(7, 10);
  parts.data.keeper.want(datum, waiter);
  parts.data.keeper.start_fetches();
  const InputNews news = parts.data.keeper.fetched(end_of(7, 11));
  ASSERT_TRUE(news.failure.has_value());
  EXPECT_EQ(news.failure->failure, FailureClass::InputLost);
  EXPECT_EQ(parts.take<DropDatum>().size(), 1U);
  EXPECT_EQ(parts.data.keeper.take_waiters(datum), std::vector{waiter});
}

TEST(DataKeeper, ADropWaitsForTheLastPin) {
  WorkerParts parts;
  const DatumIndex datum = parts.here(7, 10);
  parts.data.table[datum].pins = 2;
  parts.data.keeper.drop(datum);
  parts.data.keeper.unpin(datum);
  EXPECT_EQ(parts.take<DropDatum>().size(), 0U);
  parts.data.keeper.unpin(datum);
  EXPECT_EQ(parts.take<DropDatum>().size(), 1U);
  EXPECT_FALSE(parts.data.table.find(WorkerParts::key(7)).valid());
}

TEST(DataKeeper, ALostCopyStaysKnown) {
  WorkerParts parts;
  const DatumIndex datum = parts.here(7, 10);
  parts.data.keeper.lose(datum);
  EXPECT_EQ(parts.data.table[datum].place, DatumPlace::Remote);
  EXPECT_FALSE(parts.data.table[datum].location.valid());
  EXPECT_EQ(parts.take<DropDatum>().size(), 1U);
}

// Found by the simulator (seed 9314): a copy that was lost while a reader had it stayed for as long as its job.
TEST(DataKeeper, ALostCopyThatIsReadGoesWithItsLastReader) {
  WorkerParts parts;
  const DatumIndex datum = parts.here(7, 10);
  parts.data.table[datum].pins = 1;
  parts.data.keeper.lose(datum);
  EXPECT_EQ(parts.take<DropDatum>().size(), 0U);
  parts.data.keeper.unpin(datum);
  EXPECT_EQ(parts.take<DropDatum>().size(), 1U);
  EXPECT_EQ(parts.data.table[datum].place, DatumPlace::Remote);
}

TEST(DataKeeper, ADatumThatIsMadeHereAnewIsNotLostWithTheReadersOfTheOldOne) {
  WorkerParts parts;
  const DatumIndex datum = parts.here(7, 10);
  parts.data.table[datum].pins = 1;
  parts.data.keeper.lose(datum);
  EXPECT_FALSE(parts.data.keeper.made_here(datum, Bytes{10}, false)) << "it is here";
  parts.data.keeper.unpin(datum);
  EXPECT_EQ(parts.take<DropDatum>().size(), 0U);
  EXPECT_EQ(parts.data.table[datum].place, DatumPlace::Here);
}

TEST(DataKeeper, AnOutputThatIsOnItsWayFromElsewhereIsNotFetchedAnyMore) {
  WorkerParts parts;
  const DatumIndex datum = parts.remote(7, 10);
  parts.data.keeper.want(datum, parts.add(0));
  parts.data.keeper.start_fetches();
  EXPECT_TRUE(parts.data.keeper.made_here(datum, Bytes{10}, true));
  EXPECT_EQ(parts.take<CancelFetch>().size(), 1U);
  EXPECT_EQ(parts.take<worker_action::CheckpointDatum>().size(), 1U);
  parts.data.keeper.arrived(datum);
  EXPECT_FALSE(parts.data.keeper.made_here(datum, Bytes{10}, true)) << "it is here";
  parts.data.keeper.validate();
}

TEST(DataKeeper, WhileADatumIsMadeAgainItsMakerDecidesAboutTheStore) {
  WorkerParts parts;
  const RecordIndex maker = parts.run(7);
  parts.data.keeper.drop_from_store(WorkerParts::key(7));
  EXPECT_TRUE(parts.record(maker).drops_outputs);
  EXPECT_EQ(parts.take<DropDatum>().size(), 0U);
}

TEST(DataKeeper, OneTransferIsUnderWayHoweverFullMemoryIs) {
  WorkerParts parts{WorkerConfig{.store_bytes_max = Bytes{15}}};
  parts.data.keeper.want(parts.remote(7, 20), parts.add(0));
  parts.data.keeper.want(parts.remote(8, 10), parts.add(1));
  parts.data.keeper.start_fetches();
  EXPECT_EQ(parts.take<FetchInput>().size(), 1U);
  EXPECT_EQ(parts.data.keeper.blocked(), Bytes{10});
}

}  // namespace
}  // namespace penstock::worker
