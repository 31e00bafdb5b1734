#include "cli/show/job_report.hpp"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

using namespace std::chrono_literals;

client::JobView ended(JobState state) {
  client::JobView view;
  view.id = JobId{3};
  view.state = state;
  view.counts.total = 10;
  view.counts.succeeded = 8;
  view.counts.failed = 1;
  view.counts.cancelled = 1;
  view.counts.attempts = 12;
  view.counts.forward_hits = 4;
  view.counts.forward_misses = 2;
  view.counts.run_us = 1'500'000;
  return view;
}

SubtaskFailure failure() {
  SubtaskFailure failed;
  failed.subtask = SubtaskIndex{7};
  failed.name = "sum";
  failed.history = {"attempt 1 on w1: exit code 3", "attempt 2 on w2: exit code 3"};
  failed.last.failure = FailureClass::UserError;
  failed.last.exit_code = 3;
  failed.last.message = "exit code 3";
  failed.last.output_tail = "line 1\nline 2";
  return failed;
}

TEST(JobReport, HasTheFieldsThatScriptsRelyOn) {
  ScheduleBounds bounds;
  bounds.critical_path = 2s;
  bounds.lower_bound = 3s;
  bounds.list_schedule = 4s;
  const Value end = describe_end(ended(JobState::Succeeded), 2500ms, bounds);
  EXPECT_EQ(end["job"], Value{"job-3"});
  EXPECT_EQ(end["state"], Value{"succeeded"});
  EXPECT_EQ(end["subtasks"], Value{10});
  EXPECT_EQ(end["succeeded"], Value{8});
  EXPECT_EQ(end["failed"], Value{1});
  EXPECT_EQ(end["cancelled"], Value{1});
  EXPECT_EQ(end["attempts"], Value{12});
  EXPECT_EQ(end["forward_hits"], Value{4});
  EXPECT_EQ(end["forward_misses"], Value{2});
  EXPECT_EQ(end["makespan_s"], Value{2.5});
  EXPECT_EQ(end["work_s"], Value{1.5});
  EXPECT_EQ(end["critical_path_s"], Value{2.0});
  EXPECT_EQ(end["lower_bound_s"], Value{3.0});
  EXPECT_EQ(end["list_schedule_s"], Value{4.0});
  EXPECT_TRUE(end["error"].is_null());
  EXPECT_TRUE(end["failures"].is_null());
}

TEST(JobReport, WithoutAGraphThereAreNoBounds) {
  EXPECT_TRUE(describe_end(ended(JobState::Succeeded), 1s, std::nullopt)["lower_bound_s"].is_null());
}

TEST(JobReport, TellsEachFailureWithItsHistory) {
  client::JobView view = ended(JobState::Failed);
  view.error = {ErrorCode::UserError, "night", "has failed", {}};
  view.failures = {failure()};
  const Value end = describe_end(view, 1s, std::nullopt);
  EXPECT_EQ(end["error"], Value{"night: has failed"});
  ASSERT_NE(end["failures"].list(), nullptr);
  const Value& told = end["failures"].list()->front();
  EXPECT_EQ(told["key"], Value{"sum"});
  EXPECT_EQ(told["exit_code"], Value{3});
  EXPECT_EQ(told["history"].list()->size(), 2U);
  EXPECT_EQ(without_failures(end), describe_end(ended(JobState::Failed), 1s, std::nullopt));
  EXPECT_EQ(describe_failures(view),
            "failed: 'sum': exit code 3\n"
            "    attempt 1 on w1: exit code 3\n"
            "    attempt 2 on w2: exit code 3\n"
            "    the end of its output:\n"
            "    | line 1\n"
            "    | line 2\n"
            "night: has failed\n");
}

TEST(JobReport, ANamelessSubtaskIsToldByItsNumber) {
  client::JobView view = ended(JobState::Failed);
  view.failures = {failure()};
  view.failures[0].name.clear();
  view.failures[0].history.clear();
  view.failures[0].last.output_tail.clear();
  EXPECT_EQ(describe_failures(view), "failed: subtask 7: exit code 3\n");
}

// Programs choose what stands in their output; the terminal of the report's reader is not theirs.
TEST(JobReport, OutputOfProgramsCannotWriteToTheTerminal) {
  client::JobView view = ended(JobState::Failed);
  view.failures = {failure()};
  view.failures[0].last.output_tail = "red \x1b[31m\r\n\ttab\n";
  const std::string text = describe_failures(view);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_NE(text.find("    | red ?[31m?\n    | \ttab\n"), std::string::npos) << text;
}

TEST(JobReport, WithoutFailuresNothingIsTold) { EXPECT_EQ(describe_failures(ended(JobState::Succeeded)), ""); }

}  // namespace
}  // namespace penstock::cli
