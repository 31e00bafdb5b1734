#include "common/host/log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "common/host/clock.hpp"

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

/// The present hour in UTC.
std::string hour_now() {
  const std::time_t time = std::chrono::system_clock::to_time_t(calendar_now());
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  std::array<char, 20> hour{};
  std::strftime(hour.data(), hour.size(), "%Y-%m-%dT%H:", &utc);
  return hour.data();
}

TEST(Log, ALineBeginsWithItsTimeInUtc) {
  start_log(LogLevel::Info);
  const std::string before = hour_now();
  testing::internal::CaptureStderr();
  log_line(LogLevel::Info, "now");
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(line.starts_with(before) || line.starts_with(hour_now())) << line;
  EXPECT_EQ(line.find("Z info now"), std::string{"2026-11-30T07:39:25.123"}.size()) << line;
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
