#include "tests/support/storage_contract.hpp"

namespace penstock {

TEST_P(StorageContract, AnEntryIsFoundUnderItsKeyAndNoOther) {
  put({{"a", "1"}, {std::string("a\0b", 3), std::string("\0\xff", 2)}});
  EXPECT_EQ(storage().get("a").value(), "1");
  EXPECT_EQ(storage().get(std::string_view("a\0b", 3)).value(), std::string("\0\xff", 2));
  EXPECT_EQ(storage().get("b").value(), std::nullopt);
}

TEST_P(StorageContract, AScanSeesWhatBeginsWithThePrefixInTheOrderOfBytes) {
  put({{"b2", "y"}, {"b\xff", "z"}, {"a", "w"}, {"b1", "x"}, {"c", "v"}});
  EXPECT_EQ(entries_of(storage(), "b"), (Entries{{"b1", "x"}, {"b2", "y"}, {"b\xff", "z"}}));
  EXPECT_EQ(entries_of(storage()).size(), 5U);
}

TEST_P(StorageContract, AScanEndsWhenTheVisitorHasEnough) {
  put({{"a", ""}, {"b", ""}, {"c", ""}});
  int seen = 0;
  ASSERT_TRUE(storage().scan("", [&](std::string_view, std::string_view) { return ++seen < 2; }).has_value());
  EXPECT_EQ(seen, 2);
}

TEST_P(StorageContract, ChangesOfABatchTakeEffectInTheirOrder) {
  put({{"j1a", "1"}, {"j1b", "2"}, {"j2", "3"}, {"k", "4"}});
  StorageBatch batch;
  batch.put("j1c", "gone with the others");
  batch.erase_prefix("j1");
  batch.put("j1", "after");
  batch.erase("k");
  batch.erase("was never there");
  ASSERT_TRUE(storage().commit(batch, Sync::Yes).has_value());
  EXPECT_EQ(entries_of(storage()), (Entries{{"j1", "after"}, {"j2", "3"}}));
}

TEST_P(StorageContract, APrefixOfTheLargestByteCanBeErased) {
  put({{"\xff\xff", "1"}, {"\xff\xff\xff", "2"}, {"\xfe", "3"}});
  StorageBatch batch;
  batch.erase_prefix("\xff");
  ASSERT_TRUE(storage().commit(batch, Sync::Yes).has_value());
  EXPECT_EQ(entries_of(storage()), (Entries{{"\xfe", "3"}}));
}

TEST_P(StorageContract, WhatWasSyncedIsThereInTheNextLife) {
  put({{"early", "not synced by itself"}}, Sync::No);
  put({{"late", "synced"}}, Sync::Yes);
  under_test->reopen();
  EXPECT_EQ(entries_of(storage()), (Entries{{"early", "not synced by itself"}, {"late", "synced"}}));
}

TEST_P(StorageContract, LargeValuesComeBackWhole) {
  const std::string large(std::size_t{3} << 20U, 'x');
  put({{"large", large}});
  under_test->reopen();
  EXPECT_EQ(storage().get("large").value(), large);
}

// Each test executable says for which storages.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorageContract);

}  // namespace penstock
