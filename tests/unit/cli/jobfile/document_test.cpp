#include "cli/jobfile/document.hpp"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

Error error_of(std::string_view text, DocumentFormat format) {
  const Result<DocumentValue> parsed = parse_document(text, format, "file");
  return parsed ? Error{} : parsed.error();
}

TEST(Document, BothGrammarsMakeTheSameTree) {
  const auto toml =
      parse_document("name = \"x\"\nlist = [1, 2.5, true]\n[env]\nA = \"b\"\n", DocumentFormat::Toml, "f");
  const auto json =
      parse_document(R"({"name": "x", "list": [1, 2.5, true], "env": {"A": "b"}})", DocumentFormat::Json, "f");
  ASSERT_TRUE(toml) << to_string(toml.error());
  ASSERT_TRUE(json) << to_string(json.error());
  for (const DocumentValue* root : {&toml.value(), &json.value()}) {
    EXPECT_EQ(root->find("name")->text, "x");
    const DocumentValue& list = *root->find("list");
    ASSERT_EQ(list.items.size(), 3U);
    EXPECT_EQ(list.items[0].integer, 1);
    EXPECT_EQ(list.items[1].number, 2.5);
    EXPECT_TRUE(list.items[2].boolean);
    EXPECT_EQ(root->find("env")->find("A")->text, "b");
    EXPECT_EQ(root->find("none"), nullptr);
  }
}

TEST(Document, ValuesKnowTheirPlace) {
  const std::string text = "{\n  \"a\": 12,\n  \"b\\\"c\": \"d\\\\\",\n  \"e\": [true,\n  -3.5e2 , null, {}]}\n";
  const auto json = parse_document(text, DocumentFormat::Json, "f");
  ASSERT_TRUE(json) << to_string(json.error());
  EXPECT_EQ(json->place, (TextPlace{1, 1}));
  EXPECT_EQ(json->find("a")->place, (TextPlace{2, 8}));
  EXPECT_EQ(json->fields[1].place, (TextPlace{3, 3}));
  EXPECT_EQ(json->fields[1].name, "b\"c");
  EXPECT_EQ(json->fields[1].value.place, (TextPlace{3, 11}));
  const DocumentValue& list = *json->find("e");
  EXPECT_EQ(list.place, (TextPlace{4, 8}));
  EXPECT_EQ(list.items[0].place, (TextPlace{4, 9}));
  EXPECT_EQ(list.items[1].place, (TextPlace{5, 3}));
  EXPECT_EQ(list.items[2].place, (TextPlace{5, 12}));
  EXPECT_EQ(list.items[3].place, (TextPlace{5, 18}));
  const auto toml = parse_document("\n  a = 12\n", DocumentFormat::Toml, "f");
  ASSERT_TRUE(toml);
  EXPECT_EQ(toml->find("a")->place, (TextPlace{2, 7}));
}

TEST(Document, ANumberAtTheEndOfALineBelongsToThatLine) {
  const auto json = parse_document("{\"a\": [1\n,2\n]}", DocumentFormat::Json, "f");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->find("a")->items[0].place, (TextPlace{1, 8}));
  EXPECT_EQ(json->find("a")->items[1].place, (TextPlace{2, 2}));
}

TEST(Document, MistakesOfGrammarNameLineAndColumn) {
  const Error toml = error_of("a = 1\nb = = 2\n", DocumentFormat::Toml);
  EXPECT_EQ(toml.code, ErrorCode::ParseError);
  EXPECT_EQ(toml.subject, "file:2:5") << to_string(toml);
  const Error json = error_of("{\n  \"a\": 1,\n  \"b\" 2\n}", DocumentFormat::Json);
  EXPECT_EQ(json.code, ErrorCode::ParseError);
  EXPECT_EQ(json.subject, "file:3:7") << to_string(json);
  EXPECT_EQ(json.message.find("json.exception"), std::string::npos) << json.message;
}

TEST(Document, RefusesWhatIsCutShortOrNoTable) {
  EXPECT_EQ(error_of("", DocumentFormat::Json).code, ErrorCode::ParseError);
  EXPECT_EQ(error_of("{\"a\": [1, 2", DocumentFormat::Json).subject, "file:1:12");
  EXPECT_EQ(error_of("[1]", DocumentFormat::Json).code, ErrorCode::ParseError);
  EXPECT_EQ(error_of("{} x", DocumentFormat::Json).code, ErrorCode::ParseError);
  EXPECT_EQ(error_of("{\"a\": 1e999}", DocumentFormat::Json).code, ErrorCode::ParseError);
  EXPECT_EQ(error_of("{\"a\": \"\xff\"}", DocumentFormat::Json).code, ErrorCode::ParseError);
  EXPECT_EQ(error_of("a = \"\xff\"", DocumentFormat::Toml).code, ErrorCode::ParseError);
}

// toml++ 3.3 would abort: https://github.com/marzer/tomlplusplus/pull/301
TEST(Document, BracketsTooManyAreAnErrorLikeAnyOther) {
  for (const char* text : {"[[[1]]]", "[[[a]]]", "[[[]]", "[[=", "[[ [a]]", "[=]"})
    EXPECT_EQ(error_of(text, DocumentFormat::Toml).code, ErrorCode::ParseError) << text;
}

TEST(Document, RefusesANameThatStandsTwice) {
  const Error json = error_of("{\"a\": 1,\n \"b\": 2, \"a\": 3}", DocumentFormat::Json);
  EXPECT_EQ(json.subject, "file:2:10");
  EXPECT_EQ(json.message, "'a' stands twice in one table");
  EXPECT_EQ(error_of("a = 1\na = 2", DocumentFormat::Toml).subject, "file:2:5");
}

TEST(Document, RefusesDeepNestingInsteadOfOverflowingTheStack) {
  EXPECT_EQ(error_of("{\"a\": " + std::string(100000, '['), DocumentFormat::Json).code, ErrorCode::LimitExceeded);
  const Error toml = error_of("a = " + std::string(100, '[') + std::string(100, ']'), DocumentFormat::Toml);
  EXPECT_EQ(toml.code, ErrorCode::LimitExceeded);
}

TEST(Document, AnAbsentFileIsNotFound) {
  EXPECT_EQ(read_text_file("/nonexistent/file").error().code, ErrorCode::NotFound);
  EXPECT_EQ(read_text_file("/").error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace penstock::cli
