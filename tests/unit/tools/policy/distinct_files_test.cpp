#include "tools/policy/distinct_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/scratch_directory.hpp"

namespace penstock::tools {
namespace {

TEST(DistinctFiles, WhatIsWrittenIsNeitherReadNorWrittenTwice) {
  const ScratchDirectory scratch;
  const std::string trace = scratch.write("trace.csv", "x");
  const std::string fresh = scratch.at("fresh.csv");
  EXPECT_TRUE(check_distinct({{"--trace", trace}, {"--nodes", trace}}, {{"--csv", fresh}, {"--jobs", ""}}));
  const Result<void> over = check_distinct({{"--trace", trace}}, {{"--csv", trace}});
  ASSERT_FALSE(over);
  EXPECT_EQ(to_string(over.error()).find(trace + ": would be written by --csv, and is the file of --trace too"), 0U)
      << to_string(over.error());
  EXPECT_FALSE(check_distinct({}, {{"--csv", fresh}, {"--jobs", fresh}}));
  EXPECT_FALSE(check_distinct({}, {{"--csv", fresh}, {"--jobs", scratch.path() + "/./fresh.csv"}}));
}

TEST(DistinctFiles, LinksAreTheSameFile) {
  const ScratchDirectory scratch;
  const std::string trace = scratch.write("trace.csv", "x");
  std::filesystem::create_symlink(trace, scratch.at("link"));
  std::filesystem::create_hard_link(trace, scratch.at("hard"));
  EXPECT_FALSE(check_distinct({{"--trace", trace}}, {{"--csv", scratch.at("link")}}));
  EXPECT_FALSE(check_distinct({{"--trace", trace}}, {{"--csv", scratch.at("hard")}}));
}

TEST(DistinctFiles, DevicesMayBeNamedSeveralTimes) {
  EXPECT_TRUE(check_distinct({}, {{"--csv", "/dev/null"}, {"--jobs", "/dev/null"}}));
}

}  // namespace
}  // namespace penstock::tools
