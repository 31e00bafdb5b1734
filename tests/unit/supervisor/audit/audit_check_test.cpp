#include "supervisor/audit/audit_check.hpp"

#include <gtest/gtest.h>

#include "common/security/signature.hpp"
#include "tests/support/audit_files.hpp"

namespace penstock::supervisor {
namespace {

// Record 1 begins the file; each of the others has its signature behind it: lines 1, 2 and 3 are the first batch, and
// record N from 3 on is line 2N - 2.
struct AuditCheck : testing::Test {
  AuditFiles files;
  AuditBook book = files.book();
  std::vector<std::string> lines;
  void SetUp() override {
    files.write(book, 10);
    lines = files.lines();
    ASSERT_EQ(lines.size(), 21U);
  }
  bool finds(const std::string& part) const { return files.findings().find(part) != std::string::npos; }
};

TEST_F(AuditCheck, AWholeOneHasNoFindings) {
  const AuditVerdict verdict = files.check();
  EXPECT_EQ(files.findings(), "");
  EXPECT_EQ(verdict.records, 11U);
  EXPECT_EQ(verdict.files, 1U);
  EXPECT_EQ(verdict.last, book.last());
}

TEST_F(AuditCheck, AnEditedByteIsFoundAtItsRecord) {
  std::string& record = lines[9];  // Record 6.
  record[record.find("order 4") + 6] = '5';
  files.put(lines);
  EXPECT_EQ(files.findings(), "record 6 (audit-000001.jsonl, line 10): was changed\n");
}

TEST_F(AuditCheck, AnEditedDigestIsFound) {
  lines[9][3] = lines[9][3] == 'a' ? 'b' : 'a';
  files.put(lines);
  EXPECT_TRUE(finds("record 6 (audit-000001.jsonl, line 10): was changed"));
}

TEST_F(AuditCheck, ARemovedRecordIsFoundWhereItWas) {
  lines.erase(lines.begin() + 9, lines.begin() + 11);
  files.put(lines);
  EXPECT_TRUE(finds("record 7 (audit-000001.jsonl, line 10): stands where record 6 belongs"));
}

TEST_F(AuditCheck, RecordsInAnotherOrderAreFound) {
  std::swap(lines[9], lines[11]);
  files.put(lines);
  EXPECT_TRUE(finds("record 7 (audit-000001.jsonl, line 10): stands where record 6 belongs"));
}

TEST_F(AuditCheck, ATailThatIsCutIsFoundByTheHead) {
  lines.resize(lines.size() - 6);  // Three records with their signatures.
  files.put(lines);
  EXPECT_EQ(files.findings(), "records 9 to 11: are missing at the end\n");
}

TEST_F(AuditCheck, AMissingHeadIsFound) {
  std::filesystem::remove(head_file_in(files.directory()));
  EXPECT_TRUE(finds("head: is missing"));
}

TEST_F(AuditCheck, AHeadOfAnEarlierChainIsNotTakenForThePresentOne) {
  std::string head = files.text("head");
  head.replace(head.find("\"n\":11"), 6, "\"n\":10");
  files.put_text("head", head);
  EXPECT_TRUE(finds("head: is not signed by this authority"));
}

TEST_F(AuditCheck, RecordsThatAreChainedAnewHaveWrongSignatures) {
  ChainPoint at;
  for (std::string& line : lines) {
    const ChainLine parsed = parse_chain_line(line);
    if (!parsed.is_record()) continue;
    AuditRecord record = parse_audit_record(parsed.json).value();
    if (record.number == 6) record.what = "nothing";
    const std::string json = to_json(record);
    at = {record.number, chained_digest(at.digest, json)};
    line = record_line(at.digest, json);
  }
  files.put(lines);
  const std::string findings = files.findings();
  EXPECT_TRUE(findings.starts_with("record 6 (audit-000001.jsonl, line 11): the signature behind it")) << findings;
}

TEST_F(AuditCheck, AppendedRecordsAreNotSigned) {
  AuditRecord forged = audit_record("forged");
  forged.number = 12;
  lines.push_back(record_line(chained_digest(book.last().digest, to_json(forged)), to_json(forged)));
  files.put(lines);
  EXPECT_TRUE(finds("record 12: the last 1 records are not signed"));
}

TEST_F(AuditCheck, ALineThatIsNoRecordIsFound) {
  lines.insert(lines.begin() + 9, "nonsense");
  files.put(lines);
  EXPECT_EQ(files.findings(), "audit-000001.jsonl, line 10: is no record\n");
}

TEST_F(AuditCheck, ANotedHeadMustBeInTheChain) {
  const ChainPoint noted = book.last();
  files.write(book, 2);
  EXPECT_EQ(files.findings(noted), "");
  EXPECT_NE(files.findings(ChainPoint{noted.number, std::string(64, 'a')}).find("is another one than at the head"),
            std::string::npos);
  EXPECT_NE(files.findings(ChainPoint{99, noted.digest}).find("record 99: is missing"), std::string::npos);
}

TEST_F(AuditCheck, AnotherAuthorityHasNotSignedIt) {
  const Result<Authority> other = Authority::make();
  const AuditVerdict verdict = check_audit(files.directory(), other->certificate()).value();
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_TRUE(verdict.findings[0].starts_with("head: is not signed by this authority"));
}

TEST_F(AuditCheck, NoFilesAreAnError) {
  const ScratchDirectory scratch;
  EXPECT_EQ(check_audit(scratch.path(), files.authority().certificate()).error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace penstock::supervisor
