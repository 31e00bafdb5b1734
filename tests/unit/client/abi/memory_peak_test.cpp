#include "client/abi/memory_peak.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace penstock::abi {
namespace {

using std::chrono::milliseconds;

void use(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, bytes);
  ::munmap(memory, bytes);
}

constexpr std::size_t kMuch = std::size_t{128} << 20U;

TEST(MemoryPeak, KnowsWhatHasBeenGivenBackSince) {
  MemoryPeak peak;
  const std::uint64_t before = peak.take(instant_at(milliseconds{100}));
  if (before == 0) GTEST_SKIP() << "/proc/self/status has no VmHWM";
  use(kMuch);
  EXPECT_GE(peak.take(instant_at(milliseconds{200})), kMuch);
}

TEST(MemoryPeak, BelongsToOneWindowOnly) {
  MemoryPeak peak;
  use(kMuch);
  const std::uint64_t large = peak.take(instant_at(milliseconds{100}));
  if (large == 0) GTEST_SKIP() << "/proc/self/status has no VmHWM";
  EXPECT_LT(peak.take(instant_at(milliseconds{200})), large - kMuch / 2);
}

TEST(MemoryPeak, RunsWithinAWindowAreNotMeasured) {
  MemoryPeak peak;
  peak.take(instant_at(milliseconds{100}));
  EXPECT_EQ(peak.take(instant_at(milliseconds{105})), 0U);
}

}  // namespace
}  // namespace penstock::abi
