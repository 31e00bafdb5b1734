// tidy: foreign-file agents, tasks, task, scheduler
#include "tools/policy/command_policy_schedule.hpp"

#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
namespace {

std::string case_of(const std::string& tasks, const std::string& steps, const std::string& more = "") {
  return R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "schedule",
      "scheduler": {"type": "priority", "preemption": true}, 
      "agents": [{"id": "a", "slots": 2}, {"id": "b", "slots": 2}],
      "groups": [{"id": "low", "priority": 50}, {"id": "high", "priority": 42}], )" +
         more + R"("tasks": [)" + tasks + R"(], "steps": [)" + steps + "]}";
}

bool is_live(const std::string& text) {
  const Result<cli::DocumentValue> file = cli::parse_document(text, cli::DocumentFormat::Json, "case.json", 16);
  return file && runs_as_jobs(*file);
}

constexpr const char* kHeld = R"({"id": "held", "job": "low", "slots": 2, "submitted": 1, "running_on": "b"})";
constexpr const char* kWide = R"({"id": "wide", "job": "high", "slots": 4, "submitted": 2})";

TEST(PolicyScheduleCases, AVictimLeavesBeforeTheJobThatNeedsItsSlotsStarts) {
  const std::string text = case_of(std::string{kHeld} + ", " + kWide, R"(
      {"op": "check_empty_slots", "expect": {"a": 2, "b": 0}},
      {"op": "schedule", "expect": {"to_allocate": [], "to_release": ["held"]}},
      {"op": "preempted_exit", "tasks": "released"},
      {"op": "schedule", "expect": {"to_allocate": ["wide"], "to_release": []}},
      {"op": "apply_allocations"}, {"op": "check_empty_slots", "expect": {"a": 0, "b": 0}},
      {"op": "finish_tasks", "tasks": ["wide"]},
      {"op": "schedule", "expect": {"to_allocate": ["held"], "to_release": []}})");
  ASSERT_TRUE(is_live(text));
  EXPECT_EQ(told_of(text), "");
}

TEST(PolicyScheduleCases, ADifferenceIsTold) {
  const std::string starts = R"({"op": "schedule", "expect": {"to_allocate": [], "to_release_count": 1}})";
  expect_told(case_of(kWide, starts), "step 1, to_allocate: expected [], got [wide]");
  expect_told(case_of(kWide, starts), "step 1, to_release: expected 1, got 0");
  expect_told(case_of(kWide, R"({"op": "preempted_exit", "tasks": ["wide"]}, )" + starts), "'wide' does not run");
  expect_told(case_of(kWide, R"({"op": "finish_tasks", "tasks": ["none"]}, )" + starts), "'none' does not run");
  expect_told(case_of(kWide, R"({"op": "finish_tasks", "tasks": ["wide"]}, )" + starts),
              "to_release: expected 1, got 0");
  EXPECT_EQ(
      told_of(case_of(
          kWide, R"({"op": "finish_tasks", "tasks": ["wide"]}, {"op": "schedule", "expect": {"to_allocate": []}})")),
      "")
      << "a job that waits is cancelled";
  expect_told(case_of(std::string{kWide} + ", " + kWide, starts), "two tasks are called 'wide'");
  const std::string crowd = R"({"id": "second", "job": "low", "slots": 1, "submitted": 1, "running_on": "b"})";
  expect_told(case_of(std::string{kHeld} + ", " + crowd, starts), "'second' does not run at the beginning");
}

TEST(PolicyScheduleCases, OperatorsMoveJobsToTheirPositions) {
  const auto told_with = [](const std::string& positions, const std::string& released) {
    const std::string tasks = R"({"id": "1", "job": "high", "slots": 2, "submitted": 1, "running_on": "b"},
        {"id": "2", "job": "of the same priority", "slots": 4, "submitted": 2})";
    const std::string pass = R"({"op": "schedule", "expect": {"to_allocate": [], "to_release": [)" + released + "]}}";
    const std::string text = case_of(tasks, pass, R"("queue_positions": )" + positions + ", ");
    EXPECT_TRUE(is_live(text));
    return told_of(text);
  };
  EXPECT_EQ(told_with("{}", ""), "");
  EXPECT_EQ(told_with(R"({"high": 1, "of the same priority": 2})", ""), "");
  EXPECT_EQ(told_with(R"({"high": 2.5, "of the same priority": "1.5"})", R"("1")"), "");
}

TEST(PolicyScheduleCases, WhatJobsCannotSayIsNotLive) {
  const std::string pass = R"({"op": "schedule", "expect": {}})";
  EXPECT_TRUE(is_live(case_of(kWide, pass)));
  EXPECT_FALSE(is_live(case_of(kWide, pass, R"("queue_positions": {"low": 3}, )"))) << "a job without tasks";
  EXPECT_FALSE(is_live(case_of(R"({"id": "light", "job": "low", "slots": 0})", pass)));
  EXPECT_FALSE(is_live(case_of(R"({"id": "vast", "job": "low", "slots": 5})", pass))) << "more than all agents";
  EXPECT_FALSE(is_live(case_of(kWide, R"({"op": "set_priority", "job": "low", "priority": 3})")));
}

}  // namespace
}  // namespace penstock::tools
