#include "worker/actors/worker_tally.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

AttemptReport report(Outcome outcome, std::uint32_t run_us) {
  AttemptReport made;
  made.outcome = outcome;
  made.run_us = run_us;
  return made;
}

TEST(WorkerTally, CountsEndsAndRunsOfABatch) {
  WorkerTally tally;
  ReportBatch batch;
  batch.jobs.push_back({JobId{1},
                        {report(Outcome::Started, 0), report(Outcome::Succeeded, 0), report(Outcome::Failed, 2000),
                         report(Outcome::Returned, 0), report(Outcome::Cancelled, 5)},
                        {},
                        {},
                        {}});
  batch.loads.push_back({.band = BandIndex{1}, .running = 7});
  batch.counters.edit().spills = 3;
  tally.note({DrainState{}, batch});
  const WorkerNumbers numbers = tally.take();
  EXPECT_EQ(numbers.ended, (std::array<std::uint64_t, 5>{0, 1, 1, 1, 1}));
  EXPECT_EQ(numbers.runs.count(), 3U);  // A returned attempt has not run.
  EXPECT_EQ(numbers.runs.sum_us(), 2005U);
  EXPECT_EQ(numbers.batches, 1U);
  EXPECT_EQ(numbers.core.spills, 3U);
  ASSERT_EQ(numbers.loads.size(), 1U);
  EXPECT_EQ(numbers.loads[0].running, 7U);
}

TEST(WorkerTally, ABatchWithoutLoadsKeepsTheLast) {
  WorkerTally tally;
  ReportBatch batch;
  batch.loads.push_back({.band = BandIndex{0}, .running = 7});
  tally.note(std::vector<FromWorker>{batch});
  tally.note(std::vector<FromWorker>{ReportBatch{}});
  EXPECT_EQ(tally.take().loads.size(), 1U);
}

TEST(WorkerTally, AnotherIncarnationBeginsWithoutTheStateOfTheLast) {
  WorkerTally tally;
  tally.begin_life();
  ReportBatch batch;
  batch.loads.push_back({});
  batch.counters.edit().spills = 3;
  batch.jobs.push_back({JobId{1}, {report(Outcome::Succeeded, 1)}, {}, {}, {}});
  tally.note(std::vector<FromWorker>{batch});
  tally.begin_life();
  EXPECT_EQ(tally.take().incarnations, 2U);
  EXPECT_TRUE(tally.take().loads.empty());
  EXPECT_EQ(tally.take().core.spills, 0U);
  EXPECT_EQ(tally.take().runs.count(), 1U);  // Of the process.
}

TEST(WorkerTally, Fetches) {
  WorkerTally tally;
  tally.fetched(100, true);
  tally.fetched(0, false);
  EXPECT_EQ(tally.take().fetched, 1U);
  EXPECT_EQ(tally.take().fetches_failed, 1U);
  EXPECT_EQ(tally.take().fetched_bytes, 100U);
}

}  // namespace
}  // namespace penstock::worker
