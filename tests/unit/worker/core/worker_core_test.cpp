#include "worker/core/worker_core.hpp"

#include "tests/support/worker_harness.hpp"

namespace penstock::worker {
namespace {

TEST(WorkerCoreDoor, AnIdleWorkerNeedsNoTick) {
  WorkerHarness worker;
  EXPECT_EQ(worker.core().next_deadline(), std::nullopt);
  worker.assign({{.subtask = 0}});
  EXPECT_TRUE(worker.core().next_deadline().has_value());
  EXPECT_EQ(worker.started(), std::vector{0U});
  worker.ignore();
}

TEST(WorkerCoreDoor, AnEventCausesEverythingThatFollowsFromIt) {
  WorkerHarness worker;
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2, .missing = {0}}});
  EXPECT_EQ(worker.started(), std::vector{0U});
  worker.succeed(0);
  EXPECT_EQ(worker.started(), std::vector{1U}) << "the slot is used at once";
  worker.succeed(1);
  EXPECT_EQ(worker.started(), std::vector{2U}) << "its producer has ended";
  worker.succeed(2);
  EXPECT_EQ(worker.core().live_records(), 0U);
  worker.ignore();
}

TEST(WorkerCoreDoor, MessagesForTheShellChangeNothing) {
  WorkerHarness worker;
  worker.receive(RegisterReply{WorkerId{3}});
  worker.receive(LogQuestion{});
  worker.receive(PeerAddressBatch{});
  EXPECT_EQ(worker.core().next_deadline(), std::nullopt);
}

/// The one report that follows the claims when the supervisor has been started again.
ReportBatch told_to_the_next_life(WorkerHarness& worker) {
  worker.handle(worker_event::SupervisorReturned{});
  worker.ignore();
  worker.tick_after(WorkerConfig{}.report_after);
  std::vector<worker_action::SendReport> reports = worker.take<worker_action::SendReport>();
  EXPECT_EQ(reports.size(), 1U);
  return reports.empty() ? ReportBatch{} : std::move(reports.front().batch);
}

// Found by a trial: a supervisor that was started again showed a busy worker as idle until something changed there.
TEST(WorkerCoreDoor, TheNextLifeOfTheSupervisorIsToldTheLoadThoughNothingChanges) {
  WorkerHarness worker;
  worker.assign({{.subtask = 0}, {.subtask = 1}});
  worker.tick_after(std::chrono::seconds{10});
  worker.ignore();
  worker.tick_after(std::chrono::seconds{10});
  EXPECT_EQ(worker.take<worker_action::SendReport>().size(), 0U) << "all is told";
  const ReportBatch told = told_to_the_next_life(worker);
  ASSERT_EQ(told.loads.size(), 1U);
  EXPECT_EQ(told.loads[0].running, 1U);
  EXPECT_EQ(told.loads[0].ready + told.loads[0].queued, 1U);
  EXPECT_TRUE(told.counters.any());
  worker.ignore();
}

// The last load may have been on its way when the supervisor died.
TEST(WorkerCoreDoor, TheNextLifeOfTheSupervisorHearsThatNothingRunsAnyMore) {
  WorkerHarness worker;
  worker.assign({{.subtask = 0}});
  worker.started();
  worker.succeed(0);
  worker.tick_after(std::chrono::seconds{10});
  const ReportBatch told = told_to_the_next_life(worker);
  ASSERT_EQ(told.loads.size(), 1U);
  EXPECT_EQ(told.loads[0].running, 0U);
  EXPECT_EQ(worker.core().next_deadline(), std::nullopt) << "an idle worker has said all";
  worker.ignore();
}

TEST(WorkerCoreDoor, ADatumIsShownUntilItsJobIsForgotten) {
  WorkerHarness worker;
  EXPECT_EQ(worker.core().first_datum(), "");
  worker.assign({{.subtask = 0}});
  worker.succeed(0, {{0, 10}});
  const DataKey key{{JobId{1}, SubtaskIndex{0}}, 0};
  EXPECT_EQ(worker.core().first_datum(), to_string(key));
  ASSERT_NE(worker.core().find_datum(key), nullptr);
  worker.receive(ForgetJob{JobId{1}});
  EXPECT_EQ(worker.core().find_datum(key), nullptr);
  EXPECT_EQ(worker.core().job_count(), 0U);
  worker.ignore();
}

TEST(WorkerCoreDoor, LanesAndMemoryOfAnUnknownBandAreIgnored) {
  WorkerHarness worker;
  worker.handle(worker_event::LanesRestarted{BandIndex{7}, {}});
  worker.handle(worker_event::MemoryMeasured{BandIndex{7}, Bytes{1}, RunnerKind::Command, {}});
  EXPECT_EQ(worker.core().counters().relief_steps, 0U);
}

}  // namespace
}  // namespace penstock::worker
