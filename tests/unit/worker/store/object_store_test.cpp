#include "worker/store/object_store.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

namespace penstock::worker {
namespace {

constexpr std::size_t kSegmentMin = 4096;

DataKey key(std::uint32_t subtask) { return DataKey{{JobId{1}, SubtaskIndex{subtask}}, 0}; }

std::shared_ptr<Blob> filled(const ObjectStore& store, std::size_t bytes, char letter) {
  std::shared_ptr<Blob> blob = store.allocate(bytes);
  std::memset(blob->data(), letter, bytes);
  return blob;
}

char last_of(const BlobPtr& blob) { return static_cast<char>(blob->bytes().back()); }

TEST(ObjectStore, ADatumFromTheLimitOnIsASegmentThatOthersCanMap) {
  ObjectStore store{StoreOptions{kSegmentMin, 10}};
  store.put(key(1), filled(store, kSegmentMin - 1, 'a'));
  store.put(key(2), filled(store, kSegmentMin, 'b'));
  EXPECT_EQ(store.find(key(1))->segment(), nullptr);
  ASSERT_NE(store.find(key(2))->segment(), nullptr);
  EXPECT_TRUE(store.find(key(2))->segment()->sealed());
  EXPECT_EQ(last_of(store.find(key(2))), 'b');
  EXPECT_EQ(store.used(), Bytes{2 * kSegmentMin - 1});
}

TEST(ObjectStore, ACopyIsADatumOfItsOwn) {
  ObjectStore store{StoreOptions{kSegmentMin, 10}};
  std::string bytes(kSegmentMin, 'a');
  EXPECT_TRUE(store.put_copy(key(1), bytes));
  EXPECT_TRUE(store.put_copy(key(2), {}));
  bytes.back() = 'b';
  EXPECT_EQ(last_of(store.find(key(1))), 'a');
  EXPECT_NE(store.find(key(1))->segment(), nullptr);
  EXPECT_EQ(store.find(key(2))->bytes().size(), 0U);
}

TEST(ObjectStore, BeyondTheMostSegmentsDataArePlainMemoryUntilOneIsDropped) {
  ObjectStore store{StoreOptions{kSegmentMin, 2}};
  for (const std::uint32_t subtask : {1U, 2U, 3U}) store.put(key(subtask), filled(store, kSegmentMin, 'c'));
  EXPECT_NE(store.find(key(2))->segment(), nullptr);
  EXPECT_EQ(store.find(key(3))->segment(), nullptr);
  EXPECT_EQ(last_of(store.find(key(3))), 'c');
  store.drop(key(1));
  store.put(key(4), filled(store, kSegmentMin, 'd'));
  EXPECT_NE(store.find(key(4))->segment(), nullptr);
  store.clear();
  EXPECT_EQ(store.used(), Bytes{0});
  store.put(key(5), filled(store, kSegmentMin, 'e'));
  EXPECT_NE(store.find(key(5))->segment(), nullptr);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) ++count;
  return count;
}

std::shared_ptr<Blob> made_by_a_runner(std::size_t bytes, char letter) {
  Result<Segment> segment = Segment::create(bytes);
  std::memset(segment->data(), letter, bytes);
  EXPECT_TRUE(segment->seal());
  return Blob::of(std::move(segment).value());
}

TEST(ObjectStore, BeyondTheMostSegmentsWhatARunnerMadeStaysWhereItIsWithoutADescriptor) {
  ObjectStore store{StoreOptions{kSegmentMin, 2}};
  for (const std::uint32_t subtask : {1U, 2U}) store.put(key(subtask), made_by_a_runner(kSegmentMin, 'r'));
  const std::size_t before = open_descriptors();
  for (std::uint32_t subtask = 3; subtask < 100; ++subtask) store.put(key(subtask), made_by_a_runner(kSegmentMin, 'p'));
  EXPECT_EQ(open_descriptors(), before);
  const BlobPtr plain = store.find(key(50));
  EXPECT_EQ(plain->segment(), nullptr);
  EXPECT_EQ(last_of(plain), 'p');
  Result<Descriptor> copy = plain->share();
  ASSERT_TRUE(copy);
  EXPECT_EQ(static_cast<char>(Segment::adopt(std::move(copy).value(), kSegmentMin)->bytes().back()), 'p');
  store.drop(key(1));
  store.put(key(100), made_by_a_runner(kSegmentMin, 's'));
  EXPECT_NE(store.find(key(100))->segment(), nullptr);
}

TEST(ObjectStore, EveryDatumCanBeSharedAndTheSmallOneIsCopied) {
  ObjectStore store{StoreOptions{kSegmentMin, 10}};
  for (const std::size_t bytes : {std::size_t{100}, kSegmentMin}) {
    store.put(key(1), filled(store, bytes, 's'));
    Result<Descriptor> handle = store.find(key(1))->share();
    ASSERT_TRUE(handle);
    Result<Segment> same = Segment::adopt(std::move(handle).value(), bytes);
    ASSERT_TRUE(same);
    EXPECT_EQ(static_cast<char>(same->bytes()[bytes - 1]), 's');
  }
}

TEST(ObjectStore, WhatIsWrittenAgainLiesWhereItWasAndNoOtherProcessSeesIt) {
  ObjectStore store{StoreOptions{kSegmentMin, 10}};
  for (const std::size_t bytes : {std::size_t{100}, kSegmentMin}) {
    const std::shared_ptr<Blob> blob = filled(store, bytes, 'r');
    blob->seal();
    EXPECT_EQ(blob->reopen(), blob->data());
    blob->data()[bytes - 1] = std::byte{'s'};
    EXPECT_EQ(last_of(blob), 's');
    Result<Descriptor> elsewhere = blob->share();
    ASSERT_TRUE(elsewhere);
    EXPECT_EQ(blob->reopen(), blob->data());
    blob->data()[bytes - 1] = std::byte{'t'};
    EXPECT_EQ(last_of(blob), 't');
    const Result<Segment> seen = Segment::adopt(std::move(elsewhere).value(), bytes);
    ASSERT_TRUE(seen);
    EXPECT_EQ(static_cast<char>(seen->bytes()[bytes - 1]), 's');
  }
}

TEST(ObjectStore, WhatSomebodyHoldsOutlivesItsDrop) {
  ObjectStore store{StoreOptions{kSegmentMin, 10}};
  store.put(key(1), filled(store, kSegmentMin, 'h'));
  const BlobPtr held = store.find(key(1));
  store.drop(key(1));
  EXPECT_EQ(store.find(key(1)), nullptr);
  EXPECT_EQ(last_of(held), 'h');
}

TEST(ObjectStore, MoreThanThereIsMemoryIsRefusedNotCrashed) {
  const ObjectStore store;
  EXPECT_EQ(store.allocate(~std::size_t{0} - 10), nullptr);
  EXPECT_EQ(store.allocate(std::size_t{1} << 60U), nullptr);
}

}  // namespace
}  // namespace penstock::worker
