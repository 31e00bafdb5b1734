#include "worker/core/data/spiller.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

using worker_action::SpillDatum;

std::vector<DataKey> spilled(WorkerParts& parts) {
  std::vector<DataKey> keys;
  for (const SpillDatum& action : parts.take<SpillDatum>()) keys.push_back(action.key);
  return keys;
}

TEST(Spiller, DataThatAreReadNextStayLongest) {
  WorkerParts parts;
  parts.here(1, 10);
  parts.here(2, 10);
  parts.here(3, 10);
  parts.tables.subtasks.move(parts.record(parts.add(0, {WorkerParts::input(1)}, 9)), SubtaskState::Queued);
  parts.tables.subtasks.move(parts.record(parts.add(1, {WorkerParts::input(2)}, 1)), SubtaskState::Queued);
  parts.data.spiller.spill(Bytes{30});
  EXPECT_EQ(spilled(parts), (std::vector{WorkerParts::key(3), WorkerParts::key(2), WorkerParts::key(1)}));
}

TEST(Spiller, PinnedAndMappedDataStay) {
  WorkerParts parts;
  parts.data.table[parts.here(1, 10)].pins = 1;
  parts.here(2, 10);
  parts.here(3, 10);
  const DataKey mapped = WorkerParts::key(2);
  parts.data.room.mapped({{&mapped, 1}, Bytes{0}});
  parts.data.spiller.spill(Bytes{100});
  EXPECT_EQ(spilled(parts), std::vector{WorkerParts::key(3)});
}

TEST(Spiller, SpillingBeginsBeforeMemoryIsFull) {
  WorkerParts parts{WorkerConfig{.store_bytes_max = Bytes{100}}};
  for (std::uint32_t i = 0; i < 8; ++i) parts.here(i, 10);
  parts.data.spiller.keep_room(Bytes{0});
  EXPECT_EQ(spilled(parts).size(), 0U) << "80 of 100 percent";
  parts.data.spiller.keep_room(Bytes{1});
  EXPECT_EQ(spilled(parts).size(), 3U) << "down to 60 percent";
  EXPECT_EQ(parts.data.spiller.deadline(), kNever);
}

TEST(Spiller, ADiskThatRefusesIsAskedAgainLater) {
  WorkerParts parts;
  const DatumIndex datum = parts.here(1, 10);
  parts.data.spiller.spill(Bytes{10});
  parts.data.spiller.spilled({WorkerParts::key(1), false});
  EXPECT_EQ(parts.data.table[datum].place, DatumPlace::Here);
  EXPECT_EQ(parts.data.spiller.deadline(), parts.event.now + parts.config.relieve_every);
}

TEST(Spiller, ADatumThatIsWrittenLeavesMemoryUnlessItIsPinned) {
  WorkerParts parts;
  const DatumIndex datum = parts.here(1, 10);
  const DatumIndex pinned = parts.here(2, 10);
  parts.data.spiller.spill(Bytes{20});
  parts.data.table[pinned].pins = 1;
  parts.data.spiller.spilled({WorkerParts::key(1), true});
  parts.data.spiller.spilled({WorkerParts::key(2), true});
  EXPECT_EQ(parts.data.table[datum].place, DatumPlace::Spilled);
  EXPECT_EQ(parts.data.table[pinned].place, DatumPlace::Here);
  EXPECT_TRUE(parts.data.table[pinned].on_disk);
  EXPECT_EQ(parts.take<worker_action::ReleaseDatum>().size(), 1U);
}

}  // namespace
}  // namespace penstock::worker
