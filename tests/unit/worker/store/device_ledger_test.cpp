#include "worker/store/device_ledger.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "common/base/rng.hpp"

namespace penstock::worker {
namespace {

using Answer = DeviceRoom::Answer;

DataKey key(std::uint32_t subtask) { return DataKey{{JobId{1}, SubtaskIndex{subtask}}, 0}; }

class DeviceLedgerTest : public ::testing::Test {
 protected:
  void add(std::uint32_t number, std::int64_t bytes, bool host_has_it = false) {
    ledger.reserve(Bytes{bytes});
    ledger.add(key(number), Bytes{bytes}, host_has_it);
    ledger.validate();
  }
  /// The data that would leave for so many bytes; `h` behind those that the host has.
  std::string leaving(std::int64_t bytes) {
    const DeviceRoom room = ledger.room_for(Bytes{bytes});
    if (room.answer != Answer::Fits) return room.answer == Answer::Never ? "never" : "later";
    std::string text;
    for (const auto& leaver : room.leaving)
      text += std::to_string(leaver.key.producer.index.value()) + (leaver.host_has_it ? "h " : " ");
    return text;
  }

  DeviceLedger ledger{Bytes{100}};
};

TEST_F(DeviceLedgerTest, WhatFitsMakesNobodyLeave) {
  EXPECT_EQ(leaving(100), "");
  add(1, 60);
  EXPECT_EQ(leaving(40), "");
  EXPECT_EQ(leaving(101), "never");
}

TEST_F(DeviceLedgerTest, TheOldestLeavesFirstAndNoMoreThanMust) {
  for (std::uint32_t i = 1; i <= 4; ++i) add(i, 25);
  EXPECT_EQ(leaving(1), "1 ");
  EXPECT_EQ(leaving(26), "1 2 ");
  ledger.pin(key(1));
  ledger.unpin(key(1));
  EXPECT_EQ(leaving(50), "2 3 ") << "a use made it the youngest";
}

TEST_F(DeviceLedgerTest, WhatTheHostHasLeavesBeforeWhatCostsACopy) {
  for (std::uint32_t i = 1; i <= 4; ++i) add(i, 25, i == 3);
  EXPECT_EQ(leaving(30), "3h 1 ");
  ledger.host_has(key(4));
  EXPECT_EQ(leaving(60), "3h 4h 1 ");
}

TEST_F(DeviceLedgerTest, WhatIsPinnedOrBeingFilledStays) {
  add(1, 40);
  add(2, 40);
  ledger.reserve(Bytes{20});
  ledger.pin(key(1));
  ledger.pin(key(1));
  EXPECT_EQ(leaving(40), "2 ");
  EXPECT_EQ(leaving(41), "later");
  ledger.unpin(key(1));
  EXPECT_EQ(leaving(41), "later");
  ledger.unpin(key(1));
  EXPECT_EQ(leaving(80), "2 1 ");
  ledger.unreserve(Bytes{20});
  EXPECT_EQ(leaving(100), "2 1 ");
}

TEST_F(DeviceLedgerTest, WhatWasRemovedTakesNoRoom) {
  add(1, 100);
  ledger.remove(key(1));
  EXPECT_EQ(ledger.used(), Bytes{0});
  EXPECT_FALSE(ledger.has(key(1)));
  EXPECT_EQ(leaving(100), "");
}

TEST(DeviceClaims, WhatRunsAreGivenIsFreedAndNotTakenByData) {
  DeviceLedger ledger{Bytes{50}, Bytes{100}};
  for (const std::uint32_t number : {1U, 2U}) {
    ledger.reserve(Bytes{25});
    ledger.add(key(number), Bytes{25}, false);
  }
  ledger.claim(Bytes{50});
  EXPECT_EQ(ledger.limit(), Bytes{50});
  EXPECT_TRUE(ledger.excess().empty()) << "there is as much beside the data";
  ledger.claim(Bytes{1});
  ASSERT_EQ(ledger.excess().size(), 1U);
  EXPECT_EQ(ledger.excess()[0].key, key(1));
  ledger.remove(key(1));
  EXPECT_EQ(ledger.room_for(Bytes{24}).leaving.size(), 0U);
  EXPECT_EQ(ledger.room_for(Bytes{25}).leaving.size(), 1U);
  ledger.pin(key(2));
  EXPECT_EQ(ledger.room_for(Bytes{25}).answer, Answer::Later);
  ledger.claim(Bytes{60});
  EXPECT_EQ(ledger.limit(), Bytes{0});
  EXPECT_TRUE(ledger.excess().empty()) << "nobody can";
  ledger.unclaim(Bytes{111});
  EXPECT_EQ(ledger.limit(), Bytes{50});
  ledger.validate();
}

// Against all that may happen, in thousands of orders: the accounts add up, and an answer keeps what it promises.
TEST_F(DeviceLedgerTest, AnswersAreKept) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng random{seed};
    DeviceLedger tried{Bytes{100}};
    std::map<std::uint32_t, std::uint32_t> pins;
    for (std::uint32_t step = 0; step < 200; ++step) {
      const Bytes bytes{static_cast<std::int64_t>(random.between(1, 110))};
      const DeviceRoom room = tried.room_for(bytes);
      EXPECT_EQ(room.answer == Answer::Never, bytes > Bytes{100});
      for (const auto& leaver : room.leaving) {
        ASSERT_EQ(pins[leaver.key.producer.index.value()], 0U);
        ASSERT_GT(tried.used() + bytes, Bytes{100}) << "nobody leaves in vain";
        tried.remove(leaver.key);
      }
      if (room.answer == Answer::Fits) {
        tried.reserve(bytes);
        if (random.chance(1, 5))
          tried.unreserve(bytes);
        else
          tried.add(key(step), bytes, random.chance(1, 3));
      }
      const auto other = static_cast<std::uint32_t>(random.below(step + 1));
      if (tried.has(key(other)) && random.chance(1, 2)) tried.pin(key(other)), ++pins[other];
      const auto another = static_cast<std::uint32_t>(random.below(step + 1));
      if (pins[another] > 0 && random.chance(3, 4)) tried.unpin(key(another)), --pins[another];
      tried.validate();
    }
  }
}

}  // namespace
}  // namespace penstock::worker
