#include "supervisor/audit/refusal_counts.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const std::string kKind = "connect";

AuditRecord refusal(const std::string& from, const std::string& user = {}, std::int64_t at_ms = 1) {
  AuditRecord record;
  record.event = audit_event::kRefusal;
  record.from = from;
  record.user = user;
  record.at_ms = at_ms;
  return record;
}

TEST(RefusalCounts, TheFirstIsARecordAndTheOthersAreOne) {
  const AuditConfig config;
  RefusalCounts counts{config};
  const Instant begin = instant_at(seconds{100});
  EXPECT_TRUE(counts.note(refusal("10.0.0.1:1"), kKind, begin).has_value());
  for (int i = 0; i < 1000; ++i)
    EXPECT_FALSE(counts.note(refusal("10.0.0.1:" + std::to_string(i), {}, i), kKind, begin + seconds{1}).has_value());
  EXPECT_EQ(counts.next_deadline(), begin + minutes{1});
  EXPECT_TRUE(counts.due(begin + seconds{59}).empty());
  const std::vector<AuditRecord> due = counts.due(begin + minutes{1});
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].count, 1000U);
  EXPECT_EQ(due[0].until_ms, 999);
  EXPECT_FALSE(counts.next_deadline().has_value());
  EXPECT_TRUE(counts.note(refusal("10.0.0.1:1"), kKind, begin + minutes{1}).has_value()) << "another interval";
}

TEST(RefusalCounts, ASingleOneHasNoSecondRecord) {
  const AuditConfig config;
  RefusalCounts counts{config};
  EXPECT_TRUE(counts.note(refusal("10.0.0.1:1"), kKind, Instant{}).has_value());
  EXPECT_TRUE(counts.due(instant_at(minutes{2})).empty());
}

TEST(RefusalCounts, AddressesAndUsersAndKindsAreApart) {
  const AuditConfig config;
  RefusalCounts counts{config};
  EXPECT_TRUE(counts.note(refusal("10.0.0.1:1"), kKind, Instant{}).has_value());
  EXPECT_TRUE(counts.note(refusal("10.0.0.2:1"), kKind, Instant{}).has_value());
  EXPECT_TRUE(counts.note(refusal("10.0.0.2:1", "bob"), kKind, Instant{}).has_value());
  EXPECT_TRUE(counts.note(refusal("10.0.0.2:1", "bob"), "login", Instant{}).has_value());
  EXPECT_FALSE(counts.note(refusal("10.0.0.2:2", "bob"), "login", Instant{}).has_value());
}

TEST(RefusalCounts, MoreAddressesThanTheLimitShareARecord) {
  AuditConfig config;
  config.addresses_max = 2;
  RefusalCounts counts{config};
  EXPECT_TRUE(counts.note(refusal("10.0.0.1:1"), kKind, Instant{}).has_value());
  EXPECT_TRUE(counts.note(refusal("10.0.0.2:1"), kKind, Instant{}).has_value());
  const std::optional<AuditRecord> third = counts.note(refusal("10.0.0.3:1", "eve"), kKind, Instant{});
  ASSERT_TRUE(third.has_value());
  EXPECT_EQ(third->from, "other addresses");
  EXPECT_EQ(third->user, "");
  for (int i = 4; i < 100; ++i)
    EXPECT_FALSE(counts.note(refusal("10.0.0." + std::to_string(i) + ":1"), kKind, Instant{}).has_value());
  const std::vector<AuditRecord> all = counts.all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].count, 96U);
}

}  // namespace
}  // namespace penstock::supervisor
