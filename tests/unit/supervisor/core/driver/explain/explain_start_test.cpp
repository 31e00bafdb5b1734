// SupervisorCore: when a job that waits will start.
#include <gtest/gtest.h>

#include "tests/support/remedy_harness.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(ExplainStart, AReservedStartIsToldAsOne) {
  SupervisorConfig config = policed("multifactor");
  config.policy.pools[0].time_limit = hours{1};
  RemedyHarness it{config};
  it.cluster.join({.slots = 4});
  it.submit({}, 2, 2);
  const JobId waits = it.submit({}, 4, 1);
  const Value start = it.explain(waits)["start"];
  EXPECT_EQ(start["kind"], Value{"reserved"});
  ASSERT_NE(start["within_s"].number(), nullptr);
  EXPECT_NEAR(*start["within_s"].number(), 3600, 1);
}

TEST(ExplainStart, TimeLimitsOfWhatRunsAreABasis) {
  SupervisorConfig config = policed("priority");
  config.policy.queues = {{.name = "short", .time_limit = seconds{100}}, {.name = "long", .time_limit = seconds{300}}};
  RemedyHarness it{config};
  it.cluster.join({.slots = 4});
  const JobId soon = it.submit({.queue = "short"}, 2, 1);
  const JobId late = it.submit({.queue = "long"}, 2, 1);
  const JobId waits = it.submit({}, 4, 1);
  const Value start = it.explain(waits)["start"];
  EXPECT_EQ(start["kind"], Value{"estimated"});
  ASSERT_NE(start["within_s"].number(), nullptr);
  EXPECT_NEAR(*start["within_s"].number(), 300, 1);
  EXPECT_EQ(start["basis"],
            Value{"these end: " + to_string(soon) + " (time limit), " + to_string(late) + " (time limit)"});
}

// The limit counts from the first run, and slots were held before.
TEST(ExplainStart, AJobsOwnLimitIsABasisAlsoWithoutBackfill) {
  RemedyHarness it{policed("priority")};
  it.cluster.join({.slots = 2});
  JobSpec spec;
  spec.name = "limited";
  spec.time_limit = seconds{100};
  GraphBuilder graph;
  graph.template_at(0).request.slots = kOneSlot * 2;
  const JobId runs = it.cluster.submit(graph.sources(1).build(), spec);
  it.cluster.settle(3);
  const JobId waits = it.submit({}, 2, 1);
  EXPECT_NEAR(*it.explain(waits)["start"]["within_s"].number(), 100, 1);
  it.cluster.tick_after(seconds{30});
  it.cluster.say(1, 0, Outcome::Started);
  it.cluster.settle(1);
  const Value start = it.explain(waits)["start"];
  EXPECT_EQ(start["kind"], Value{"estimated"});
  EXPECT_NEAR(*start["within_s"].number(), 100, 1);
  EXPECT_EQ(start["basis"], Value{"these end: " + to_string(runs) + " (time limit)"});
  it.cluster.tick_after(seconds{40});
  it.cluster.settle(1);
  EXPECT_NEAR(*it.explain(waits)["start"]["within_s"].number(), 60, 1);
  EXPECT_NEAR(*it.explain(runs)["time_left_s"].number(), 60, 1);
  EXPECT_EQ(it.explain(runs)["time_limit_s"], Value{100.0});
}

TEST(ExplainStart, WithoutALimitWhatHasRunOfAJobTells) {
  RemedyHarness it{policed("priority")};
  it.cluster.join({.slots = 2});
  const JobId runs = it.submit({}, 1, 40);
  const JobId waits = it.submit({}, 2, 1);
  const Value before = it.explain(waits)["start"];
  EXPECT_EQ(before["kind"], Value{"unknown"});
  EXPECT_EQ(before["why"], Value{"the ends of these are unknown: " + to_string(runs) +
                                 " (no time limit, and 0 of 40 subtasks ended)"});
  for (std::uint32_t subtask = 0; subtask < 10; ++subtask) it.cluster.succeed(1, subtask);
  const Value start = it.explain(waits)["start"];
  EXPECT_EQ(start["kind"], Value{"estimated"});
  ASSERT_NE(start["within_s"].number(), nullptr);
  EXPECT_NEAR(*start["within_s"].number(), 0.015, 1e-6) << "30 of 1 ms, two at once";
}

