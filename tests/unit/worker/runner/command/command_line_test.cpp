#include "worker/runner/command/command_line.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

using Strings = std::vector<std::string>;

TEST(CommandLine, PayloadIsSplitAtNuls) {
  EXPECT_EQ(split_arguments(""), Strings{});
  EXPECT_EQ(split_arguments("one"), Strings{"one"});
  EXPECT_EQ(split_arguments(std::string_view("a\0b", 3)), (Strings{"a", "b"}));
  EXPECT_EQ(split_arguments(std::string_view("a\0b\0", 4)), (Strings{"a", "b"}));
  EXPECT_EQ(split_arguments(std::string_view("\0\0", 2)), (Strings{"", ""}));
}

TEST(CommandLine, VariableReplacesTheOneOfTheSameName) {
  Strings environment{"A=1", "AB=2"};
  set_variables(environment, {"A=3", "C=4"});
  EXPECT_EQ(environment, (Strings{"A=3", "AB=2", "C=4"}));
}

TEST(CommandLine, VariableIsFoundByItsWholeName) {
  const Strings environment{"PATHS=no", "PATH=/bin"};
  EXPECT_EQ(variable_of(environment, "PATH", "other"), "/bin");
  EXPECT_EQ(variable_of(environment, "HOME", "other"), "other");
}

}  // namespace
}  // namespace penstock::worker
