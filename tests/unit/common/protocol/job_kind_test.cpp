#include "common/protocol/job_kind.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

// A reader of a word takes its place for the kind.
TEST(JobKind, EachHasAWordInItsPlace) {
  const std::vector<std::string_view> words = job_kind_words();
  EXPECT_EQ(words, (std::vector<std::string_view>{"training", "interactive", "inference"}));
  for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(to_string(static_cast<JobKind>(i)), words[i]);
}

}  // namespace
}  // namespace penstock
