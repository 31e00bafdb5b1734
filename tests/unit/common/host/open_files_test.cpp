#include "common/host/open_files.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

namespace penstock {
namespace {

/// In a child process, for a limit cannot be raised again: 0 if it is `expected` then, and what is returned.
void raise_between(rlim_t soft, rlim_t hard, std::size_t expected) {
  const rlimit limit{soft, hard};
  rlimit now{};
  const bool set = ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
  const std::size_t raised = raise_open_files_limit();
  ::getrlimit(RLIMIT_NOFILE, &now);
  std::_Exit(set && raised == expected && now.rlim_cur == expected && now.rlim_max == hard ? 0 : 1);
}

TEST(OpenFiles, TheLimitIsRaisedToWhatTheHostAllows) {
  EXPECT_EXIT(raise_between(100, 300, 300), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(raise_between(300, 300, 300), testing::ExitedWithCode(0), "");
}

TEST(OpenFiles, NoMoreIsAskedForThanProgramsCanClose) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max <= kOpenFilesMax) GTEST_SKIP() << "this host allows no more";
  EXPECT_EXIT(raise_between(100, kOpenFilesMax + 1, kOpenFilesMax), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(raise_between(kOpenFilesMax + 1, kOpenFilesMax + 1, kOpenFilesMax + 1), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace penstock
