// Every case of mars_cases.md names tests, and every test that it names is there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tests/support/source_text.hpp"

namespace penstock {
namespace {

const std::filesystem::path kRoot{PENSTOCK_SOURCE_DIR};
constexpr std::size_t kCases = 25;

std::set<std::string> tests_in_tree() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{kRoot / "tests"}) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = read_source(entry.path());
    for (const char* open : {"\nTEST(", "\nTEST_F("})
      for (const std::string& both : between(text, open, ")"))
        if (const std::size_t comma = both.find(", "); comma != std::string::npos)
          names.insert(both.substr(0, comma) + "." + both.substr(comma + 2));
  }
  return names;
}

TEST(MarsCases, EachIsHeldByATestThatExists) {
  const std::set<std::string> tests = tests_in_tree();
  std::ifstream table{kRoot / "tests/conformance/mars_cases.md"};
  std::size_t cases = 0;
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with("| ") || line.starts_with("| case |")) continue;
    ++cases;
    const std::vector<std::string> names = between(line, "`", "`");
    EXPECT_FALSE(names.empty()) << line;
    for (const std::string& name : names)
      EXPECT_TRUE(tests.contains(name)) << name << " is gone, and with it: " << line;
  }
  EXPECT_EQ(cases, kCases);
}

}  // namespace
}  // namespace penstock
