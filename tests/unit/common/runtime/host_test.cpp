#include "common/runtime/host.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

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

}  // namespace
}  // namespace penstock
