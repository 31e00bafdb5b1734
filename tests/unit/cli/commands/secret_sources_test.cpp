#include "cli/commands/secret_sources.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_directory.hpp"

namespace penstock::cli {
namespace {

std::string refusal(const std::vector<SecretSource>& sources) {
  const auto read = read_secrets(sources);
  return read ? std::string{} : to_string(read.error());
}

TEST(SecretSources, AreAFileOrTheOutputOfACommand) {
  const ScratchDirectory scratch;
  std::ofstream{scratch.at("key")} << "first\nsecond\n\n";
  const auto read = read_secrets({{"FILE", "file:" + scratch.at("key")}, {"OUT", "command:echo 'a b'"}});
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(*read, (std::vector<Secret>{{"FILE", "first\nsecond\n"}, {"OUT", "a b"}}));
}

TEST(SecretSources, AValueIsNoSource) {
  const std::string refused = refusal({{"KEY", "hunter2"}});
  EXPECT_NE(refused.find("neither from a file nor from a command"), std::string::npos);
  EXPECT_EQ(refused.find("hunter2"), std::string::npos) << "it is not repeated";
}

TEST(SecretSources, WhatCannotBeReadIsRefused) {
  EXPECT_NE(refusal({{"KEY", "file:/no/such/file"}}).find("/no/such/file"), std::string::npos);
  EXPECT_NE(refusal({{"KEY", "file:/"}}).find("cannot be read"), std::string::npos) << "a directory";
  EXPECT_NE(refusal({{"KEY", "command:echo half; exit 3"}}).find("has failed"), std::string::npos);
  EXPECT_NE(refusal({{"KEY", "command:head -c 70000 /dev/zero | tr '\\0' x"}}).find("more than 65536 bytes"),
            std::string::npos);
}

TEST(SecretSources, ACommandLineNamesTheVariable) {
  EXPECT_EQ(*parse_secret_source("A=file:/x=y"), (SecretSource{"A", "file:/x=y"}));
  for (const char* text : {"A", "=x", "A-B=x", ""}) EXPECT_FALSE(parse_secret_source(text)) << text;
}

}  // namespace
}  // namespace penstock::cli
