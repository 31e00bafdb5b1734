#include "cli/show/terminal.hpp"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

TEST(Terminal, WhatIsNoDescriptorIsNoTerminal) {
  EXPECT_FALSE(is_terminal(-1));
  EXPECT_EQ(terminal_columns(-1), 80U);
}

}  // namespace
}  // namespace penstock::cli
