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

}  // namespace
}  // namespace penstock
