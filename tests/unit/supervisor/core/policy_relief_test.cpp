// SupervisorCore: what would free a job that policy holds.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

class PolicyRelief {
 public:
  explicit PolicyRelief(const SupervisorConfig& config) : cluster{config} {}
  ~PolicyRelief() { cluster.ignore(); }
  PolicyRelief(const PolicyRelief&) = delete;
  PolicyRelief& operator=(const PolicyRelief&) = delete;

  JobId submit(JobPolicy policy, std::uint32_t slots, std::uint32_t subtasks, std::int32_t priority = 0) {
    GraphBuilder builder;
    builder.template_at(0).request.slots = kOneSlot * slots;
    JobSpec spec;
    spec.name = "job " + std::to_string(++jobs_);
    spec.priority = priority;
    spec.wait_for_resources = true;
    spec.policy = std::move(policy);
    const JobId id = cluster.submit(builder.sources(subtasks).build(), spec);
    cluster.settle(3);
    return id;
  }
  /// Rows as `what of: how`.
  Lines freed_by(JobId job, const char* field = "freed_by") {
    const Result<Value> answer = cluster.ask("explain", {to_string(job)});
    EXPECT_TRUE(answer.has_value());
    Lines lines;
    if (const Value::List* rows = (*answer)[field].list())
      for (const Value& row : *rows)
        lines.push_back(*row["what"].text() + " " + *row["of"].text() +
                        (row["how"].text()->empty() ? "" : ": " + *row["how"].text()));
    return lines;
  }

  PolicedSupervisor cluster;

 private:
  int jobs_ = 0;
};

TEST(PolicyReliefTest, WhoFindsNoRoomIsToldWhoseEndMakesIt) {
  PolicyRelief it{policed("multifactor")};
  it.cluster.join({.slots = 4});
  it.cluster.join({.slots = 2});
  const JobId large = it.submit({}, 4, 1);
  const JobId small = it.submit({}, 2, 1);
  const JobId waits = it.submit({}, 2, 1);
  EXPECT_EQ(it.freed_by(waits), (Lines{"end " + to_string(large), "end " + to_string(small)}));
  const Result<Value> answer = it.cluster.ask("explain", {to_string(waits)});
  const Value& first = (*(*answer)["freed_by"].list())[0];
  ASSERT_NE(first["within_s"].number(), nullptr) << "its time limit tells";
  EXPECT_NEAR(*first["within_s"].number(), 24 * 3600, 60);
  EXPECT_EQ(it.freed_by(large), Lines{});
}

// Backfill takes who is past his limit to end within `overrun`; `explain` said: at once.
TEST(PolicyReliefTest, WhoIsPastHisLimitEndsWithinTheOverrun) {
  SupervisorConfig config = policed("multifactor");
  config.policy.pools[0].time_limit = std::chrono::seconds{1};
  config.policy.pools[0].overrun = std::chrono::seconds{40};
  PolicyRelief it{config};
  it.cluster.join({.slots = 1});
  it.submit({}, 1, 1);
  const JobId waits = it.submit({}, 1, 1);
  it.cluster.tick_after(std::chrono::seconds{5});
  it.cluster.settle(2);
  const Result<Value> answer = it.cluster.ask("explain", {to_string(waits)});
  ASSERT_NE((*answer)["freed_by"].list(), nullptr);
  const double* within = (*(*answer)["freed_by"].list())[0]["within_s"].number();
  ASSERT_NE(within, nullptr);
  EXPECT_NEAR(*within, 40, 1);
}

TEST(PolicyReliefTest, WhereNoEndIsEnoughSomeTogetherAre) {
  PolicyRelief it{policed("multifactor")};
  it.cluster.join({.slots = 4});
  const JobId a = it.submit({}, 2, 1);
  const JobId b = it.submit({}, 2, 1);
  const JobId waits = it.submit({}, 4, 1);
  EXPECT_EQ(it.freed_by(waits), Lines{"end " + to_string(a) + ", " + to_string(b) + ": together"});
}

TEST(PolicyReliefTest, AWorkerThatDrainsOrIsGoneWouldHelp) {
  PolicyRelief it{policed("multifactor")};
  it.cluster.join({.slots = 4});
  it.cluster.join({.slots = 4});
  EXPECT_TRUE(it.cluster.ask("drain", {"worker-2"}).has_value());
  const JobId runs = it.submit({}, 4, 1);
  const JobId waits = it.submit({}, 4, 1);
  EXPECT_EQ(it.freed_by(waits), (Lines{"end " + to_string(runs), "worker worker-2: undrain worker-2"}));
  it.cluster.lose(2);
  it.cluster.settle(2);
  EXPECT_EQ(it.freed_by(waits), (Lines{"end " + to_string(runs), "worker worker-2: it comes back"}));
  it.cluster.join({.slots = 4});
  it.cluster.settle(2);
  EXPECT_EQ(it.freed_by(waits), Lines{});
}

