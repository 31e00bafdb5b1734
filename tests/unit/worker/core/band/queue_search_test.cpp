#include "worker/core/band/queue_search.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

struct QueueSearch : ::testing::Test {
  QueueSearch() {
    for (std::uint32_t i = 0; i < 4; ++i)
      queue.put(QueueItem{RecordIndex{i}, JobSlot{i % 2}, std::uint64_t{9 - i} << 32U, i, &request, Bytes{0}});
  }
  static ResourceVector slots(std::int64_t count) {
    ResourceVector vector;
    vector.slots = kOneSlot * count;
    return vector;
  }
  const ResourceVector request = slots(1);
  LatchedQueue queue{slots(1), {}};
  std::vector<Taken> taken;
};

TEST_F(QueueSearch, AFreeSlotBesideAnItemIsFound) {
  EXPECT_TRUE(left_idle(queue).valid());
  queue.take(taken);
  EXPECT_FALSE(left_idle(queue).valid());
}

TEST_F(QueueSearch, TheLowestIsTheLastThatWouldLeave) {
  EXPECT_EQ(lowest_waiting(queue, [](RecordIndex) { return true; }), RecordIndex{3});
  EXPECT_EQ(lowest_waiting(queue, [](RecordIndex record) { return record.value() < 2; }), RecordIndex{1});
  EXPECT_FALSE(lowest_waiting(queue, [](RecordIndex) { return false; }).valid());
}

TEST_F(QueueSearch, AnItemHasAPlaceAndAnObstacle) {
  queue.take(taken);
  EXPECT_EQ(position_of(queue, RecordIndex{3}), 2U);
  EXPECT_EQ(position_of(queue, RecordIndex{0}), 0U) << "it does not wait";
  EXPECT_EQ(obstacle(queue, RecordIndex{1}), "milli-slots 1000 > 0");
  EXPECT_EQ(obstacle(queue, RecordIndex{0}), "");
  queue.set_entitlement(JobSlot{1}, MilliSlots{0}, 0);
  EXPECT_EQ(obstacle(queue, RecordIndex{1}), "entitlement: the job holds 0 of 0 milli-slots");
}

TEST_F(QueueSearch, AllThatWaitsIsVisitedOnce) {
  queue.take(taken);
  std::size_t visited = 0;
  for_each_waiting(queue, [&](RecordIndex) { ++visited; });
  EXPECT_EQ(visited, 3U);
}

}  // namespace
}  // namespace penstock::worker
