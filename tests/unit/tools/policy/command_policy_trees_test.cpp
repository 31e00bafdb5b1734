// Trees of accounts: what is none is refused, and all that a file expects is compared.
#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
namespace {

std::string tree_case(const std::string& children, const std::string& rest) {
  return R"({"kind": "fairshare_tree", "tree": {"name": "root", "type": "account", "shares": 1, "children": [)" +
         children + "]}, " + rest + "}";
}

constexpr const char* kEqual = R"({"name": "u", "type": "user", "shares": 1, "usage": 3},
                                  {"name": "v", "type": "user", "shares": 1, "usage": 1})";

TEST(PolicyTreeCase, WhatIsNoTreeIsRefused) {
  const std::string expected = R"("expected": {"classic": {"u": 1.0}})";
  const auto refused = [&](const std::string& node, const std::string& why) {
    expect_told(tree_case(node, expected), why);
  };
  refused(R"({"name": "u", "type": "user", "shares": -1})", "`tree.children[0].shares` must be a whole number from 0");
  refused(R"({"name": "u", "type": "user", "shares": 1.5})", "`tree.children[0].shares` must be a whole number");
  refused(R"({"name": "u", "type": "user", "shares": "3"})", "is text");
  refused(R"({"name": "u", "type": "user", "usage": "500"})", "`tree.children[0].usage` must be a number");
  refused(R"({"name": "u", "type": "user", "usage": -5})", "`tree.children[0].usage` must be a number from 0");
  refused(R"({"name": "u", "type": "usr"})", "neither account nor user");
  refused(R"({"name": "u", "type": "account", "usage": 5})", "its usage is that of its users");
  refused(R"({"name": "u", "type": "user", "children": [{"name": "w", "type": "user"}]})", "has others below");
  refused(R"({"name": "u", "type": "user"}, {"name": "u", "type": "user"})", "there are two 'u' below 'root'");
  refused(R"({"name": "A", "children": [{"name": "u", "type": "user", "shares": "x"}]})",
          "`tree.children[0].children[0].shares` must be");
}

TEST(PolicyTreeCase, AlgorithmsAreReadToTheirEnd) {
  EXPECT_EQ(told_of(tree_case(
                kEqual, R"("expected": {"balanced_lambda_1": {"u": 0.353553391}, "balanced": {"u": 0.353553391}})")),
            "");
  for (const char* name : {"balanced_lambda_0.5xyz", "balanced_lambda_7", "balanced_lambda_-1", "rational"})
    expect_told(tree_case(kEqual, R"("expected": {")" + std::string{name} + R"(": {"u": 0.353553391}})"),
                "not understood");
  expect_told(tree_case(kEqual, R"("expected": {"classic": {}})"), "nothing to compare with");
}

TEST(PolicyTreeCase, MeasuresOfEveryNodeAreCompared) {
  const std::string right = R"("expected": {"balanced": {"u": 0.353553391}}, "published_effective_usage": {"u": 0.75},
      "intermediate": [{"node": "u", "norm_shares": 0.5, "norm_usage": 0.75, "level_fs": 0.666666667}])";
  EXPECT_EQ(told_of(tree_case(kEqual, right)), "");
  const auto wrong = [&](const std::string& from, const std::string& to, const std::string& why) {
    std::string text = right;
    text.replace(text.find(from), from.size(), to);
    expect_told(tree_case(kEqual, text), why);
  };
  wrong("0.666666667", "99.0", "level weight of root/u");
  wrong("0.666666667", "\"inf\"", "level weight of root/u");
  wrong("\"node\": \"u\"", "\"node\": \"nobody\"", "there is no 'nobody'");
  wrong("usage\": {\"u\": 0.75}", "usage\": {\"u\": 0.7}", "effective usage of u");
}

TEST(PolicyTreeCase, WhatIsNullIsNotCompared) {
  EXPECT_EQ(told_of(tree_case(kEqual, R"("expected": {"balanced": {"u": 0.353553391, "v": null}})")), "");
  expect_told(tree_case(kEqual, R"("expected": {"balanced": {"u": null, "v": null}})"), "nothing to compare with");
  expect_told(tree_case(kEqual, R"("expected": {"balanced": {"nobody": null}})"), "there is no 'nobody'");
}

/// Named in the specification as a depth to hold. Each level is a table in a list.
TEST(PolicyTreeCase, ATreeOfFiftyLevelsAndMoreIsRead) {
  std::string open;
  std::string close;
  for (int level = 0; level < 300; ++level) {
    open += R"({"name": "a)" + std::to_string(level) + R"(", "type": "account", "shares": 1, "children": [)";
    close += "]}";
  }
  const std::string user = R"({"name": "u", "type": "user", "shares": 1, "usage": 7})";
  EXPECT_EQ(
      told_of(tree_case(open + user + close, R"("expected": {"balanced": {"u": 0.5}, "depth_oblivious": {"u": 0.5}})")),
      "");
}

}  // namespace
}  // namespace penstock::tools
