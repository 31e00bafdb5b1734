#include "common/host/log.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock {
namespace {

TEST(Log, WhatAPeerIsCalledStaysOnItsLine) {
  start_log(LogLevel::Info);
  testing::internal::CaptureStderr();
  log_line(LogLevel::Info, "peer connected", "name=a\nb\x1b[2J");
  log_line(LogLevel::Debug, "not shown");
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_NE(line.find(" info peer connected name=a?b?[2J\n"), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
}

TEST(Log, TheSameLineIsWrittenOnceASecond) {
  start_log(LogLevel::Info);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 5; ++i) log_line(LogLevel::Info, "said again");
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_LE(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;  // Two if a second ended in between.
}

}  // namespace
}  // namespace penstock