TEST(ExplainStart, WhoWaitsBeforeItStartsFirst) {
  SupervisorConfig config = policed("priority");
  config.policy.queues = {{.name = "short", .time_limit = seconds{100}}};
  RemedyHarness it{config};
  it.cluster.join({.slots = 2});
  it.submit({.queue = "short"}, 2, 1);
  it.submit({}, 2, 1);
  const JobId waits = it.submit({}, 2, 1);
  const Value start = it.explain(waits)["start"];
  EXPECT_EQ(start["kind"], Value{"unknown"}) << "how long the one before it runs nobody knows";
  ASSERT_NE(start["why"].text(), nullptr);
  EXPECT_NE(start["why"].text()->find("1 that wait before it start first"), std::string::npos);
}

TEST(ExplainStart, AShareGrowsWhenOthersEnd) {
  SupervisorConfig config = policed("fair_share");
  config.policy.queues = {{.name = "short", .time_limit = seconds{100}}};
  RemedyHarness it{config};
  it.cluster.join({.slots = 4});
  const JobId runs = it.submit({.queue = "short"}, 1, 40);
  const JobId gang = it.submit({.gang = 4}, 1, 4);
  const Value start = it.explain(gang)["start"];
  EXPECT_EQ(start["kind"], Value{"estimated"});
  EXPECT_NEAR(*start["within_s"].number(), 100, 1);
  ASSERT_NE(start["basis"].text(), nullptr);
  EXPECT_NE(start["basis"].text()->find(to_string(runs) + " (time limit)"), std::string::npos);
}

// Found by a reviewer: the first end of anybody was told.
TEST(ExplainStart, WhatAShareThatHasGrownIsWorthTheNextPassSays) {
  SupervisorConfig config = policed("fair_share");
  config.policy.queues = {{.name = "short", .time_limit = seconds{100}}};
  RemedyHarness it{config};
  it.cluster.join({.slots = 8});
  it.submit({.queue = "short"}, 1, 40);
  it.submit({}, 1, 40);
  const JobId gang = it.submit({.gang = 4}, 1, 4);
  ASSERT_EQ(it.held(gang), 0U);
  ASSERT_TRUE(it.cluster.ask("set", {"weight", to_string(gang), "100"}).has_value());
  const Value start = it.explain(gang)["start"];
  EXPECT_EQ(start["kind"], Value{"unknown"});
  EXPECT_EQ(start["why"], Value{"its share has grown, and the next pass says whether there is room"});
}

TEST(ExplainStart, WhatNobodyKnowsIsNoNumber) {
  SupervisorConfig config = policed("quota", {{.name = "a"}});
  config.policy.users = {{.name = "ann", .limits = {.running_jobs_max = 1}}};
  RemedyHarness it{config};
  it.cluster.join({.slots = 4});
  const JobId runs = it.submit({}, 1, 1, 0, "ann");
  const JobId turn = it.submit({}, 1, 1, 0, "ann");
  const JobId fixed = it.submit({.project = "a", .kind = JobKind::Interactive}, 1, 1);
  for (const JobId each : {turn, fixed}) {
    const Value start = it.explain(each)["start"];
    EXPECT_EQ(start["kind"], Value{"unknown"});
    EXPECT_TRUE(start["within_s"].is_null());
    EXPECT_NE(start["why"].text(), nullptr);
  }
  EXPECT_TRUE(it.explain(runs)["start"].is_null()) << "it has started";
}

}  // namespace
}  // namespace penstock::supervisor
