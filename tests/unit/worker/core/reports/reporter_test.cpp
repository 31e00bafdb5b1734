#include "worker/core/reports/reporter.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

using worker_action::SendReport;

TEST(Reporter, EachOutcomeIsCountedAndSentInOrder) {
  WorkerParts parts;
  const SubtaskRecord& record = parts.record(parts.add(0));
  Reporter& reporter = parts.reports.reporter;
  for (const Outcome outcome : {Outcome::Succeeded, Outcome::Failed, Outcome::Cancelled, Outcome::Returned})
    reporter.report(record, outcome);
  EXPECT_EQ(parts.outcomes(),
            (std::vector{Outcome::Succeeded, Outcome::Failed, Outcome::Cancelled, Outcome::Returned}));
  const WorkerCounters& counters = parts.tables.counters;
  EXPECT_EQ(counters.succeeded + counters.failed + counters.cancelled + counters.returned, 4U);
  EXPECT_EQ(counters.failed, 1U);
}

TEST(Reporter, AnotherJobOfTheSameNumberGetsAllItsAssignmentsBack) {
  WorkerParts parts;
  AssignBatch batch;
  batch.job = JobId{1};
  batch.identity = JobIdentity{3, 4};
  batch.assignments.resize(2);
  parts.reports.reporter.give_back(batch);
  EXPECT_EQ(parts.outcomes(), (std::vector{Outcome::Returned, Outcome::Returned}));
  EXPECT_EQ(parts.tables.counters.stale, 1U);
  EXPECT_EQ(parts.tables.subtasks.live(), 0U);
}

TEST(Reporter, ALoadFollowsAChangeInTimeAndSoonerIfItIsUrgent) {
  WorkerParts parts;
  Reporter& reporter = parts.reports.reporter;
  EXPECT_EQ(reporter.deadline(), kNever);
  reporter.expect_load();
  const Instant first = reporter.deadline();
  EXPECT_EQ(first, parts.event.now + parts.config.load_report_every);
  parts.pass(std::chrono::milliseconds{1});
  reporter.expect_load();
  EXPECT_EQ(reporter.deadline(), first) << "the first change counts";
  reporter.hurry_load();
  EXPECT_EQ(reporter.deadline(), parts.event.now + parts.config.report_after);
  EXPECT_FALSE(reporter.load_due());
  parts.pass(parts.config.report_after);
  EXPECT_TRUE(reporter.load_due());
}

TEST(Reporter, ReportsAreRepeatedUntilTheyAreApplied) {
  WorkerParts parts;
  Reporter& reporter = parts.reports.reporter;
  reporter.report(parts.record(parts.add(0)), Outcome::Succeeded);
  EXPECT_EQ(parts.outcomes().size(), 1U);
  reporter.repeat_all();
  EXPECT_EQ(parts.take<SendReport>().size(), 1U);
  std::vector<FinishedAttempt> finished;
  reporter.applied(1, finished);
  EXPECT_EQ(finished.size(), 1U);
  reporter.repeat_all();
  EXPECT_EQ(parts.take<SendReport>().size(), 0U);
}

}  // namespace
}  // namespace penstock::worker
