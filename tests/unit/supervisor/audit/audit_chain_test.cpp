#include "supervisor/audit/audit_chain.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "common/security/authority.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock::supervisor {
namespace {

TEST(AuditChain, ALineIsARecordOrASignatureOrNeither) {
  const std::string digest = chained_digest(ChainPoint{}.digest, "{}");
  const std::string line = record_line(digest, "{}");
  EXPECT_TRUE(parse_chain_line(line).is_record());
  EXPECT_EQ(parse_chain_line(line).json, "{}");
  EXPECT_EQ(parse_chain_line(signature_line("30ab")).signature, "30ab");
  for (const std::string& wrong : {std::string{}, std::string{"signed "}, std::string{"signed x"}, digest,
                                   digest.substr(1) + " {}", std::string(64, 'g') + " {}", digest + "{}}"}) {
    const ChainLine parsed = parse_chain_line(wrong);
    EXPECT_FALSE(parsed.is_record() || parsed.is_signature()) << wrong;
  }
}

TEST(AuditChain, ADigestIsOfAllBefore) {
  const std::string one = chained_digest(ChainPoint{}.digest, "a");
  EXPECT_NE(chained_digest(one, "b"), chained_digest(ChainPoint{}.digest, "b"));
  EXPECT_NE(chained_digest(one, "b"), chained_digest(one, "c"));
}

TEST(AuditChain, AHeadReadsBackAndIsOfItsAuthority) {
  const Result<Authority> authority = Authority::make();
  AuditHead head{{12, std::string(64, 'a')}, 3, 4096, authority->cluster(), {}};
  head.signature = *authority->sign(signed_text(head.point));
  EXPECT_FALSE(is_signed(head, authority->certificate())) << "it stands in the files";
  head.signature = *authority->sign(head_text(head.point));
  const std::string text = to_text(head);
  EXPECT_EQ(text.size(), kHeadBytes);
  std::optional<AuditHead> again = parse_head(text);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->point, head.point);
  EXPECT_EQ(again->file, 3U);
  EXPECT_EQ(again->bytes, 4096U);
  EXPECT_TRUE(is_signed(*again, authority->certificate()));
  again->point.number = 11;
  EXPECT_FALSE(is_signed(*again, authority->certificate()));
  EXPECT_FALSE(parse_head(text.substr(0, 100)).has_value());
  EXPECT_FALSE(parse_head("").has_value());
}

TEST(AuditChain, LinesAreReadAcrossFilesAndOnlyWhole) {
  const ScratchDirectory scratch;
  AuditPlace place;
  std::vector<std::string> lines;
  const auto read = [&] {
    return read_audit_lines(scratch.path(), place, [&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    });
  };
  EXPECT_EQ(read().error().code, ErrorCode::NotFound);
  std::ofstream{scratch.at(audit_file_name(1))} << "a\nb\n";
  std::ofstream{scratch.at(audit_file_name(2))} << "c\nhal";
  std::ofstream{scratch.at("audit-x.jsonl")} << "never\n";
  ASSERT_TRUE(read().has_value());
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(place.file, 2U);
  EXPECT_EQ(place.line, 1U);
  std::ofstream{scratch.at(audit_file_name(2)), std::ios::app} << "f\n";
  ASSERT_TRUE(read().has_value());
  EXPECT_EQ(lines.back(), "half");
}

}  // namespace
}  // namespace penstock::supervisor
