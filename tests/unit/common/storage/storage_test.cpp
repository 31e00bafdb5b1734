#include "common/storage/storage.hpp"

#include <gtest/gtest.h>

#include "tests/support/fault_storage.hpp"
#include "tests/support/memory_storage.hpp"
#include "tests/support/storage_contract.hpp"

namespace penstock {
namespace {

TEST(EndOfPrefix, IsTheSmallestKeyBehindAllThatBeginSo) {
  EXPECT_EQ(end_of_prefix("a"), "b");
  EXPECT_EQ(end_of_prefix("a\xff\xff"), "b");
  EXPECT_EQ(end_of_prefix("\x7f"), "\x80");
  EXPECT_EQ(end_of_prefix("\xff"), std::nullopt);
  EXPECT_EQ(end_of_prefix(""), std::nullopt);
}

/// The content lives as long as the object: after `reopen` the object is the same one.
struct InMemory : StorageUnderTest {
  Storage& storage() override { return memory; }
  void reopen() override {}
  MemoryStorage memory;
};

INSTANTIATE_TEST_SUITE_P(InMemory, StorageContract,
                         ::testing::Values(StorageMaker{[] { return std::make_unique<InMemory>(); }}));

struct OnFaultyDisk : StorageUnderTest {
  Storage& storage() override { return disk; }
  void reopen() override { disk.crash(); }
  FaultStorage disk;
};

INSTANTIATE_TEST_SUITE_P(Faulty, StorageContract,
                         ::testing::Values(StorageMaker{[] { return std::make_unique<OnFaultyDisk>(); }}));

StorageBatch put(const std::string& key) {
  StorageBatch batch;
  batch.put(key, key);
  return batch;
}

TEST(FaultStorage, ACrashForgetsWhatWasNotSynced) {
  FaultStorage disk;
  ASSERT_TRUE(disk.commit(put("a"), Sync::Yes).has_value());
  ASSERT_TRUE(disk.commit(put("b"), Sync::No).has_value());
  EXPECT_EQ(disk.get("b").value(), "b");
  disk.crash();
  EXPECT_EQ(disk.get("a").value(), "a");
  EXPECT_EQ(disk.get("b").value(), std::nullopt);
}

TEST(FaultStorage, AFailingDiskChangesNothingAndRecovers) {
  FaultStorage disk;
  disk.fail_with(Error{ErrorCode::StorageFull, "disk", "full", {}});
  const Result<void> refused = disk.commit(put("a"), Sync::Yes);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::StorageFull);
  disk.fail_with(std::nullopt);
  EXPECT_EQ(disk.get("a").value(), std::nullopt);
  EXPECT_TRUE(disk.commit(put("a"), Sync::Yes).has_value());
}

}  // namespace
}  // namespace penstock
