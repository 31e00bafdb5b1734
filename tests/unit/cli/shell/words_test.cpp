#include "cli/shell/words.hpp"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

using Words = std::vector<std::string>;

Words words(std::string_view line) {
  const Result<Words> found = split_words(line);
  EXPECT_TRUE(found.has_value()) << to_string(found.error());
  return found.value_or({});
}

TEST(SplitWords, BlanksSeparate) {
  EXPECT_EQ(words("job  job-1\t--json \r\n"), (Words{"job", "job-1", "--json"}));
  EXPECT_EQ(words(""), Words{});
  EXPECT_EQ(words("  "), Words{});
}

TEST(SplitWords, QuotesAndBackslashesKeepBlanks) {
  EXPECT_EQ(words(R"(cancel "night run" 'a "b"')"), (Words{"cancel", "night run", "a \"b\""}));
  EXPECT_EQ(words(R"(a\ b "c\"d" 'e\f')"), (Words{"a b", "c\"d", "e\\f"}));
  EXPECT_EQ(words(R"(pre"fix"ed)"), Words{"prefixed"});
  EXPECT_EQ(words(R"(job "")"), (Words{"job", ""}));
  EXPECT_EQ(words("trailing\\"), Words{"trailing\\"});
}

TEST(SplitWords, ACommentEndsTheLine) {
  EXPECT_EQ(words("jobs # all of them 'even unclosed"), Words{"jobs"});
  EXPECT_EQ(words("job a#1"), (Words{"job", "a#1"}));
  EXPECT_EQ(words("job '#1'"), (Words{"job", "#1"}));
}

TEST(SplitWords, AnOpenQuoteIsRefused) {
  for (const char* line : {"job 'a", "job \"a", "job \"a\\\""}) {
    const Result<Words> found = split_words(line);
    ASSERT_FALSE(found.has_value()) << line;
    EXPECT_EQ(found.error().code, ErrorCode::InvalidArgument);
  }
}

}  // namespace
}  // namespace penstock::cli
