#include "common/base/seldom.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock {
namespace {

TEST(Seldom, ReadsAsAtFirstAndTakesAPointerUntilItIsWrittenTo) {
  Seldom<std::vector<std::string>> lines;
  EXPECT_TRUE(lines->empty());
  EXPECT_FALSE(lines.any());
  EXPECT_EQ(lines.if_any(), nullptr);
  EXPECT_EQ(sizeof lines, sizeof(void*));
  lines.edit().push_back("one");
  EXPECT_TRUE(lines.any());
  EXPECT_EQ(lines->front(), "one");
  EXPECT_EQ(lines.if_any(), &lines.edit());
}

TEST(Seldom, ACopyIsAnotherOne) {
  Seldom<std::string> text{std::string{"before"}};
  Seldom<std::string> copy = text;
  text.edit() = "after";
  EXPECT_EQ(*copy, "before");
  copy = text;
  EXPECT_EQ(*copy, "after");
  copy = {};
  EXPECT_FALSE(copy.any());
  EXPECT_EQ(*text, "after");
}

TEST(Seldom, WhatIsTakenIsGone) {
  Seldom<std::string> text;
  EXPECT_EQ(text.take(), "");
  text.edit() = "once";
  EXPECT_EQ(text.take(), "once");
  EXPECT_FALSE(text.any());
  EXPECT_EQ(*text, "");
}

TEST(Seldom, OnesThatAreNotWrittenToAreEqualAndOthersByTheirContent) {
  Seldom<std::string> text;
  Seldom<std::string> other;
  EXPECT_EQ(text, other);
  text.edit() = "written";
  EXPECT_NE(text, other);
  other.edit() = "written";
  EXPECT_EQ(text, other);
  other.edit() = "otherwise";
  EXPECT_NE(text, other);
}

}  // namespace
}  // namespace penstock
