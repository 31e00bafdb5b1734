#include "common/host/host.hpp"

#include <gtest/gtest.h>
#include <malloc.h>  // tidy: allow arrows: mallinfo2
#include <sched.h>
#include <sys/resource.h>

#include <cstddef>
#include <memory>
#include <thread>

namespace penstock {
namespace {

TEST(Host, AThreadThatStepsBackDoesSoAlone) {
  const int before = getpriority(PRIO_PROCESS, 0);
  int of_thread = before;
  std::thread{[&of_thread] {
    step_back();
    of_thread = getpriority(PRIO_PROCESS, 0);
  }}.join();
  EXPECT_GE(of_thread, 10);
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
}

// `taskset` and cpusets: a process on one of many processors spun for work that needed the same processor.
TEST(Host, UsableProcessorsAreThoseOfTheAffinity) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_LE(usable_processors(), static_cast<unsigned>(CPU_COUNT(&before)));
  EXPECT_GE(usable_processors(), 1U);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t processor = 0; processor < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++processor)
    if (CPU_ISSET(processor, &before)) CPU_SET(processor, &one);
  unsigned of_thread = 0;
  std::thread{[&] {
    if (::sched_setaffinity(0, sizeof one, &one) == 0) of_thread = usable_processors();
  }}.join();
  EXPECT_EQ(of_thread, 1U);
}

// A supervisor under `ulimit -v` offered half of it for graphs, most of which its own threads had taken.
TEST(Host, WhatAProcessHasTakenIsNotOfferedAgain) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer has reserved more address space than this limit allows";
#endif
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "there is a limit already";
  rlimit limit = before;
  limit.rlim_cur = rlim_t{1} << 46U;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const std::optional<Bytes> left = read_memory_bounds().process;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_TRUE(left.has_value());
  EXPECT_LT(left->value(), (std::int64_t{1} << 46U) - (std::int64_t{1} << 20U));
  EXPECT_GT(left->value(), 0);
}

/// Of a block of this size; by the allocator's own count.
bool has_own_pages(std::size_t bytes) {
  const std::size_t before = mallinfo2().hblkhd;
  const auto block = std::make_unique_for_overwrite<std::byte[]>(bytes);
  *static_cast<volatile std::byte*>(block.get()) = std::byte{1};  // A block that nobody touches may be left out.
  return mallinfo2().hblkhd >= before + bytes;
}

// Fault F23, I5: a supervisor kept 45 to 65 MiB of graphs that it had forgotten, in two of seventeen runs.
TEST(Host, LargeBlocksGoBackToTheSystemHoweverLargeTheFreedOnesWere) {
  constexpr std::size_t kLargest = 24UL << 20U;  // Below the limit of what glibc learns from.
  if (!has_own_pages(kLargest * 4)) GTEST_SKIP() << "the allocator of a sanitizer counts nothing";
  set_up_allocator();
  EXPECT_TRUE(has_own_pages(kLargest));
  EXPECT_TRUE(has_own_pages(static_cast<std::size_t>(kOwnPagesFrom.value())));
}

}  // namespace
}  // namespace penstock
