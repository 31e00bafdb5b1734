#include "supervisor/audit/audit_record.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

TEST(AuditRecord, ReadsBackAsItWasWritten) {
  AuditRecord record{
      7, 1795938165123, "order", "ada", "operator", "ab12", "bff3a5de", "10.0.0.1:77", "drain \"w1\"\n", "done",
      3, 1795938166000, "c1",    "d2",  9};
  const Result<AuditRecord> again = parse_audit_record(to_json(record));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, record);
}

TEST(AuditRecord, IsOneLineWithoutWhatIsEmpty) {
  AuditRecord record;
  record.number = 1;
  record.at_ms = 1795938165123;
  record.event = "submit";
  record.what = "two\nlines";
  EXPECT_EQ(to_json(record), R"({"n":1,"time":"2026-11-29T07:42:45.123Z","event":"submit","what":"two\nlines"})");
}

TEST(AuditRecord, ALongTextIsCut) {
  AuditRecord record;
  record.number = 1;
  record.what = std::string(kAuditTextBytesMax, 'a');
  EXPECT_EQ(parse_audit_record(to_json(record))->what, record.what);
  record.what += 'b';
  EXPECT_EQ(parse_audit_record(to_json(record))->what, std::string(kAuditTextBytesMax, 'a'));
}

TEST(AuditRecord, BytesThatAreNoTextDoNotBreakIt) {
  AuditRecord record;
  record.number = 1;
  record.what = "\xff\xfe";
  EXPECT_TRUE(parse_audit_record(to_json(record)).has_value());
}

TEST(AuditRecord, WhatIsNoRecordIsRefused) {
  for (const char* wrong :
       {"", "{}", "[1]", R"({"n":1})", R"({"n":0,"time":"2026-11-29T07:42:45.123Z"})",
        R"({"n":"1","time":"2026-11-29T07:42:45.123Z"})", R"({"n":1,"time":"yesterday"})",
        R"({"n":1,"time":"2026-13-29T07:42:45.123Z"})", R"({"n":1,"time":"2026-11-29T07:42:45.123Z","until":5})"})
    EXPECT_FALSE(parse_audit_record(wrong).has_value()) << wrong;
}

}  // namespace
}  // namespace penstock::supervisor
