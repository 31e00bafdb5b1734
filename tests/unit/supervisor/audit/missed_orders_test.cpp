#include "supervisor/audit/missed_orders.hpp"

#include <gtest/gtest.h>

#include "tests/support/audit_files.hpp"

namespace penstock::supervisor {
namespace {

constexpr std::int64_t kStart = 1'795'938'165'000;

AuditRecord record(const char* event, std::int64_t at_ms, const std::string& what, const std::string& user = "ada") {
  AuditRecord made;
  made.event = event;
  made.at_ms = at_ms;
  made.what = what;
  made.user = user;
  return made;
}

struct MissedOrders : testing::Test {
  AuditFiles files;
  AuditBook book = files.book();
  void SetUp() override {
    static_cast<void>(book.append({record(audit_event::kSupervisor, kStart - 5000, "start", "root"),
                                   record(audit_event::kOrder, kStart - 4000, "drain w1"),
                                   record(audit_event::kSupervisor, kStart, "start", "root"),
                                   record(audit_event::kOrder, kStart + 1000, "drain w1")})
                          .value());
  }
  std::vector<AuditRecord> missed(const std::vector<DoneOrder>& done) const {
    return missed_orders(files.directory(), done).value();
  }
};

TEST_F(MissedOrders, RecordedOnesAreNotMissed) {
  EXPECT_TRUE(missed({{kStart + 1001, "ada@desk", "drain w1", "done"}}).empty());
}

TEST_F(MissedOrders, OneThatWasNotAnsweredIsMissedWithItsOutcome) {
  const std::vector<AuditRecord> found = missed({{kStart + 1001, "ada@desk", "drain w1", "done"},
                                                 {kStart + 2000, "ada@desk", "drain w1", "done"},
                                                 {kStart + 3000, "bob@desk", "drain w1", "done"}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].at_ms, kStart + 2000);
  EXPECT_EQ(found[0].user, "ada@desk");
  EXPECT_EQ(found[0].what, "drain w1");
  EXPECT_EQ(found[0].from, "journal");
  EXPECT_EQ(found[0].outcome, "not answered before the supervisor ended: done");
  EXPECT_EQ(found[1].user, "bob@desk");
}

TEST_F(MissedOrders, OrdersOfEarlierLivesAreNotLookedAt) {
  EXPECT_TRUE(missed({{kStart - 1, "ada@desk", "undrain w1", "done"}}).empty());
  EXPECT_EQ(missed({{kStart, "ada@desk", "undrain w1", "done"}}).size(), 1U);
}

TEST_F(MissedOrders, WithoutAnAuditNothingIsMissed) {
  const ScratchDirectory scratch;
  EXPECT_TRUE(missed_orders(scratch.path(), {{kStart, "ada", "drain w1", "done"}}).value().empty());
}

}  // namespace
}  // namespace penstock::supervisor
