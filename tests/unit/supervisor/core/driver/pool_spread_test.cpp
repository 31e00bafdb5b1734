// SupervisorCore: a bag of independent subtasks holds slots in all pools of its list at once.
#include <gtest/gtest.h>

#include <algorithm>

#include "supervisor/core/driver/pool_spread.hpp"
#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"
#include "tests/support/pool_fallback_harness.hpp"

namespace penstock::supervisor {
namespace {

/// Thousandths of slots that the job holds by the last plan, by worker.
std::vector<std::uint64_t> planned(SupervisorHarness& cluster, std::uint32_t job) {
  std::vector<std::uint64_t> milli;
  for (const BandShare& share : cluster.job(job).shares->bands) milli.push_back(share.planned);
  return milli;
}

/// Workers prepare as little as they can, so that work is left to give to others.
SupervisorConfig short_queues(const std::string& preset) {
  SupervisorConfig config = three_pools(preset);
  config.lookahead_subtasks_initial = 1;
  return config;
}

/// Worker 1 with 2 slots is the first pool, which job 1 fills; worker 2 with 3 slots is the second. Job 2 is a bag of
/// `subtasks` that may be in both, and runs in the second.
class Spread {
 public:
  explicit Spread(std::uint32_t subtasks = 10, JobPolicy policy = {}) : it{short_queues("multifactor")} {
    it.cluster.join({.slots = 2});
    it.cluster.join({.slots = 3});
    it.submit({.pools = {"first"}}, 2);
    policy.pools = {"first", "second"};
    bag = it.submit(std::move(policy), subtasks);
    for (const std::uint32_t subtask : {0U, 1U}) it.cluster.say(1, subtask, Outcome::Started, 1);
    for (const std::uint32_t subtask : {0U, 1U, 2U}) it.cluster.say(2, subtask, Outcome::Started, 2);
    it.cluster.assigned();
  }
  void end_first_job() {
    for (const std::uint32_t subtask : {0U, 1U}) it.cluster.succeed(1, subtask, {}, 1);
    it.cluster.settle(4);
  }

