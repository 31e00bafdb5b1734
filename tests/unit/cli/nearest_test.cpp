#include "cli/nearest.hpp"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

std::string nearest(std::string_view wanted, std::initializer_list<std::string_view> known) {
  NearestName name{wanted};
  for (const std::string_view candidate : known) name.offer(candidate);
  return name.best();
}

TEST(NearestName, FindsTheSlipOfTheKey) {
  EXPECT_EQ(nearest("comand", {"cwd", "command", "env"}), "command");
  EXPECT_EQ(nearest("subtaks", {"template", "subtask"}), "subtask");
  EXPECT_EQ(nearest("NAME", {"name", "memory"}), "name");
}

TEST(NearestName, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest("colour", {"name", "slots"}), "");
  EXPECT_EQ(NearestName{"x"}.remedy(), "");
}

TEST(EditDistance, CountsNeighboursThatChangedPlacesOnce) {
  EXPECT_EQ(edit_distance("abcd", "abdc", 5), 1U);
  EXPECT_EQ(edit_distance("abc", "", 5), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 5), 3U);
  EXPECT_EQ(edit_distance("aaaaaaaa", "bbbbbbbb", 2), 3U);
}

}  // namespace
}  // namespace penstock::cli
