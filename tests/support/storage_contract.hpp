// The contract of every storage.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "common/storage/storage.hpp"

namespace penstock {

/// A way to make an empty storage and to open it again after its process has ended.
struct StorageUnderTest {
  virtual ~StorageUnderTest() = default;
  virtual Storage& storage() = 0;
  virtual void reopen() = 0;
};

inline std::vector<std::pair<std::string, std::string>> entries_of(Storage& storage, std::string_view prefix = {}) {
  std::vector<std::pair<std::string, std::string>> found;
  const Result<void> scanned = storage.scan(prefix, [&](std::string_view key, std::string_view value) {
    found.emplace_back(key, value);
    return true;
  });
  EXPECT_TRUE(scanned.has_value()) << to_string(scanned.error());
  return found;
}

/// Makes an empty storage.
struct StorageMaker {
  std::function<std::unique_ptr<StorageUnderTest>()> make;
  friend void PrintTo(const StorageMaker&, std::ostream* out) {
    *out << "storage";
  }  // Else tests are named by addresses.
};

/// Instantiate it with `INSTANTIATE_TEST_SUITE_P` and a function that makes the storage.
class StorageContract : public ::testing::TestWithParam<StorageMaker> {
 protected:
  Storage& storage() { return under_test->storage(); }
  void put(std::vector<std::pair<std::string, std::string>> entries, Sync sync = Sync::Yes) {
    StorageBatch batch;
    for (auto& [key, value] : entries) batch.put(key, value);
    ASSERT_TRUE(storage().commit(batch, sync).has_value());
  }
  using Entries = std::vector<std::pair<std::string, std::string>>;

  std::unique_ptr<StorageUnderTest> under_test = GetParam().make();
};

}  // namespace penstock
