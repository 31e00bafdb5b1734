#include "worker/core/data/data_table.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

DataKey key(std::uint32_t producer) { return {{JobId{1}, SubtaskIndex{producer}}, 0}; }

TEST(DataTable, DataOfAJobAreInItsListUntilTheyAreErased) {
  DataTable table;
  DatumIndex head;
  const DatumIndex first = table.ensure(key(1), JobSlot{0}, head);
  const DatumIndex second = table.ensure(key(2), JobSlot{0}, head);
  EXPECT_EQ(table.ensure(key(1), JobSlot{0}, head), first) << "it is known";
  EXPECT_EQ(head, second);
  EXPECT_EQ(table[second].next_of_job, first);
  table.erase(second, head);
  EXPECT_EQ(head, first);
  EXPECT_FALSE(table.find(key(2)).valid());
  EXPECT_EQ(table.size(), 1U);
}

TEST(DataTable, ItsSumsFollowPlaceAndSize) {
  DataTable table;
  DatumIndex head;
  const DatumIndex datum = table.ensure(key(1), JobSlot{0}, head);
  EXPECT_TRUE(table.note_remote(datum, WorkerId{2}, Bytes{10}));
  table.move(datum, DatumPlace::Fetching);
  EXPECT_EQ(table.bytes_arriving(), Bytes{10});
  EXPECT_FALSE(table.note_remote(datum, WorkerId{3}, Bytes{99})) << "it is on its way";
  table.resize(datum, Bytes{12});
  table.move(datum, DatumPlace::Here);
  EXPECT_EQ(table.bytes_arriving(), Bytes{0});
  EXPECT_EQ(table.bytes_here(), Bytes{12});
  table.set_spilling(datum, true);
  EXPECT_EQ(table.bytes_leaving(), Bytes{12});
  table.move(datum, DatumPlace::Spilled);
  EXPECT_EQ(table.bytes_here() + table.bytes_leaving(), Bytes{0});
}

TEST(DataTable, APinnedDatumIsNotErased) {
  DataTable table;
  DatumIndex head;
  const DatumIndex datum = table.ensure(key(1), JobSlot{0}, head);
  table[datum].pins = 1;
  EXPECT_DEATH(table.erase(datum, head), "pins == 0");
}

}  // namespace
}  // namespace penstock::worker
