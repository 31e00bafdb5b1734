// SupervisorCore: what else changes with a remedy, so that it is told only where the job gets more.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/remedy_harness.hpp"

namespace penstock::supervisor {
namespace {

TEST(ChangesTest, AnEndIsNoRemedyIfALimitThenLetsAnotherJobIn) {
  SupervisorConfig config = policed("priority");
  config.policy.users = {{.name = "ann", .limits = {.running_jobs_max = 1}}};
  RemedyHarness it{config};
  it.cluster.join({.slots = 2});
  const JobId runs = it.submit({}, 2, 1, 0, "ann");
  const JobId limited = it.submit({}, 2, 1, 5, "ann");
  const JobId waits = it.submit({}, 2, 1);
  ASSERT_EQ(it.held(runs), 2000U);
  EXPECT_EQ(it.freed_by(limited), Lines{"end " + to_string(runs)});
  const Lines rows = it.freed_by(waits);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), "end " + to_string(runs)), 0) << "the one of higher priority gets it";
  it.end(runs);
  EXPECT_EQ(it.held(limited), 2000U);
  EXPECT_EQ(it.held(waits), 0U);
}

TEST(ChangesTest, AnEndIsNoRemedyIfAnotherJobWaitsBeforeIt) {
  RemedyHarness it{policed("multifactor")};
  it.cluster.join({.slots = 2});
  const JobId runs = it.submit({}, 2, 1);
  const JobId before = it.submit({}, 2, 1);
  const JobId waits = it.submit({}, 2, 1);
  EXPECT_EQ(it.freed_by(before), Lines{"end " + to_string(runs)});
  const Lines rows = it.freed_by(waits);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), "end " + to_string(runs)), 0);
}

TEST(ChangesTest, AWorkerIsNoRemedyIfAnotherJobWantsAllOfIt) {
  RemedyHarness it{policed("priority")};
  it.cluster.join({.slots = 2});
  it.cluster.join({.slots = 2});
  it.cluster.lose(2);
  it.submit({}, 1, 40, 5);
  const JobId waits = it.submit({}, 1, 1);
  const Lines rows = it.freed_by(waits);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), "worker worker-2: it comes back"), 0);
  it.cluster.join({.slots = 2});
  it.cluster.settle(4);
  EXPECT_EQ(it.held(waits), 0U);
}

TEST(ChangesTest, AWorkerWithLabelsIsARemedyForTheJobThatNeedsThem) {
  RemedyHarness it{policed("priority")};
  it.cluster.join({.slots = 1, .labels = {"a"}});
  it.cluster.join({.slots = 2});
  it.cluster.join({.slots = 2, .labels = {"a"}});
  it.submit({.labels = {"a"}}, 1, 1, 5);
  it.cluster.lose(3);
  it.cluster.settle(2);
  const JobId runs = it.submit({.labels = {"a"}}, 1, 1, 4);
  const Lines rows = it.freed_by(runs);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), "worker worker-3: it comes back"), 1);
}

}  // namespace
}  // namespace penstock::supervisor
