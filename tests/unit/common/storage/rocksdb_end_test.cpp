#include "common/storage/rocksdb_end.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

class ProvenEndTest : public ::testing::Test {
 protected:
  RocksdbOptions options() const {
    RocksdbOptions wanted{.directory = scratch.at("state"), .owner = "a test"};
    wanted.provable = true;
    wanted.doubled = {"h"};
    return wanted;
  }
  std::unique_ptr<Storage> open() {
    Result<std::unique_ptr<Storage>> opened = RocksdbStorage::open(options(), &findings);
    EXPECT_TRUE(opened.has_value()) << to_string(opened.error());
    return opened ? std::move(opened).value() : nullptr;
  }
  static void put(Storage& storage, const std::string& key, const std::string& value, Sync sync = Sync::Yes) {
    StorageBatch batch;
    batch.put(key, value);
    EXPECT_TRUE(storage.commit(batch, sync).has_value());
  }
  fs::path newest_log() const {
    fs::path newest;
    for (const auto& entry : fs::directory_iterator{options().directory})
      if (entry.path().extension() == ".log") newest = std::max(newest, entry.path());
    return newest;
  }
  void cut_log(std::uintmax_t bytes) const { fs::resize_file(newest_log(), fs::file_size(newest_log()) - bytes); }

  const ScratchDirectory scratch;
  StorageFindings findings;
};

TEST_F(ProvenEndTest, CommitsAreCountedOverLivesAndTheirEntryIsNotShown) {
  put(*open(), "a", "1");
  auto storage = open();
  EXPECT_EQ(findings.last, 1U);
  put(*storage, "b", "2");
  std::string seen;
  ASSERT_TRUE(storage->scan({}, [&](std::string_view key, std::string_view) { return seen += key, true; }).has_value());
  EXPECT_EQ(seen, "ab");
  storage.reset();
  open();
  EXPECT_EQ(findings.last, 2U);
  EXPECT_FALSE(findings.torn || findings.mended || findings.rewritten);
}

TEST_F(ProvenEndTest, TheLastCommitIsTakenFromTheAnchorIfTheLogHasLostIt) {
  {
    auto storage = open();
    put(*storage, "a", "1");
    put(*storage, "b", "2");
  }
  cut_log(1);
  std::unique_ptr<Storage> storage;
  PENSTOCK_EXPECT_COVERAGE_MARK("the last commit was taken from the anchor", storage = open());
  ASSERT_NE(storage, nullptr);
  EXPECT_TRUE(findings.mended);
  EXPECT_FALSE(findings.torn);
  EXPECT_EQ(storage->get("b").value(), "2");
}

TEST_F(ProvenEndTest, AStorageThatIsShorterThanWhatWasPromisedIsRefusedAndNothingOfItIsLostByThat) {
  {
    auto storage = open();
    put(*storage, "h", "head");
    put(*storage, "a", std::string(40'000, 'x'));  // Too large for the anchor.
  }
  const std::uintmax_t size = fs::file_size(newest_log());
  cut_log(1);
  for (int round = 0; round < 2; ++round) {
    const auto refused = RocksdbStorage::open(options());
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::StorageDamaged);
    EXPECT_NE(refused.error().message.find("commit 2 was promised"), std::string::npos) << refused.error().message;
  }
  EXPECT_EQ(fs::file_size(newest_log()), size - 1);
  const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(options());
  ASSERT_TRUE(salvaged.has_value()) << to_string(salvaged.error());
  EXPECT_EQ(salvaged->commits_lost, 1U);
  auto storage = open();
  EXPECT_TRUE(findings.rewritten);
  EXPECT_EQ(findings.last, 2U);
  EXPECT_EQ(storage->get("h").value(), "head");
}

TEST_F(ProvenEndTest, ASalvageKnowsDoubledEntriesOfCommitsThatAreLost) {
  {
    auto storage = open();
    put(*storage, "h", "early");
    StorageBatch batch;
    batch.put("h", "late");
    batch.put("a", std::string(40'000, 'x'));
    ASSERT_TRUE(storage->commit(batch, Sync::Yes).has_value());
  }
  cut_log(1);
  ASSERT_TRUE(RocksdbStorage::salvage(options()).has_value());
  EXPECT_EQ(open()->get("h").value(), "late");
}

TEST_F(ProvenEndTest, AnotherDatabaseWithTheSameNumberIsNotTakenForThisOne) {
  put(*open(), "a", "1");
  fs::copy_file(scratch.at("state/ANCHOR"), scratch.at("anchor"));
  fs::remove_all(scratch.at("state"));
  put(*open(), "a", "2");
  fs::copy_file(scratch.at("anchor"), scratch.at("state/ANCHOR"), fs::copy_options::overwrite_existing);
  const auto refused = RocksdbStorage::open(options());
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("another one"), std::string::npos) << refused.error().message;
}

TEST_F(ProvenEndTest, WhatNobodyWasPromisedMayBeMissing) {
  {
    auto storage = open();
    put(*storage, "a", "1");
    put(*storage, "b", "2", Sync::No);
  }
  cut_log(1);
  auto storage = open();
  ASSERT_NE(storage, nullptr);
  EXPECT_TRUE(findings.torn);
  EXPECT_EQ(findings.last, 1U);
}

// RocksDB refuses a commit of the right length with other bytes. Here no log has a commit before it.
TEST_F(ProvenEndTest, AnUnpromisedCommitWithOtherBytesIsCutOffAlsoWhereItWasTheFirstOfItsLog) {
  put(*open(), "a", "1");
  put(*open(), "b", "2", Sync::No);
  std::fstream{newest_log(), std::ios::in | std::ios::out | std::ios::binary}.seekp(30).put('?');
  auto storage = open();
  ASSERT_NE(storage, nullptr);
  EXPECT_TRUE(findings.torn);
  EXPECT_EQ(findings.last, 1U);
  EXPECT_EQ(storage->get("a").value(), "1");
  EXPECT_EQ(storage->get("b").value(), std::nullopt);
}

TEST_F(ProvenEndTest, AStorageOfAnOlderVersionIsNumberedFromNowOn) {
  RocksdbOptions older = options();
  older.provable = false;
  {
    Result<std::unique_ptr<Storage>> storage = RocksdbStorage::open(older);
    ASSERT_TRUE(storage.has_value());
    put(**storage, "a", "1");
  }
  auto storage = open();
  ASSERT_NE(storage, nullptr);
  EXPECT_EQ(findings.last, 0U);
  put(*storage, "b", "2");
  storage.reset();
  EXPECT_EQ(open()->get("a").value(), "1");
  EXPECT_EQ(findings.last, 1U);
}

}  // namespace
}  // namespace penstock
