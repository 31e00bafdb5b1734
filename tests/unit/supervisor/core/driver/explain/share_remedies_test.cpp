// Remedies for a job that holds its fair share: each row is tried.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/remedy_harness.hpp"

namespace penstock::supervisor {
namespace {

// Found by an acceptance test: with "more than 2.5" nothing was freed.
TEST(ShareRemedies, AWeightIsNamedThatGivesOneMore) {
  RemedyHarness it{policed("fair_share")};
  it.cluster.join({.slots = 16});
  const JobId a = it.submit({}, 1, 40);
  const JobId b = it.submit({.weight = 2500}, 1, 40);
  const std::uint64_t before = it.held(b);
  ASSERT_EQ(it.freed_by(b).front(), "end " + to_string(a));
  it.follow(it.how(b, "weight"));
  EXPECT_EQ(it.held(b), before + 1000);
}

TEST(ShareRemedies, OfAGangTheWeightIsThatForAllOfIt) {
  for (const char* preset : {"fair_share", "fair_share_max_min"}) {
    RemedyHarness it{policed(preset)};
    it.cluster.join({.slots = 8});
    const JobId a = it.submit({}, 1, 40);
    it.submit({}, 1, 40);
    const JobId gang = it.submit({.gang = 4}, 1, 4);
    ASSERT_EQ(it.held(gang), 0U) << preset;
    const std::string order = it.how(gang, "weight");
    ASSERT_NE(order, "") << preset;
    for (const std::string& row : it.freed_by(gang)) EXPECT_EQ(row.find("more than"), std::string::npos) << row;
    it.follow(order);
    EXPECT_EQ(it.held(gang), 4000U) << preset << ": " << order;
    EXPECT_LT(it.held(a), 4000U);
  }
}

TEST(ShareRemedies, OnlyEndsThatMakeTheShareLargeEnoughAreNamed) {
  RemedyHarness it{policed("fair_share")};
  it.cluster.join({.slots = 8});
  const JobId small = it.submit({}, 1, 1);
  const JobId a = it.submit({}, 1, 40);
  const JobId gang = it.submit({.gang = 6}, 1, 6);
  ASSERT_EQ(it.held(gang), 0U);
  const Lines rows = it.freed_by(gang);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.front(), "end " + to_string(a)) << "not that of " << to_string(small);
  it.end(a);
  EXPECT_EQ(it.held(gang), 6000U);
}

TEST(ShareRemedies, WhereNoEndIsEnoughTheFirstTogetherAre) {
  RemedyHarness it{policed("fair_share")};
  it.cluster.join({.slots = 8});
  const JobId a = it.submit({}, 1, 40);
  const JobId b = it.submit({}, 1, 40);
  const JobId gang = it.submit({.gang = 8}, 1, 8);
  EXPECT_EQ(it.freed_by(gang).front(), "end " + to_string(a) + ", " + to_string(b) + ": together");
}

TEST(ShareRemedies, NoWeightIsNamedWhereOthersNeverLeave) {
  RemedyHarness it{policed("fair_share")};
  it.cluster.join({.slots = 4});
  const JobId holds = it.submit({.kind = JobKind::Interactive}, 1, 2);
  it.submit({}, 1, 40);
  const JobId gang = it.submit({.gang = 2}, 1, 2);
  ASSERT_EQ(it.held(holds), 2000U);
  EXPECT_EQ(it.how(gang, "weight"), "");
}

// Found by a reviewer: the whole pool had been divided, and an end on bands where it may not be was told.
TEST(ShareRemedies, OfWhoMayUseSomeBandsOnlyEndsThereAreNamed) {
  SupervisorConfig config = policed("fair_share");
  config.policy.queues = {{.name = "short", .time_limit = std::chrono::seconds{100}},
                          {.name = "long", .time_limit = std::chrono::seconds{300}}};
  RemedyHarness it{config};
  it.cluster.join({.slots = 4, .labels = {"a"}});
  it.cluster.join({.slots = 4});
  std::vector<JobId> there;
  for (int job = 0; job < 5; ++job) there.push_back(it.submit({.labels = {"a"}, .queue = "long"}, 1, 1));
  const JobId other = it.submit({.queue = "short"}, 1, 40);
  const JobId waits = there.back();
  ASSERT_EQ(it.held(waits), 0U);
  ASSERT_EQ(it.held(other), 4000U);
  ASSERT_EQ(it.holds(waits).front(), "fair_share " + to_string(waits));
  const Value start = it.explain(waits)["start"];
  EXPECT_EQ(start["basis"],
            Value{"its share is large enough when these end: " + to_string(there.front()) + " (time limit)"});
  ASSERT_NE(start["within_s"].number(), nullptr);
  EXPECT_NEAR(*start["within_s"].number(), 300, 10);
  const Lines rows = it.freed_by(waits);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.front(), "end " + to_string(there.front()));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), "end " + to_string(other)), 0);
  it.end(there.front());
  EXPECT_EQ(it.held(waits), 1000U);
}

// A job's weight is a part of its project's.
TEST(ShareRemedies, AWeightCountsWithinItsProject) {
  RemedyHarness it{policed("fair_share", {{.name = "p"}})};
  it.cluster.join({.slots = 8});
  it.submit({.project = "p"}, 1, 40);
  const JobId second = it.submit({.project = "p"}, 1, 40);
  it.submit({}, 1, 40);
  const std::uint64_t before = it.held(second);
  const std::string order = it.how(second, "weight");
  ASSERT_NE(order, "");
  it.follow(order);
  EXPECT_EQ(it.held(second), before + 1000) << order;
}

}  // namespace
}  // namespace penstock::supervisor
