#include "supervisor/core/kept_keys.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

TEST(KeptKeys, AreFoundBothWaysInWhateverOrderTheyCame) {
  const KeptKeys keys{{{SubtaskIndex{7}, "b"}, {SubtaskIndex{2}, "c"}, {SubtaskIndex{9}, "a"}}};
  EXPECT_EQ(keys.find("a"), 9U);
  EXPECT_EQ(keys.find("b"), 7U);
  EXPECT_EQ(keys.find("c"), 2U);
  for (const char* other : {"", "aa", "d"}) EXPECT_EQ(keys.find(other), std::nullopt) << other;
  ASSERT_NE(keys.key_of(7), nullptr);
  EXPECT_EQ(*keys.key_of(7), "b");
  for (const std::uint32_t other : {0U, 8U, 10U}) EXPECT_EQ(keys.key_of(other), nullptr) << other;
  EXPECT_EQ(keys.all().front().key, "c") << "by subtask";
}

TEST(KeptKeys, NoneTakeNothing) {
  const KeptKeys none;
  EXPECT_EQ(none.find("a"), std::nullopt);
  EXPECT_EQ(none.key_of(0), nullptr);
  EXPECT_EQ(none.bytes(), 0U);
  EXPECT_GT((KeptKeys{{{SubtaskIndex{1}, "some"}}}).bytes(), 4U);
}

}  // namespace
}  // namespace penstock::supervisor
