// The claims that a worker makes to the next incarnation of its supervisor.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/worker_harness.hpp"

namespace penstock::worker {
namespace {

/// Comes back to a supervisor that has forgotten it; what it claims.
WorkerClaim reclaim(WorkerHarness& worker) {
  PENSTOCK_EXPECT_COVERAGE_MARK("a worker goes on under another life of the supervisor",
                                worker.handle(worker_event::SupervisorReturned{}));
  EXPECT_EQ(worker.take<worker_action::Reclaim>().size(), 1U);
  const auto claims = worker.take<worker_action::SendClaim>();
  EXPECT_EQ(claims.size(), 1U);
  return claims.empty() ? WorkerClaim{} : claims.back().claim;
}

std::vector<std::string> stages(const WorkerClaim& claim) {
  std::vector<std::string> lines;
  for (const ClaimedJob& job : claim.jobs)
    for (const ClaimedAttempt& attempt : job.attempts)
      lines.push_back(to_string(SubtaskId{job.job, attempt.subtask}, attempt.attempt) + " " +
                      (attempt.stage == ClaimedStage::Running   ? "running"
                       : attempt.stage == ClaimedStage::Waiting ? "waiting"
                                                                : "queued"));
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(Claim, NamesWhatRunsIsQueuedAndWaits) {
  WorkerHarness worker;
  worker.assign({{.subtask = 0, .attempt = 2}, {.subtask = 1}, {.subtask = 2, .missing = {7}}});
  EXPECT_EQ(worker.started(), std::vector<std::uint32_t>{0});
  const WorkerClaim claim = reclaim(worker);
  EXPECT_TRUE(claim.last);
  EXPECT_FALSE(claim.draining);
  EXPECT_EQ(stages(claim), (std::vector<std::string>{"1:0#2 running", "1:1#1 queued", "1:2#1 waiting"}));
  worker.ignore();
}

TEST(Claim, SaysAgainWhatIsNotKnownToBeAppliedBeforeItClaims) {
  WorkerHarness worker;
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}});
  worker.started();
  worker.succeed(0);
  EXPECT_EQ(worker.reports(), std::vector<std::string>{"0 Succeeded"});
  worker.receive(ReportsApplied{1});
  worker.started();
  worker.succeed(1, {{0, 50}});
  EXPECT_EQ(worker.reports(), std::vector<std::string>{"1 Succeeded"});
  worker.started();
  worker.fail(2);
  EXPECT_EQ(worker.reports(), std::vector<std::string>{"2 Failed"});
  worker.handle(worker_event::SupervisorReturned{});
  std::vector<ReportBatch> again;
  for (const auto& report : worker.take<worker_action::SendReport>()) again.push_back(report.batch);
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].number, 2U);
  EXPECT_EQ(again[0].jobs.at(0).outputs, (std::vector<OutputReport>{{0, 50}}));
  EXPECT_EQ(again[1].jobs.at(0).failures.at(0).message, "broken");
  worker.ignore();
}

TEST(Claim, NamesTheDataThatAreHere) {
  WorkerHarness worker;
  worker.assign({{.subtask = 3}});
  worker.started();
  worker.succeed(3, {{1, 70}, {0, 50}});
  worker.ignore();
  const WorkerClaim claim = reclaim(worker);
  ASSERT_EQ(claim.jobs.size(), 1U);
  EXPECT_EQ(claim.jobs[0].data, (std::vector<ClaimedDatum>{{SubtaskIndex{3}, 0, 50}, {SubtaskIndex{3}, 1, 70}}));
  worker.ignore();
}

// Else it would be made again, and the file would stay for ever.
TEST(Claim, NamesTheDataThatAreOnDiskToo) {
  WorkerConfig config;
  config.store_bytes_max = Bytes{1000};
  WorkerHarness worker{1, kGiB, config};
  for (const std::uint32_t i : {0U, 1U}) {
    worker.assign({{.subtask = i}});
    worker.started();
    worker.succeed(i, {{0, 500}});
  }
  const auto spills = worker.take<worker_action::SpillDatum>();
  ASSERT_FALSE(spills.empty());
  worker.handle(worker_event::DatumSpilled{spills.front().key, true});
  worker.ignore();
  const WorkerClaim claim = reclaim(worker);
  ASSERT_EQ(claim.jobs.size(), 1U);
  EXPECT_EQ(claim.jobs[0].data, (std::vector<ClaimedDatum>{{SubtaskIndex{0}, 0, 500}, {SubtaskIndex{1}, 0, 500}}));
  worker.ignore();
}

TEST(Claim, OfAWorkerThatDrainsSaysSo) {
  WorkerHarness worker;
  worker.receive(Drain{true});
  worker.ignore();
  EXPECT_TRUE(reclaim(worker).draining);
  EXPECT_EQ(worker.take<worker_action::SendDrainState>().size(), 1U);
}

TEST(Claim, OfManySubtasksComesInParts) {
  WorkerHarness worker;
  std::vector<SubtaskSpec> many(40000);
  for (std::uint32_t i = 0; i < many.size(); ++i) many[i].subtask = i;
  worker.assign(many);
  PENSTOCK_EXPECT_COVERAGE_MARK("a claim has several parts", worker.handle(worker_event::SupervisorReturned{}));
  const auto claims = worker.take<worker_action::SendClaim>();
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_FALSE(claims[0].claim.last);
  EXPECT_TRUE(claims[1].claim.last);
  EXPECT_EQ(claims[0].claim.jobs.at(0).attempts.size() + claims[1].claim.jobs.at(0).attempts.size(), 40000U);
  worker.ignore();
}

TEST(Claim, AFencedAttemptEndsAloneAndWhatWaitsForItsResultGoesOnWaiting) {
  WorkerHarness worker;
  worker.assign({{.subtask = 0}, {.subtask = 1, .missing = {0}}});
  worker.started();
  worker.receive(CancelBatch{JobId{1}, false, {{SubtaskIndex{0}, Attempt{1}}}, Duration{0}, true});
  EXPECT_EQ(worker.take<worker_action::StopRun>().size(), 1U);
  worker.fail(0);
  EXPECT_EQ(worker.reports(), std::vector<std::string>{"0 Cancelled"});
  worker.receive(InputNoticeBatch{JobId{1}, {{SubtaskIndex{0}, EdgeKind::kOrderOnly, WorkerId{9}, 0}}});
  EXPECT_EQ(worker.started(), std::vector<std::uint32_t>{1});
}

}  // namespace
}  // namespace penstock::worker
