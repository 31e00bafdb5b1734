// Memory becomes present without a byte of it changing, and without being kept from the code that gives it back.
#include "worker/store/page_warmer.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

namespace penstock::worker {
namespace {

constexpr std::size_t kBytes = std::size_t{64} << 20U;
const auto kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

std::shared_ptr<Blob> new_memory() {
  return Blob::allocate_segment(kBytes, std::make_shared<SegmentReserve>(ReserveLimits{0, 0}));
}

/// Pages that are mapped and in memory.
std::size_t present(const Blob& blob) {
  std::vector<unsigned char> pages(kBytes / kPage);
  if (mincore(const_cast<std::byte*>(blob.bytes().data()), kBytes, pages.data()) != 0) return 0;
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1U) != 0; }));
}

bool kernel_can() {
  const std::shared_ptr<Blob> blob = new_memory();
  return madvise(blob->data(), kPage, MADV_POPULATE_WRITE) == 0;
}

TEST(PageWarmer, AllPagesBecomePresentAndKeepTheirBytes) {
  if (!kernel_can()) GTEST_SKIP() << "this kernel is older than 5.14";
  PageWarmer warmer;
  const std::shared_ptr<Blob> blob = new_memory();
  std::memset(blob->data() + 5, 7, 100);
  EXPECT_LT(present(*blob), 10U);
  warmer.warm(blob, 0, kBytes);
  while (present(*blob) < kBytes / kPage) std::this_thread::yield();
  EXPECT_EQ(blob->bytes()[4], std::byte{0});
  EXPECT_EQ(blob->bytes()[104], std::byte{7});
  EXPECT_EQ(blob->bytes()[kBytes - 1], std::byte{0});
}

// Walking the pages of reused memory took an eighth of the processor time of a receiver.
TEST(PageWarmer, MemoryOfAnEarlierDatumIsLeftAlone) {
  if (!kernel_can()) GTEST_SKIP() << "this kernel is older than 5.14";
  PageWarmer warmer;
  const auto reserve = std::make_shared<SegmentReserve>(ReserveLimits{kBytes, 1});
  EXPECT_FALSE(Blob::allocate_segment(kBytes, reserve)->is_reused());
  const std::shared_ptr<Blob> reused = Blob::allocate_segment(kBytes, reserve);
  ASSERT_TRUE(reused->is_reused());
  const std::shared_ptr<Blob> fresh = new_memory();
  warmer.warm(reused, 0, kBytes);
  warmer.warm(fresh, 0, kBytes);
  while (present(*fresh) < kBytes / kPage) std::this_thread::yield();
  EXPECT_EQ(present(*reused), 0U);
}

TEST(PageWarmer, NothingBeyondWhatWasAskedForIsTouched) {
  if (!kernel_can()) GTEST_SKIP() << "this kernel is older than 5.14";
  PageWarmer warmer;
  const std::shared_ptr<Blob> blob = new_memory();
  warmer.warm(blob, 0, kBytes / 8);
  warmer.warm(blob, kBytes / 2, kBytes / 2 + kBytes / 8);
  while (present(*blob) < kBytes / kPage / 4) std::this_thread::yield();
  EXPECT_EQ(present(*blob), kBytes / kPage / 4);
}

TEST(PageWarmer, WhatIsGivenBackMeanwhileIsNotTouched) {
  PageWarmer warmer;
  for (int i = 0; i < 20; ++i) {
    std::shared_ptr<Blob> blob = new_memory();
    const std::weak_ptr<Blob> seen = blob;
    warmer.warm(blob, 0, kBytes);
    blob.reset();
    while (!seen.expired()) std::this_thread::yield();  // After the step that is being done.
  }
}

TEST(PageWarmer, WhatIsSealedMeanwhileIsLeftAlone) {
  PageWarmer warmer;
  const std::shared_ptr<Blob> blob = new_memory();
  warmer.warm(blob, 0, kBytes);
  blob->seal();
  ASSERT_NE(blob->segment(), nullptr);
  EXPECT_EQ(blob->bytes()[kBytes - 1], std::byte{0});
}

TEST(PageWarmer, SmallOnesWakeNobody) {
  PageWarmer warmer;
  const std::shared_ptr<Blob> small = Blob::allocate(PageWarmer::kBytesMin - 1);
  warmer.warm(small, 0, small->bytes().size());
  EXPECT_EQ(small.use_count(), 1);
}

}  // namespace
}  // namespace penstock::worker
