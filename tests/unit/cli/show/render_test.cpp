#include "cli/show/render.hpp"

#include <gtest/gtest.h>

#include "common/json/json_text.hpp"

namespace penstock::cli {
namespace {

Value rows() {
  return Value::List{Value::Record{{"job", "job-1"}, {"name", "a"}, {"done", 7}},
                     Value::Record{{"job", "job-20"}, {"name", "a long name"}, {"done", 1234}, {"note", "x"}}};
}

TEST(Render, ATableAlignsItsColumns) {
  EXPECT_EQ(to_table(rows()),
            "job     name         done  note\n"
            "job-1   a               7  -\n"
            "job-20  a long name  1234  x\n");
}

TEST(Render, ANarrowTableCutsTextAndNeverNumbers) {
  EXPECT_EQ(to_table(rows(), {.columns = 28}),
            "job     name      done  note\n"
            "job-1   a            7  -\n"
            "job-20  a long …  1234  x\n");
  EXPECT_NE(to_table(rows(), {.columns = 5}).find("1234"), std::string::npos);
}

TEST(Render, ARecordIsALineForEachField) {
  const Value value = Value::Record{
      {"name", "x"}, {"bands", Value::List{Value::Record{{"band", "w0/0"}}}}, {"running", true}, {"seconds", 0.25}};
  EXPECT_EQ(to_table(value),
            "name     x\n"
            "running  yes\n"
            "seconds  0.25\n"
            "\n"
            "bands:\n"
            "band\n"
            "w0/0\n");
}

TEST(Render, NumbersOfATableAreRoundedThoseOfJsonAreNot) {
  const Value value = Value::Record{{"makespan_s", 12.3456789}, {"rate", 1234567.8}, {"small", 0.00123456789}};
  EXPECT_EQ(to_table(value), "makespan_s  12.3457\nrate        1234568\nsmall       0.00123457\n");
  EXPECT_EQ(to_json(value, -1), R"({"makespan_s":12.3456789,"rate":1234567.8,"small":0.00123456789})");
}

TEST(Render, WhatAPeerSaysCannotWriteToTheTerminal) {
  EXPECT_EQ(to_table(Value::List{"a\x1b[2Jb\n", 3}), "a?[2Jb?\n3\n");
  EXPECT_EQ(to_table(Value::Record{{"x\n", "y\r"}}), "x?  y?\n");
}

TEST(Render, DeepValuesAreCutInsteadOfFollowed) {
  Value value = 1;
  for (int i = 0; i < 1000; ++i) value = Value::List{value};
  EXPECT_EQ(to_table(value), "...\n");
  EXPECT_NE(to_json(value, -1).find("\"...\""), std::string::npos);
}

TEST(Render, TextIsCutBetweenCharacters) {
  EXPECT_EQ(columns_of("äöü"), 3U);
  EXPECT_EQ(cut_to("äöü", 3), "äöü");
  EXPECT_EQ(cut_to("äöü", 2), "ä…");
  EXPECT_EQ(cut_to("abc", 1), "…");
  EXPECT_EQ(cut_to("abc", 0), "");
}

// Reasons of `explain` were cut at the edge of the terminal.
TEST(Render, SentencesOfARecordAreWrapped) {
  const Value::List holds{
      Value::Record{{"rule", "slots_max"}, {"need", 4}, {"text", "limit of project 'a': it may hold 3"}},
      Value::Record{{"rule", "room"}, {"need", 2}, {"text", "no room"}}};
  const Value value = Value::Record{{"held_by", "limit of project 'a': it may hold 3"}, {"holds", holds}};
  EXPECT_EQ(to_table(value, {.columns = 40}),
            "held_by  limit of project 'a': it may\n"
            "         hold 3\n"
            "\n"
            "holds:\n"
            "rule       need  text\n"
            "slots_max     4  limit of project 'a':\n"
            "                 it may hold 3\n"
            "room          2  no room\n");
  EXPECT_NE(
      to_table(value).find("holds:\nrule       need  text\nslots_max     4  limit of project 'a': it may hold 3\n"),
      std::string::npos)
      << "not where nobody looks";
}

TEST(Render, ATableWithoutColumnsIsEmpty) {
  EXPECT_EQ(to_table(Value::Record{{"holds", Value::List{Value::Record{}}}}, {.columns = 80}), "holds:\n\n\n");
}

}  // namespace
}  // namespace penstock::cli
