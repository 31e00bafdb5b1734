#include "cli/commands/state_place.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/scratch_directory.hpp"

namespace penstock::cli {
namespace {

namespace fs = std::filesystem;

TEST(StatePlace, IsTheServicesThenTheUsersThenRoots) {
  struct Case {
    const char* name;
    StateSurroundings surroundings;
    const char* expected;
  };
  const Case cases[] = {
      {"a service", {"/var/lib/penstock", "/x", "/home/ada", true}, "/var/lib/penstock"},
      {"a service with two directories", {"/var/lib/a:/var/lib/b", "", "", true}, "/var/lib/a"},
      {"a user who has said where", {"", "/x", "/home/ada", false}, "/x/penstock/supervisor"},
      {"a user", {"", "", "/home/ada", false}, "/home/ada/.local/state/penstock/supervisor"},
      {"root at a shell", {"", "", "/root", true}, "/root/.local/state/penstock/supervisor"},
      {"root without a home", {"", "", "", true}, "/var/lib/penstock"},
      {"paths that are relative", {"lib", "state", "/home/ada", false}, "/home/ada/.local/state/penstock/supervisor"},
  };
  for (const Case& one : cases) {
    const Result<std::string> found = default_state_directory(one.surroundings);
    ASSERT_TRUE(found.has_value()) << one.name;
    EXPECT_EQ(*found, one.expected) << one.name;
  }
}

TEST(StatePlace, WithoutAnyPlaceItIsSaidWhatToDo) {
  const Result<std::string> found = default_state_directory({});
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(found.error().remedy.find("--no-state"), std::string::npos) << to_string(found.error());
}

TEST(StatePlace, IsMadeForItsOwnerAloneAndLeftAsItIsWhenItIsThere) {
  const ScratchDirectory scratch;
  const std::string place = scratch.at("a/b");
  ASSERT_TRUE(make_state_directory(place).has_value());
  EXPECT_EQ(fs::status(place).permissions(), fs::perms::owner_all);
  const fs::perms shared = fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec;
  fs::permissions(place, shared);
  ASSERT_TRUE(make_state_directory(place).has_value());
  EXPECT_EQ(fs::status(place).permissions(), shared);
}

TEST(StatePlace, APlaceThatCannotBeMadeIsNamed) {
  const ScratchDirectory scratch;
  const std::string place = scratch.write("file", "") + "/under";
  const Result<void> made = make_state_directory(place);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().subject, place);
}

}  // namespace
}  // namespace penstock::cli
