#include <gtest/gtest.h>

#include "tools/policy/command_policy_shape.hpp"

namespace penstock::tools {
namespace {

ShapeFindings findings_of(const std::string& text, CaseFormat format = CaseFormat::Slots) {
  const Result<cli::DocumentValue> document = cli::parse_document(text, cli::DocumentFormat::Json, "case.json");
  EXPECT_TRUE(document);
  return check_shape({*document, {}, "case.json"}, format);
}

constexpr const char* kGood = R"({"schema": "cluster-policy-scenario/1", "kind": "schedule",
  "agents": [{"id": "a", "slots": 4}], "groups": [{"id": "g", "weight": null, "note": "unset"}],
  "tasks": [{"id": "t", "job": "g", "slots": 2.0}], )"  // tidy: foreign
                              R"("steps": [{"op": "schedule", "model": {}}], "how": "by hand"})";

TEST(PolicyShape, SaysNothingAboutAGoodCaseAndItsRemarks) {
  const ShapeFindings found = findings_of(kGood);
  EXPECT_TRUE(found.mistakes.empty()) << found.mistakes.front();
  EXPECT_TRUE(found.unknown.empty()) << found.unknown.front();
}

TEST(PolicyShape, NamesFilePlaceAndPathOfAMistake) {
  const ShapeFindings found = findings_of(
      "{\"schema\": \"x\", \"kind\": \"schedule\",\n \"agents\": [{\"id\": \"a\", "  // tidy: foreign
      "\"slots\": \"four\"}]}");
  ASSERT_EQ(found.mistakes.size(), 1U);
  EXPECT_EQ(found.mistakes[0], "case.json:2:34: `agents[0].slots` must be a whole number, is text");  // tidy: foreign
}

TEST(PolicyShape, NamesWhatIsMissingAndWhatIsUnknown) {
  const ShapeFindings found = findings_of(
      R"({"schema": "x", "kind": "schedule", "agents": [{"slots": 4, "colour": "red"}, 7]})");  // tidy: foreign
  ASSERT_EQ(found.mistakes.size(), 2U);
  EXPECT_NE(found.mistakes[0].find("must be a table"), std::string::npos) << found.mistakes[0];
  EXPECT_NE(found.mistakes[1].find("`id` is missing"), std::string::npos) << found.mistakes[1];
  ASSERT_EQ(found.unknown.size(), 1U);
  EXPECT_NE(found.unknown[0].find("`agents[0].colour`"), std::string::npos) << found.unknown[0];  // tidy: foreign
}

TEST(PolicyShape, RefusesNumbersThatAreNoAmounts) {
  for (const char* number : {"1.5", "1e300", "-1e17"})
    EXPECT_EQ(
        findings_of(std::string{"{\"schema\": \"x\", \"kind\": \"y\", \"capacity\": "} + number + "}").mistakes.size(),
        1U)
        << number;
}

}  // namespace
}  // namespace penstock::tools
