#include "common/storage/storage.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(EndOfPrefix, IsTheSmallestKeyBehindAllThatBeginSo) {
  EXPECT_EQ(end_of_prefix("a"), "b");
  EXPECT_EQ(end_of_prefix("a\xff\xff"), "b");
  EXPECT_EQ(end_of_prefix("\x7f"), "\x80");
  EXPECT_EQ(end_of_prefix("\xff"), std::nullopt);
  EXPECT_EQ(end_of_prefix(""), std::nullopt);
}

}  // namespace
}  // namespace penstock
