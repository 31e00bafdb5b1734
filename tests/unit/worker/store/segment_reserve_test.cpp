#include "worker/store/segment_reserve.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <memory>

#include "worker/store/object_store.hpp"

namespace penstock::worker {
namespace {

constexpr std::size_t kPage = 4096;

Segment filled(std::size_t bytes, char letter) {
  Result<Segment> segment = Segment::create(bytes);
  std::memset(segment->data(), letter, bytes);
  segment->protect();
  return std::move(segment).value();
}

char at(const Segment& segment, std::size_t place) { return static_cast<char>(segment.bytes()[place]); }

TEST(SegmentReserve, WhatIsKeptIsGivenOutAgainAndCanBeWritten) {
  SegmentReserve reserve{{10 * kPage, 10}};
  reserve.keep(filled(2 * kPage, 'a'));
  EXPECT_EQ(reserve.bytes(), 2 * kPage);
  std::optional<Segment> again = reserve.take(2 * kPage);
  ASSERT_TRUE(again);
  EXPECT_EQ(reserve.bytes(), 0U);
  EXPECT_EQ(at(*again, 2 * kPage - 1), 'a');
  std::memset(again->data(), 'b', 2 * kPage);
  ASSERT_TRUE(again->seal());
  EXPECT_EQ(at(*again, 0), 'b');
  EXPECT_FALSE(reserve.take(1));
}

TEST(SegmentReserve, TheSmallestThatFitsIsTakenAndNoneThatWouldBeHalfEmpty) {
  SegmentReserve reserve{{100 * kPage, 10}};
  reserve.keep(filled(8 * kPage, 'e'));
  reserve.keep(filled(4 * kPage, 'f'));
  EXPECT_FALSE(reserve.take(8 * kPage + 1));
  EXPECT_FALSE(reserve.take(2 * kPage - 1));
  EXPECT_EQ(reserve.take(4 * kPage)->bytes().size(), 4 * kPage);
  EXPECT_EQ(reserve.take(4 * kPage)->bytes().size(), 4 * kPage);
  EXPECT_EQ(reserve.bytes(), 0U);
}

TEST(SegmentReserve, AReaderOfTheLastPageSeesNothingOfTheOlderDatum) {
  SegmentReserve reserve{{100 * kPage, 10}};
  reserve.keep(filled(3 * kPage, 'x'));
  std::optional<Segment> again = reserve.take(2 * kPage + 10);
  ASSERT_TRUE(again);
  struct stat status {};
  ASSERT_EQ(::fstat(again->handle().get(), &status), 0);
  EXPECT_EQ(status.st_size, static_cast<off_t>(2 * kPage + 10));
  EXPECT_EQ(at(*again, 2 * kPage + 9), 'x');
  EXPECT_EQ(again->bytes().data()[2 * kPage + 10], std::byte{0});  // Mapped, but behind the end.
}

TEST(SegmentReserve, AtItsLimitsTheOldestGoes) {
  SegmentReserve by_bytes{{4 * kPage, 10}};
  by_bytes.keep(filled(5 * kPage, 'z'));
  EXPECT_EQ(by_bytes.bytes(), 0U);
  by_bytes.keep(filled(3 * kPage, 'o'));
  by_bytes.keep(filled(1 * kPage, 'p'));
  EXPECT_EQ(by_bytes.bytes(), 4 * kPage);
  by_bytes.keep(filled(1 * kPage, 'q'));
  EXPECT_EQ(by_bytes.bytes(), 2 * kPage);

  SegmentReserve by_count{{100 * kPage, 2}};
  for (const char letter : {'1', '2', '3'}) by_count.keep(filled(kPage, letter));
  EXPECT_EQ(by_count.bytes(), 2 * kPage);
  EXPECT_EQ(at(*by_count.take(kPage), 0), '2');

  SegmentReserve none{{0, 10}};
  none.keep(filled(kPage, 'n'));
  EXPECT_EQ(none.bytes(), 0U);
}

DataKey key(std::uint32_t subtask) { return DataKey{{JobId{1}, SubtaskIndex{subtask}}, 0}; }

// Whether what a store drops is the memory of what it allocates next.
bool is_used_again(bool shared) {
  StoreOptions options;
  options.segment_bytes_min = kPage;
  options.reserve = {100 * kPage, 10};
  ObjectStore store{options};
  std::shared_ptr<Blob> blob = store.allocate(kPage);
  std::memset(blob->data(), 'm', kPage);
  store.put(key(1), std::move(blob));
  if (shared) {
    EXPECT_TRUE(store.find(key(1))->share());
  }
  store.drop(key(1));
  return static_cast<char>(store.allocate(kPage)->bytes()[0]) == 'm';
}

TEST(SegmentReserve, OnlyWhatNoOtherProcessHasSeenIsUsedAgain) {
  EXPECT_TRUE(is_used_again(false));
  EXPECT_FALSE(is_used_again(true));
}

TEST(SegmentReserve, WhatSomebodyStillReadsIsNotUsedAgain) {
  StoreOptions options;
  options.segment_bytes_min = kPage;
  options.reserve = {100 * kPage, 10};
  BlobPtr held;
  {
    ObjectStore store{options};
    std::shared_ptr<Blob> blob = store.allocate(kPage);
    std::memset(blob->data(), 'h', kPage);
    store.put(key(1), std::move(blob));
    held = store.find(key(1));
    store.drop(key(1));
    const std::shared_ptr<Blob> next = store.allocate(kPage);
    std::memset(next->data(), 'i', kPage);
    EXPECT_EQ(static_cast<char>(held->bytes()[0]), 'h');
  }
  EXPECT_EQ(static_cast<char>(held->bytes()[0]), 'h');  // The datum outlives the store.
}

}  // namespace
}  // namespace penstock::worker
