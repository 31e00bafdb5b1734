// SupervisorCore: what many workers have said is one event, and with many bands it is looked at ahead.
#include "supervisor/core/report_prefetcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

/// Enough for memory to be asked for ahead.
constexpr std::uint32_t kWorkers = 80;

SupervisorConfig short_credit() { return {.lookahead_subtasks_max = 1, .lookahead_subtasks_initial = 1}; }

FromWorker success(std::uint32_t subtask, std::uint32_t job = 1, std::uint16_t attempt = 1) {
  AttemptReport report;
  report.subtask = SubtaskIndex{subtask};
  report.attempt = Attempt{attempt};
  report.band = BandIndex{0};
  report.outcome = Outcome::Succeeded;
  report.run_us = 1000;
  ReportBatch batch;
  batch.number = 1;
  batch.jobs = {JobReports{JobId{job}, {report}, {}, {}, {}}};
  return batch;
}

/// Workers with a region of a flat graph each, and the attempts that they were given at once.
class ManyWorkers {
 public:
  explicit ManyWorkers(std::uint32_t subtasks) : cluster{short_credit()} {
    for (std::uint32_t i = 0; i < kWorkers; ++i) cluster.join();
    cluster.submit(GraphBuilder{}.sources(subtasks).build());
    for (const auto& [worker, batch] : cluster.take<AssignBatch>())
      for (const Assignment& assignment : batch.assignments)
        given.emplace_back(worker.value(), assignment.subtask.value());
  }

  /// Every worker ends what it was first given.
  void end_all(bool together) {
    std::vector<FromWorker> messages;
    for (std::uint32_t worker = 1; worker <= kWorkers; ++worker) messages.push_back(success(first_of(worker)));
    std::vector<supervisor_event::WorkerSaid> said;
    for (std::uint32_t i = 0; i < kWorkers; ++i) said.push_back({WorkerId{i + 1}, messages[i]});
    if (together) return cluster.handle(supervisor_event::WorkersSaid{said});
    for (const supervisor_event::WorkerSaid& one : said) cluster.handle(supervisor_event::WorkerSaid{one});
  }

  std::uint32_t first_of(std::uint32_t worker) const {
    const auto found = std::find_if(given.begin(), given.end(), [&](const auto& one) { return one.first == worker; });
    return found == given.end() ? 0 : found->second;
  }

  SupervisorHarness cluster;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> given;
};

TEST(ReportPrefetcher, WhatManyWorkersSaidAtOnceCountsAsIfSaidOneByOne) {
  ManyWorkers together{kWorkers * 10};
  ManyWorkers one_by_one{kWorkers * 10};
  ASSERT_EQ(together.given, one_by_one.given);
  together.end_all(true);
  one_by_one.end_all(false);
  EXPECT_EQ(together.cluster.core().counters().succeeded, kWorkers);
  const Lines next = together.cluster.assigned();
  EXPECT_EQ(next.size(), kWorkers) << "each band has room for one";
  EXPECT_EQ(next, one_by_one.cluster.assigned());
}

TEST(ReportPrefetcher, AWorkerThatReportsTwiceInOneEventGetsOneBatchOfWork) {
  SupervisorHarness cluster{short_credit()};
  cluster.join({.slots = 2});
  cluster.submit(GraphBuilder{}.sources(200).build());
  cluster.ignore();
  const FromWorker first = success(0);
  const FromWorker second = success(1);
  const supervisor_event::WorkerSaid said[] = {{WorkerId{1}, first}, {WorkerId{1}, second}};
  cluster.handle(supervisor_event::WorkersSaid{said});
  EXPECT_EQ(cluster.core().counters().succeeded, 2U);
  EXPECT_EQ(cluster.take<AssignBatch>().size(), 1U);
}

// A hostile or broken worker: looking ahead must not reach what is not there.
TEST(ReportPrefetcher, NonsenseAmongManyMessagesIsCountedAndTheOthersAreApplied) {
  ManyWorkers many{kWorkers * 10};
  const FromWorker good = success(many.first_of(1));
  const FromWorker good_too = success(many.first_of(kWorkers));
  const FromWorker no_subtask = success(4'000'000'000U);
  const FromWorker no_job = success(0, 9);
  const FromWorker none_of_it = success(SubtaskIndex::none().value(), JobId::none().value());
  const FromWorker empty = ReportBatch{2, {}, {}, {}};
  const FromWorker drained = DrainState{};
  const supervisor_event::WorkerSaid said[] = {
      {WorkerId{7777}, good},    {WorkerId{1}, good},  {WorkerId{2}, no_subtask}, {WorkerId{3}, no_job},
      {WorkerId{4}, none_of_it}, {WorkerId{5}, empty}, {WorkerId{6}, drained},    {WorkerId{kWorkers}, good_too}};
  many.cluster.handle(supervisor_event::WorkersSaid{said});
  many.cluster.ignore();
  EXPECT_EQ(many.cluster.core().counters().succeeded, 2U);
  EXPECT_EQ(many.cluster.core().counters().stale_reports, 4U);
}

TEST(ReportPrefetcher, AnEventOfNoMessagesChangesNothing) {
  ManyWorkers many{kWorkers};
  many.cluster.handle(supervisor_event::WorkersSaid{});
  EXPECT_EQ(many.cluster.assigned(), Lines{});
}

}  // namespace
}  // namespace penstock::supervisor