TEST(PolicyReliefTest, AtItsShareAnothersEndOrALargerWeightFreesIt) {
  PolicyRelief it{policed("fair_share")};
  it.cluster.join({.slots = 4});
  const JobId a = it.submit({}, 1, 40);
  const JobId b = it.submit({.weight = 2500}, 1, 40);
  EXPECT_EQ(it.freed_by(b), (Lines{"end " + to_string(a),
                                   "weight " + to_string(b) + ": set weight " + to_string(b) + " to more than 2.5"}));
}

TEST(PolicyReliefTest, WhatIsAtItsCapIsToldTheCapForOneMore) {
  PolicyRelief it{policed("fair_share")};
  it.cluster.join({.slots = 8});
  const JobId capped = it.submit({.slots_max = 3}, 2, 40);
  it.submit({}, 1, 2);
  EXPECT_EQ(it.freed_by(capped), Lines{"cap " + to_string(capped) + ": set cap " + to_string(capped) + " 4"});
  EXPECT_TRUE(it.cluster.ask("set", {"cap", to_string(capped), "4"}).has_value());
  it.cluster.settle(3);
  EXPECT_EQ(it.cluster.job(capped.value()).shares->bands.at(0).planned, 4000U);
}

TEST(PolicyReliefTest, BehindAMoreImportantOneItsStartOrAHigherPriorityFreesIt) {
  PolicyRelief it{policed("priority")};
  it.cluster.join({.slots = 4});
  it.submit({.kind = JobKind::Interactive}, 3, 1, 9);
  const JobId high = it.submit({}, 4, 1, 5);
  const JobId low = it.submit({.kind = JobKind::Interactive}, 1, 1, 1);
  EXPECT_EQ(it.freed_by(low), (Lines{"start " + to_string(high),
                                     "priority " + to_string(low) + ": set priority " + to_string(low) + " 6"}));
  EXPECT_TRUE(it.cluster.ask("set", {"priority", to_string(low), "6"}).has_value());
  it.cluster.settle(3);
  EXPECT_EQ(it.freed_by(low), Lines{});
}

TEST(PolicyReliefTest, WhatIsNotGuaranteedIsFreedByAQuota) {
  PolicyRelief it{policed("quota", {{.name = "d", .is_department = true, .guaranteed_slots = 2},
                                    {.name = "a", .department = "d", .guaranteed_slots = 4}})};
  it.cluster.join({.slots = 8});
  const JobId holds = it.submit({.project = "a", .kind = JobKind::Interactive}, 2, 1);
  const JobId waits = it.submit({.project = "a", .kind = JobKind::Interactive}, 2, 1);
  EXPECT_EQ(it.freed_by(waits), (Lines{"quota d: set quota d 4", "end " + to_string(holds)}));
  EXPECT_TRUE(it.cluster.ask("set", {"quota", "d", "4"}).has_value());
  it.cluster.settle(3);
  EXPECT_EQ(it.freed_by(waits), Lines{});
}

// It looks at all jobs, each of which may look at all others, and nobody reads what would free them there.
TEST(PolicyReliefTest, TheWatchdogDoesNotLookForWhatWouldFreeAJob) {
  SupervisorConfig config = policed("multifactor");
  config.watchdog_after = std::chrono::seconds{5};
  PolicyRelief it{config};
  it.cluster.join({.slots = 1});
  it.submit({}, 1, 1);
  const JobId waits = it.submit({}, 1, 1);
  PENSTOCK_EXPECT_COVERAGE_MARK("what would free a job is looked for", EXPECT_FALSE(it.freed_by(waits).empty()));
  const std::uint64_t before = coverage_mark_count("what would free a job is looked for");
  for (int i = 0; i < 4; ++i) {
    it.cluster.tick_after(std::chrono::seconds{3});
    it.cluster.settle(1);
  }
  EXPECT_EQ(it.cluster.core().counters().watchdog_alerts, 1U);
  EXPECT_EQ(coverage_mark_count("what would free a job is looked for"), before);
}

TEST(PolicyReliefTest, AtALimitItIsNamedWithItsNumber) {
  PolicyRelief it{policed("quota", {{.name = "a", .slots_max = 3}})};
  it.cluster.join({.slots = 8});
  const JobId holds = it.submit({.project = "a"}, 2, 1);
  const JobId waits = it.submit({.project = "a"}, 2, 1);
  EXPECT_EQ(it.freed_by(waits), (Lines{"limit a: slots_max = 4", "end " + to_string(holds)}));
}

}  // namespace
}  // namespace penstock::supervisor
