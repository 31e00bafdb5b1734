#include "supervisor/core/ledger/after_write.hpp"

#include <gtest/gtest.h>

#include <string>

namespace penstock::supervisor {
namespace {

class AfterWriteTest : public ::testing::Test {
 protected:
  AfterWriteTest() { event.out = &out; }
  /// An event that orders these operations and writes a record.
  void order(std::initializer_list<std::string> operations) {
    for (const std::string& operation : operations) waiting.add(operation);
    gate.write(record::JobForgotten{JobId{1}});
    gate.commit(true);
  }
  std::vector<std::string> take_written() {
    std::vector<std::string> taken;
    while (std::optional<std::string> next = waiting.take_written()) taken.push_back(*next);
    return taken;
  }
  using Texts = std::vector<std::string>;

  EventContext event;
  Actions<SupervisorAction> out;
  CommitGate gate{Durability::Journal, event};
  AfterWrite<std::string> waiting{gate};
};

TEST_F(AfterWriteTest, OperationsGoOnInTheirOrderWhenTheirRecordsAreOnTheDisk) {
  EXPECT_TRUE(waiting.empty());
  order({"a", "b"});
  order({"c"});
  EXPECT_EQ(take_written(), Texts{});
  gate.persisted(1);
  EXPECT_EQ(take_written(), (Texts{"a", "b"}));
  EXPECT_FALSE(waiting.empty());
  gate.persisted(2);
  EXPECT_EQ(take_written(), Texts{"c"});
  EXPECT_TRUE(waiting.empty());
}

TEST_F(AfterWriteTest, OperationsWhoseRecordsCannotBeWrittenAreTakenTogether) {
  order({"a"});
  order({"b", "c"});
  gate.persisted(1);
  EXPECT_EQ(waiting.take_written(), "a");
  EXPECT_EQ(waiting.take_all(), (Texts{"b", "c"}));
  EXPECT_TRUE(waiting.empty());
  gate.persisted(2);
  EXPECT_EQ(take_written(), Texts{});
}

}  // namespace
}  // namespace penstock::supervisor
