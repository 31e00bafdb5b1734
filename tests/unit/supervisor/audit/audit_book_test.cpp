#include "supervisor/audit/audit_book.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <thread>

#include "common/host/descriptor.hpp"

#include "tests/support/audit_files.hpp"

namespace penstock::supervisor {
namespace {

bool has_event(const AuditFiles& files, const std::string& event, std::uint32_t file = 1) {
  for (const std::string& line : files.lines(file))
    if (line.find("\"event\":\"" + event + "\"") != std::string::npos) return true;
  return false;
}

TEST(AuditBook, FilesAreForTheirOwnerAlone) {
  AuditFiles files;
  AuditBook book = files.book();
  files.write(book, 1);
  struct stat found {};
  ASSERT_EQ(::stat(files.directory().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0700U);
  for (const std::string& path : {files.path(), head_file_in(files.directory())}) {
    ASSERT_EQ(::stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, 0600U) << path;
  }
}

TEST(AuditBook, RecordsOfOneCallHaveOneSignature) {
  AuditFiles files;
  AuditBook book = files.book();
  ASSERT_EQ(book.append({audit_record("a"), audit_record("b")}).value().size(), 3U);
  EXPECT_EQ(files.lines().size(), 4U);
  EXPECT_EQ(book.last().number, 3U);
  EXPECT_EQ(files.findings(), "");
}

TEST(AuditBook, AnotherBookGoesOn) {
  AuditFiles files;
  AuditBook first = files.book();
  AuditBook second = files.book();
  files.write(first, 2);
  files.write(second, 2);
  files.write(first, 2);
  EXPECT_EQ(files.findings(), "");
  EXPECT_EQ(files.check().records, 7U);
}

TEST(AuditBook, AProcessThatWasStoppedInTheMidstDoesNotKeepTheNextOne) {
  AuditFiles files;
  AuditBook stopped = files.book();
  files.write(stopped, 2);
  const Descriptor held{::open(lock_file_in(files.directory()).c_str(), O_RDWR | O_CLOEXEC)};
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  AuditBook next = files.book();
  next.take_over(std::chrono::milliseconds{20});
  files.write(next, 2);
  EXPECT_EQ(files.findings(), "");
  EXPECT_EQ(files.check().files, 2U) << "late bytes of the other one would not be in its file";
}

TEST(AuditBook, ManyWritersMakeOneChain) {
  AuditFiles files;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&files] {
      AuditBook book = files.book(4096);
      for (int k = 0; k < 25; ++k) static_cast<void>(book.append({audit_record("x")}).has_value());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(files.findings(), "");
  const AuditVerdict verdict = files.check();
  EXPECT_EQ(verdict.records, 100U + verdict.files);
  EXPECT_GT(verdict.files, 1U);
}

TEST(AuditBook, AFullFileIsFollowedByAnotherInTheSameChain) {
  AuditFiles files;
  AuditBook first = files.book();
  files.write(first, 3);
  AuditBook exact = files.book(files.bytes() + 1);
  files.write(exact, 1);
  EXPECT_EQ(audit_files_in(files.directory()).size(), 1U) << "one byte is left";
  AuditBook full = files.book(files.bytes());
  files.write(full, 1);
  EXPECT_EQ(audit_files_in(files.directory()).size(), 2U);
  EXPECT_EQ(files.findings(), "");
  std::filesystem::remove(files.path(1));
  EXPECT_NE(files.findings().find("records 1 to 5: are missing, and no record says"), std::string::npos);
}

TEST(AuditBook, OldFilesAreRemovedOnlyAsTheSettingSaysAndARecordSaysSo) {
  AuditFiles files;
  AuditBook book = files.book(1, 2);
  files.write(book, 5);
  EXPECT_EQ(audit_files_in(files.directory()), (std::vector<std::uint32_t>{4, 5}));
  EXPECT_TRUE(has_event(files, "forget", 5));
  EXPECT_EQ(files.findings(), "");
  AuditFiles all;
  AuditBook keeps = all.book(1);
  all.write(keeps, 5);
  EXPECT_EQ(audit_files_in(all.directory()).size(), 5U);
}

TEST(AuditBook, AnInterruptedWriteIsPutAside) {
  AuditFiles files;
  AuditBook book = files.book();
  files.write(book, 3);
  const std::string before = files.text(audit_file_name(1));
  const std::string head = files.text("head");
  files.write(book, 1);
  const std::string whole = files.text(audit_file_name(1));
  for (const std::size_t cut : {before.size() + 1, before.size() + 100, whole.size() - 100, whole.size() - 1}) {
    files.put_text(audit_file_name(1), whole.substr(0, cut));
    files.put_text("head", head);
    AuditBook next = files.book();
    files.write(next, 1, "after ");
    EXPECT_TRUE(has_event(files, "repair")) << cut;
    EXPECT_EQ(files.findings(), "") << cut;
    EXPECT_TRUE(files.text(audit_file_name(1)).starts_with(before)) << cut;
    EXPECT_EQ(files.text(audit_file_name(1) + ".unsigned-" + std::to_string(before.size())),
              whole.substr(before.size(), cut - before.size()));
  }
}

TEST(AuditBook, AKillBeforeTheHeadLosesNothing) {
  AuditFiles files;
  AuditBook book = files.book();
  files.write(book, 3);
  const std::string head = files.text("head");
  files.write(book, 2);
  files.put_text("head", head);
  AuditBook next = files.book();
  files.write(next, 1);
  EXPECT_EQ(files.findings(), "");
  EXPECT_EQ(files.check().records, 7U);
  EXPECT_FALSE(has_event(files, "repair"));
}

TEST(AuditBook, ACutTailIsToldForEver) {
  AuditFiles files;
  AuditBook book = files.book();
  files.write(book, 5);
  std::vector<std::string> lines = files.lines();
  lines.resize(lines.size() - 4);
  files.put(lines);
  AuditBook next = files.book();
  files.write(next, 3);
  EXPECT_TRUE(has_event(files, "damage", 2));
  EXPECT_NE(files.findings().find("tells of damage: records 5 to 6 are missing or changed"), std::string::npos)
      << files.findings();
}

TEST(AuditBook, AppendedRecordsOfAnotherKeyAreNotTakenOver) {
  AuditFiles files;
  AuditBook book = files.book();
  files.write(book, 2);
  const Result<Authority> other = Authority::make();
  AuditRecord forged = audit_record("forged");
  forged.number = book.last().number + 1;
  const ChainPoint point{forged.number, chained_digest(book.last().digest, to_json(forged))};
  std::vector<std::string> lines = files.lines();
  lines.push_back(record_line(point.digest, to_json(forged)));
  lines.push_back(signature_line(*other->sign(signed_text(point))));
  files.put(lines);
  files.write(book, 1);
  EXPECT_TRUE(has_event(files, "damage", 2));
  EXPECT_NE(files.findings().find("is not of this authority"), std::string::npos) << files.findings();
}

TEST(AuditBook, RemovedFilesAreTold) {
  AuditFiles files;
  AuditBook book = files.book();
  files.write(book, 2);
  std::filesystem::remove(files.path());
  AuditBook next = files.book();
  files.write(next, 1);
  EXPECT_TRUE(has_event(files, "damage", 2));
}

TEST(AuditBook, AnotherAuthorityBeginsAnotherFile) {
  AuditFiles files;
  AuditBook book = files.book();
  files.write(book, 2);
  files.replace_authority();
  AuditBook next = files.book();
  files.write(next, 2);
  EXPECT_EQ(audit_files_in(files.directory()).size(), 2U);
  EXPECT_EQ(files.findings(), "");
  EXPECT_FALSE(has_event(files, "damage", 2));
}

TEST(AuditBook, WhatCannotBeWrittenIsAnError) {
  AuditFiles files;
  AuditBook book = files.book();
  files.write(book, 1);
  std::filesystem::remove_all(files.directory());
  EXPECT_FALSE(book.append({audit_record("x")}).has_value());
}

}  // namespace
}  // namespace penstock::supervisor