  PoolFallbackHarness it;
  JobId bag;
};

// Row D6 of issue 23: its slots in the pool that became free stayed idle until its end.
TEST(PoolSpreadTest, ABagTakesWhatBecomesFreeInAnotherOfItsPools) {
  Spread spread;
  EXPECT_EQ(planned(spread.it.cluster, 2), (std::vector<std::uint64_t>{0, 3000}));
  PENSTOCK_EXPECT_COVERAGE_MARK("a bag that holds slots is tried for more in the next of its pools",
                                spread.end_first_job());
  EXPECT_EQ(planned(spread.it.cluster, 2), (std::vector<std::uint64_t>{2000, 3000}));
  Lines assigned = spread.it.cluster.assigned();
  const auto in_first = [](const std::string& line) { return line.find("to w1") != std::string::npos; };
  EXPECT_GE(std::count_if(assigned.begin(), assigned.end(), in_first), 2);
  EXPECT_EQ(spread.it.pools_of(spread.bag), (Lines{"first here", "second here"}));
  EXPECT_EQ((spread.it.cluster.take<CancelBatch>().size()), 0U) << "what runs goes on";
}

TEST(PoolSpreadTest, PoolsCountItWhereItHoldsSlots) {
  Spread spread;
  spread.end_first_job();
  const Result<Value> pools = spread.it.cluster.ask("pools");
  ASSERT_TRUE(pools.has_value());
  const Value::List& rows = *pools->list();
  EXPECT_EQ(rows[0]["entitled"], Value{std::uint64_t{2}});
  EXPECT_EQ(rows[1]["entitled"], Value{std::uint64_t{3}});
  for (const int row : {0, 1}) {
    EXPECT_EQ(rows[static_cast<std::size_t>(row)]["jobs"], Value{std::uint64_t{1}});
    EXPECT_EQ(rows[static_cast<std::size_t>(row)]["jobs_elsewhere"], Value{std::uint64_t{0}});
  }
}

TEST(PoolSpreadTest, OthersOfAPoolShareThatPoolOnly) {
  PoolFallbackHarness it{short_queues("fair_share_max_min")};
  it.cluster.join({.slots = 2});
  it.cluster.join({.slots = 3});
  it.submit({.pools = {"first", "second"}}, 40);
  EXPECT_EQ(planned(it.cluster, 1), (std::vector<std::uint64_t>{2000, 3000}));
  it.submit({.pools = {"first"}}, 8);
  EXPECT_EQ(planned(it.cluster, 1), (std::vector<std::uint64_t>{1000, 3000}));
  it.cluster.settle(4);
  EXPECT_EQ(planned(it.cluster, 1), (std::vector<std::uint64_t>{1000, 3000})) << "and so it stays";
}

// Found by a review: where it wanted no more it was not counted, and both were free to run what they had.
TEST(PoolSpreadTest, OthersThatComeWhereItOnlyHoldsSlotsAreLimited) {
  Spread spread{3};
  ASSERT_EQ(planned(spread.it.cluster, 2), (std::vector<std::uint64_t>{0, 3000}));
  spread.it.submit({.pools = {"second"}}, 8);
  spread.it.cluster.settle(2);
  for (const std::uint32_t job : {2U, 3U})
    for (const std::string& line : spread.it.cluster.entitlements(job)) EXPECT_NE(line, "w2:all") << job;
}

TEST(PoolSpreadTest, ItsOwnLimitHoldsForAllPoolsTogether) {
  Spread spread{10, {.slots_max = 4}};
  spread.end_first_job();
  EXPECT_EQ(planned(spread.it.cluster, 2), (std::vector<std::uint64_t>{1000, 3000}));
}

/// Subtasks of job 2 that the worker has, by its number.
std::vector<std::uint32_t> held_by(Spread& spread, std::uint32_t worker) {
  std::vector<std::uint32_t> found;
  const Job& job = spread.it.cluster.job(2);
  for (std::uint32_t i = 0; i < job.total(); ++i)
    if (job.hot[i].phase == SubtaskPhase::Assigned && job.hot[i].band == BandSlot{worker - 1}) found.push_back(i);
  return found;
}

TEST(PoolSpreadTest, WithLessWorkItGivesBackIdleSlotsFirst) {
  Spread spread;
  spread.end_first_job();
  for (const std::uint32_t worker : {2U, 1U})
    for (auto left = held_by(spread, worker); left.size() > (worker == 2 ? 1U : 2U); left = held_by(spread, worker)) {
      spread.it.cluster.succeed(worker, left.front(), {}, 2);
      spread.it.cluster.settle(2);
    }
  spread.it.cluster.settle(2);
  EXPECT_EQ(planned(spread.it.cluster, 2), (std::vector<std::uint64_t>{2000, 1000})) << "two run in the first";
}

TEST(PoolSpreadTest, AJobWithEdgesStaysInOnePool) {
  PoolFallbackHarness it{three_pools("multifactor")};
  it.cluster.join({.slots = 2});
  it.cluster.join({.slots = 2});
  it.submit({.pools = {"first"}}, 2);
  JobSpec spec;
  spec.name = "pairs";
  spec.policy.pools = {"first", "second"};
  it.cluster.submit(GraphBuilder{}.sources(5).add({0}).build(), spec);
  it.cluster.settle(4);
  for (std::uint32_t i = 0; i < 2; ++i) it.cluster.succeed(1, i, {}, 1);
  it.cluster.settle(4);
  EXPECT_EQ(planned(it.cluster, 2), (std::vector<std::uint64_t>{0, 2000}));
}

// A slot of the first pool is one run, where quotas count parts of 900 of 1,000 thousandths it is three.
TEST(PoolSpreadTest, WhereItsRunsCountForOtherAmountsItStaysInOnePool) {
  SupervisorConfig config = three_pools("multifactor");
  config.policy.pools[1].preset = "quota";
  PoolFallbackHarness it{config};
  it.cluster.join({.slots = 2});
  it.cluster.join({.slots = 3});
  JobSpec spec;
  spec.name = "small";
  spec.policy.pools = {"first", "second"};
  GraphBuilder builder;
  builder.template_at(0).request.slots = MilliSlots{300};
  builder.template_at(0).request.memory = Bytes{1 << 20};
  it.cluster.submit(builder.sources(30).build(), spec);
  EXPECT_TRUE(it.cluster.job(1).shares->pool.spreads) << "before a pass has compared them";
  it.cluster.settle(4);
  EXPECT_FALSE(it.cluster.job(1).shares->pool.spreads);
}

TEST(PoolSpreadTest, WorkWhereItHasNoSlotsBringsItThere) {
  Spread spread;
  const Job& job = spread.it.cluster.job(2);
  const WorkerTable& workers = spread.it.cluster.core().workers();
  const std::vector<std::uint32_t> pool_of_band{0, 1};
  job.shares->pool.position = 0;
  EXPECT_EQ(pool_of_stranded_work(job, workers, pool_of_band), kAnyPool) << "its slots are there";
  job.shares->bands[1].planned = 0;
  EXPECT_EQ(pool_of_stranded_work(job, workers, pool_of_band), 1U);
  job.shares->pool.position = 1;
  EXPECT_EQ(pool_of_stranded_work(job, workers, pool_of_band), kAnyPool) << "it is tried there";
}

// Workers of before a restart may hold work of it in each of its pools.
TEST(PoolSpreadTest, ANextLifeLeavesItWhereItsWorkIsClaimed) {
  JournalHarness cluster{three_pools("multifactor")};
  cluster->join({.slots = 1});
  cluster->join({.slots = 1});
  JobSpec spec;
  spec.name = "bag";
  spec.policy.pools = {"first", "second"};
  cluster->submit(GraphBuilder{}.sources(4).build(), spec);
  run_passes(cluster);
  cluster.restart_for_claims();
  for (std::uint32_t worker = 1; worker <= 2; ++worker)
    cluster->come_back(
        worker,
        {.jobs = {{JobId{1}, {{SubtaskIndex{worker - 1}, Attempt{1}, BandIndex{0}, ClaimedStage::Running}}, {}}}});
  run_passes(cluster);
  EXPECT_EQ(planned(*cluster.operator->(), 1), (std::vector<std::uint64_t>{1000, 1000}));
  EXPECT_EQ((cluster->take<CancelBatch>().size()), 0U);
  cluster->ignore();
}

}  // namespace
}  // namespace penstock::supervisor
