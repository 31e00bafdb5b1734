// Runs with `overlap = "never"` end when the supervisor has not heard their worker for too long.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/worker_harness.hpp"

namespace penstock::worker {
namespace {

using List = std::vector<std::uint32_t>;
using Lines = std::vector<std::string>;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Template 0 may overlap, template 1 must not.
class OverlapTest : public ::testing::Test {
 protected:
  OverlapTest() {
    for (const std::uint32_t each : {0U, 1U}) worker.template_at(each).runner = RunnerKind::Command;
    worker.template_at(1).overlap = Overlap::Never;
  }
  void heard(Duration ago = Duration{0}) { worker.handle(worker_event::SupervisorHeard{worker.now() - ago}); }
  /// Attempts that are to be killed, and nothing gentler.
  List killed() {
    List list;
    for (const worker_action::StopRun& stop : worker.take<worker_action::StopRun>()) {
      EXPECT_TRUE(stop.kill);
      list.push_back(stop.record.value());
    }
    return list;
  }
  std::optional<Instant> deadline() { return worker.core().next_deadline(); }

  WorkerHarness worker{2};
};

TEST_F(OverlapTest, ARunIsKilledWhenTheSupervisorHasNotHeardItsWorkerForTooLong) {
  heard();
  worker.assign({{.subtask = 0, .template_index = 0}, {.subtask = 1, .template_index = 1}});
  EXPECT_EQ(worker.started(), (List{0, 1}));
  worker.tick_after(seconds{10} - milliseconds{1});
  EXPECT_EQ(killed(), List{});
  PENSTOCK_EXPECT_COVERAGE_MARK("a run was killed because its worker was cut off", worker.tick_after(milliseconds{1}));
  EXPECT_EQ(killed().size(), 1U) << "the other may overlap";
  worker.fail(1, FailureClass::RunnerCrash);
  worker.ignore();
  worker.succeed(0);
  EXPECT_EQ(worker.reports(), Lines{"0 Succeeded"});
  worker.ignore();
}

TEST_F(OverlapTest, WhatCountsIsWhenItWasSentAndNotWhenItCameBack) {
  heard();
  worker.assign({{.subtask = 1, .template_index = 1}});
  worker.started();
  worker.tick_after(seconds{9});
  heard(seconds{4});
  worker.tick_after(seconds{6} - milliseconds{1});
  EXPECT_EQ(killed(), List{});
  EXPECT_EQ(deadline(), worker.now() + milliseconds{1});
  worker.tick_after(milliseconds{1});
  EXPECT_EQ(killed().size(), 1U);
  worker.ignore();
}

// The kill is no fault of the subtask, and whatever the killed run says, it is not told as a failure of its own.
TEST_F(OverlapTest, WhatWasKilledIsReportedAsLost) {
  heard();
  worker.assign({{.subtask = 1, .template_index = 1}});
  worker.started();
  worker.tick_after(seconds{10});
  killed();
  worker.reports();
  worker.fail(1, FailureClass::UserError);
  const std::vector<FailureDetail> failures = worker.failures();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].failure, FailureClass::WorkerLost);
  EXPECT_NE(failures[0].message.find("cut off"), std::string::npos);
  worker.ignore();
}

TEST_F(OverlapTest, NothingOfItStartsWhileItsWorkerIsCutOff) {
  heard();
  worker.assign({{.subtask = 0, .template_index = 0}, {.subtask = 2, .template_index = 0}});
  worker.assign({{.subtask = 1, .template_index = 1}, {.subtask = 3, .missing = {0}, .template_index = 1}});
  EXPECT_EQ(worker.started(), (List{0, 2}));
  worker.reports();
  worker.tick_after(seconds{10});
  EXPECT_EQ(killed(), List{});
  worker.tick_after(seconds{1});
  worker.assign({{.subtask = 4, .template_index = 1}});
  EXPECT_EQ(worker.started(), List{});
  worker.tick_after(seconds{1});
  const Lines reports = worker.reports();
  for (const char* line : {"1 Returned", "3 Returned", "4 Returned"})
    EXPECT_NE(std::find(reports.begin(), reports.end(), line), reports.end()) << line;
  heard();
  worker.succeed(0);
  worker.assign({{.subtask = 5, .template_index = 1}});
  EXPECT_EQ(worker.started(), List{5}) << "it is heard again";
  worker.ignore();
}

// A subtask that an event after the deadline would start is not started, though no tick has come before the event.
TEST_F(OverlapTest, AnEventThatComesAfterTheDeadlineStartsNothing) {
  heard(seconds{11});
  worker.assign({{.subtask = 1, .template_index = 1}});
  EXPECT_EQ(worker.started(), List{});
  worker.ignore();
}

TEST_F(OverlapTest, InOneProcessWithItsSupervisorNobodyIsCutOff) {
  worker.assign({{.subtask = 1, .template_index = 1}});
  EXPECT_EQ(worker.started(), List{1});
  worker.tick_after(seconds{3600});
  EXPECT_EQ(killed(), List{});
  worker.ignore();
}

TEST(Overlap, WithoutSuchRunsNothingHasToBeLookedAt) {
  WorkerHarness worker;
  worker.handle(worker_event::SupervisorHeard{worker.now()});
  worker.assign({{.subtask = 0}});
  worker.succeed(0);
  for (int i = 0; i < 3; ++i) worker.tick_after(seconds{1});
  worker.ignore();
  EXPECT_EQ(worker.core().next_deadline(), std::nullopt);
}

}  // namespace
}  // namespace penstock::worker
