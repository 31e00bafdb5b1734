#include "common/base/pattern.hpp"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

TEST(Pattern, FitsAsInAShell) {
  struct Case {
    const char* pattern;
    const char* text;
    bool fits;
  };
  const Case cases[] = {{"", "", true},
                        {"", "a", false},
                        {"night", "night", true},
                        {"night", "nights", false},
                        {"night", "tnight", false},
                        {"night*", "night-3", true},
                        {"*", "", true},
                        {"*", "anything", true},
                        {"?", "a", true},
                        {"?", "", false},
                        {"a?c", "abc", true},
                        {"*-3", "night-3-3", true},
                        {"a*b*c", "a--b--b-c", true},
                        {"a*b*c", "a--c--b", false},
                        {"**a", "bba", true}};
  for (const Case& one : cases) EXPECT_EQ(matches(one.pattern, one.text), one.fits) << one.pattern << " " << one.text;
}

TEST(Pattern, ManyStarsTakeNoExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "*a";
  EXPECT_FALSE(matches(pattern + "b", std::string(5000, 'a')));
}

}  // namespace
}  // namespace penstock
