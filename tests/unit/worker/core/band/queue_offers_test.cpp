#include "worker/core/band/queue_offers.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

struct QueueOffersTest : ::testing::Test {
  void insert(std::uint32_t record) {
    items.insert(items.make_node(QueueItem{RecordIndex{record}, JobSlot{0}, 0, sequence++, &request, Bytes{0}}));
  }
  std::vector<RecordIndex> offer(std::size_t max, std::uint32_t up_to = 99) {
    std::vector<RecordIndex> offered;
    const std::vector<RecordIndex> running{RecordIndex{0}};
    offers.clear();
    offers.offer(
        max, running, kOneSlot, [&](const QueueItem& item) { return item.record.value() <= up_to; }, offered);
    return offered;
  }
  ResourceVector request{.slots = kOneSlot, .cpu = {}, .gpu = {}, .memory = {}, .device_memory = {}, .named = {}};
  std::uint64_t sequence = 0;
  QueueItems items;
  QueueOffers offers{items};
};

TEST_F(QueueOffersTest, ItemsAreOfferedInOrderUpToTheFirstThatIsRefused) {
  for (std::uint32_t i = 0; i < 5; ++i) insert(i);
  items.unlist(items[RecordIndex{0}]);
  items[RecordIndex{0}].state = QueueState::Holding;
  items.refresh(JobSlot{0});
  EXPECT_EQ(offer(9, 2), (std::vector{RecordIndex{1}, RecordIndex{2}}));
  EXPECT_EQ(offers.left(), 2U);
  EXPECT_FALSE(offers.within_jobs());
  EXPECT_EQ(items.waiting(), 2U);
}

TEST_F(QueueOffersTest, ItemsThatWereNotTakenGoBackIntoTheirPlaces) {
  for (std::uint32_t i = 0; i < 3; ++i) insert(i);
  items.unlist(items[RecordIndex{0}]);
  items[RecordIndex{0}].state = QueueState::Holding;
  items.refresh(JobSlot{0});
  ASSERT_EQ(offer(2).size(), 2U);
  items[RecordIndex{1}].state = QueueState::Holding;
  offers.taken();
  offers.withdraw();
  EXPECT_EQ(offers.left(), 0U);
  EXPECT_EQ(items.first(), RecordIndex{2});
  EXPECT_EQ(items.state_of(RecordIndex{1}), QueueState::Holding);
}

}  // namespace
}  // namespace penstock::worker
