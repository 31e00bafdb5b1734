#include "worker/core/band/queue_items.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

struct QueueItemsTest : ::testing::Test {
  QueueNode& insert(std::uint32_t record, std::uint32_t job, std::uint64_t priority = 0) {
    QueueNode& node =
        items.make_node(QueueItem{RecordIndex{record}, JobSlot{job}, priority << 32U, sequence++, &request, Bytes{0}});
    items.insert(node);
    items.validate();
    return node;
  }
  ResourceVector request{.slots = kOneSlot, .cpu = {}, .gpu = {}, .memory = {}, .device_memory = {}, .named = {}};
  std::uint64_t sequence = 0;
  QueueItems items;
};

TEST_F(QueueItemsTest, TheBestItemOfTheBestJobIsFirst) {
  insert(0, 0);
  insert(1, 1, 5);
  insert(2, 0, 9);
  EXPECT_EQ(items.first(), RecordIndex{2});
  items.set_job_priority(JobSlot{1}, 1);
  EXPECT_EQ(items.first(), RecordIndex{1});
  items.take_out(items[RecordIndex{1}]);
  EXPECT_EQ(items.first(), RecordIndex{2});
  EXPECT_EQ(items.waiting(), 2U);
  EXPECT_TRUE(items.goes_before(items[RecordIndex{2}], items[RecordIndex{0}]));
}

TEST_F(QueueItemsTest, AClosedJobIsNotInLine) {
  items.set_entitlement(JobSlot{0}, MilliSlots{}, 0);
  insert(0, 0);
  EXPECT_FALSE(items.first().valid());
  EXPECT_TRUE(items.any_closed() && items.is_closed(JobSlot{0}));
  EXPECT_TRUE(items.exceeds_entitlement(items[RecordIndex{0}].item));
  items.set_entitlement(JobSlot{0}, MilliSlots::max(), 0);
  EXPECT_EQ(items.first(), RecordIndex{0});
  EXPECT_FALSE(items.any_closed());
}

TEST_F(QueueItemsTest, AJobWithHalfTheSlotsIsChargedTwice) {
  items.set_entitlement(JobSlot{0}, kOneSlot, 0);
  items.set_entitlement(JobSlot{1}, kOneSlot * 2, 0);
  EXPECT_TRUE(items.any_limited());
  const QueueItem half = insert(0, 0).item;
  const QueueItem whole = insert(1, 1).item;
  items.count_served(items.job(JobSlot{0}), half, kOneSlot * 2);
  items.count_served(items.job(JobSlot{1}), whole, kOneSlot * 2);
  EXPECT_EQ(items.job(JobSlot{0}).served, items.job(JobSlot{1}).served * 2);
  items.set_entitlement(JobSlot{0}, MilliSlots::max(), 0);
  items.set_entitlement(JobSlot{1}, MilliSlots::max(), 0);
  EXPECT_EQ(items.job(JobSlot{0}).served, 0U) << "without limits nothing is counted";
}

TEST_F(QueueItemsTest, ARecordIsPutOnce) {
  insert(0, 0);
  EXPECT_DEATH(insert(0, 0), "record 0 is here already");
}

}  // namespace
}  // namespace penstock::worker
