// Every case of mars_cases.md names tests, and every test that it names is there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace penstock {
namespace {

const std::filesystem::path kRoot{PENSTOCK_SOURCE_DIR};
constexpr std::size_t kCases = 25;

std::string read(const std::filesystem::path& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::set<std::string> tests_in_tree() {
  std::set<std::string> names;
  const std::regex pattern{R"(\nTEST(?:_F|_P)?\((\w+),\s*(\w+)\))"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator{kRoot / "tests"}) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = read(entry.path());
    for (std::sregex_iterator at{text.begin(), text.end(), pattern}, end; at != end; ++at)
      names.insert((*at)[1].str() + "." + (*at)[2].str());
  }
  return names;
}

TEST(MarsCases, EachIsHeldByATestThatExists) {
  const std::set<std::string> tests = tests_in_tree();
  std::ifstream table{kRoot / "tests/conformance/mars_cases.md"};
  const std::regex name{R"(`(\w+\.\w+)`)"};
  std::size_t cases = 0;
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with("| ") || line.starts_with("| case |")) continue;
    ++cases;
    std::size_t held = 0;
    for (std::sregex_iterator at{line.begin(), line.end(), name}, end; at != end; ++at, ++held)
      EXPECT_TRUE(tests.contains((*at)[1])) << (*at)[1] << " is gone, and with it: " << line;
    EXPECT_GT(held, 0U) << line;
  }
  EXPECT_EQ(cases, kCases);
}

}  // namespace
}  // namespace penstock
