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
  expect_told(case_of(kWide, R"({"op": "finish_tasks", "tasks": ["none"]}, )" + starts), "there is no task 'none'");
  expect_told(case_of(kWide, R"({"op": "finish_tasks", "tasks": ["wide"]}, )" + starts),
              "to_release: expected 1, got 0");
  EXPECT_EQ(
      told_of(case_of(
          kWide, R"({"op": "finish_tasks", "tasks": ["wide"]}, {"op": "schedule", "expect": {"to_allocate": []}})")),
      "")
      << "a job that waits is cancelled";
  expect_told(case_of(std::string{kWide} + ", " + kWide, starts), "two tasks are called 'wide'");
  const std::string away = R"({"id": "away", "job": "low", "slots": 1, "submitted": 1, "running_on": "c"})";
  expect_told(case_of(away, starts), "'away' does not run at the beginning");
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

/// Two jobs of one task each, by priority.
std::string two_jobs(const std::string& positions, const std::string& steps, int slots = 1) {
  return R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "schedule", "scheduler": {"type": "priority"},
      "agents": [{"id": "a", "slots": )" +
         std::to_string(slots) + R"(}], "groups": [{"id": "g1"}, {"id": "g2"}], "queue_positions": )" + positions +
         R"(, "tasks": [{"id": "t1", "job": "g1", "slots": 1, "submitted": 1},
                {"id": "t2", "job": "g2", "slots": 1, "submitted": 2}], "steps": [)" +
         steps + "]}";
}

constexpr const char* kSecondStarts = R"({"op": "schedule", "expect": {"to_allocate": ["t2"]}})";

TEST(PolicyScheduleCases, PositionsInMicrosecondsAreToldApart) {
  const auto second_starts = [](const std::string& positions) { return told_of(two_jobs(positions, kSecondStarts)); };
  EXPECT_EQ(second_starts(R"({"g1": "1640995200000005", "g2": "1640995200000000"})"), "");
  EXPECT_EQ(second_starts(R"({"g1": 1640995200000005, "g2": 1640995200000000.5})"), "");
  EXPECT_EQ(second_starts(R"({"g1": "0.0000000002", "g2": "0.0000000001"})"), "");
  EXPECT_NE(second_starts(R"({"g1": "0.0000000001", "g2": "0.0000000002"})"), "");
  expect_told(two_jobs(R"({"g1": "first"})", kSecondStarts), "the position 'first' is no number");
  for (const char* other : {R"("other")", R"(["g2", "g1"])", "5"})
    expect_told(two_jobs(other, kSecondStarts), "positions must be a table of jobs");
}

TEST(PolicyScheduleCases, SubmissionTimesAndPositionsAreOfOneScale) {
  const auto moved_to = [&](const std::string& position) {
    return told_of(two_jobs(R"("submission_time")",
                            R"({"op": "set_positions", "positions": {"g2": ")" + position + "\"}}, " + kSecondStarts));
  };
  EXPECT_EQ(moved_to("0.5"), "");
  EXPECT_NE(moved_to("1.5"), "");
}

// Spec: policy-determined 5.6.
TEST(PolicyScheduleCases, ANewPriorityPutsAJobBackToItsSubmission) {
  const std::string set = R"({"op": "set_priority", "job": "g1", "priority": 41},
      {"op": "set_priority", "job": "g1", "priority": 42}, )";
  const std::string first_starts = R"({"op": "schedule", "expect": {"to_allocate": ["t1"]}})";
  EXPECT_EQ(told_of(two_jobs(R"({"g1": 1.5, "g2": 0.5})", kSecondStarts)), "");
  EXPECT_EQ(told_of(two_jobs(R"({"g1": 1.5, "g2": 0.5})", set + first_starts)), "");
  const std::string more = R"({"op": "set_priority", "job": "g2", "priority": 41}, )";
  EXPECT_EQ(told_of(two_jobs("{}", more + kSecondStarts)), "");
  expect_told(two_jobs("{}", R"({"op": "set_priority", "job": "g3", "priority": 41}, )" + first_starts),
              "there is no job 'g3'");
  expect_told(two_jobs("{}", R"({"op": "set_priority", "job": "g2"}, )" + first_starts), "there is no `priority`");
}

// A step with nulls alone compared nothing with nothing.
TEST(PolicyScheduleCases, NullsAloneCompareNothing) {
  const std::string nulls =
      R"("to_allocate": null, "to_release": null, "to_allocate_by_group": {"g1": null, "g2": null})";
  const auto schedule = [](const std::string& expect) {
    return two_jobs("{}", R"({"op": "schedule", "expect": {)" + expect + "}}", 6);
  };
  expect_told(schedule(nulls), "nothing to compare with");
  expect_told(schedule(R"("to_allocate_by_group": {"g1": null})"), "expected [], got [g2 1]");
  expect_told(schedule(R"("to_allocate_by_group": {})"), "expected [], got [g1 1, g2 1]");
}

TEST(PolicyScheduleCases, WholeNumbersMayHaveAFraction) {
  const auto told = [](const std::string& groups, const std::string& left) {
    return told_of(two_jobs("{}",
                            R"({"op": "schedule", "expect": {"to_allocate_by_group": )" + groups +
                                R"(}}, {"op": "apply_allocations"}, {"op": "check_empty_slots", "expect": {"a": )" +
                                left + "}}",
                            6));
  };
  EXPECT_EQ(told(R"({"g1": 1.0, "g2": 1.0})", "4.0"), "");
  EXPECT_EQ(told(R"({"g1": 1, "g2": null})", "4"), "");
  EXPECT_NE(told(R"({"g1": 1.0, "g2": 0.0})", "4.0"), "");
  EXPECT_NE(told(R"({"g1": 1.0, "g2": 1.0})", "0.0"), "");
}

TEST(PolicyScheduleCases, AQueueIsAsOperatorsSeeIt) {
  const std::string pass = R"({"op": "schedule", "expect": {}}, )";
  const auto queue = [&](const std::string& jobs, const std::string& more = "") {
    return two_jobs("{}", pass + R"({"op": "job_queue", "expect": {"jobs": {)" + jobs + "}" + more + "}}");
  };
  EXPECT_EQ(told_of(queue(R"("g1": {"state": "scheduled", "allocated": 1, "requested": 1, "jobs_ahead": 0},
                            "g2": {"state": "queued", "allocated": 0, "jobs_ahead": 1})",
                          R"(, "count": 2)")),
            "");
  expect_told(queue(R"("g2": {"state": "scheduled"})"), "g2: expected scheduled, got queued");
  expect_told(queue(R"("g2": {"jobs_ahead": 0})"), "g2 jobs_ahead: expected 0, got 1");
  expect_told(queue(R"("g1": {"allocated": 0})"), "g1 allocated: expected 0, got 1");
  expect_told(queue(R"("g1": {"jobs_ahead": 0})", R"(, "count": 3)"), "count: expected 3, got 2");
  expect_told(queue(R"("g3": {"state": "queued"})"), "there is no job 'g3'");
  expect_told(two_jobs("{}", pass + R"({"op": "queue_counts", "expect": {"queued": 2, "scheduled": 1}})"),
              "queued: expected 2, got 1");
}

/// Three jobs that share two slots.
std::string shared(const std::string& first, const std::string& steps) {
  return R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "schedule", "scheduler": {"type": "fair_share"},
      "agents": [{"id": "a", "slots": 1, "max_zero_slot": 1}, {"id": "b", "slots": 1, "max_zero_slot": 0}],
      "groups": [{"id": "g1"}, {"id": "g2", "max_slots": 1}],
      "tasks": [{"id": "first", "job": "g1", "submitted": 1, )" +
         first + R"(}, {"id": "second", "job": "g2", "slots": 1, "submitted": 2, "running_on": "b"},
      {"id": "third", "job": "g2", "slots": 1, "submitted": 3}], "steps": [)" +
         steps + "]}";
}

TEST(PolicyScheduleCases, AGroupKeepsItsLimitAndABlockedAgentIsAvoided) {
  const std::string first_starts = R"({"op": "schedule", "expect": {"to_allocate": ["first"], "to_release": []}})";
  const std::string none_starts = R"({"op": "schedule", "expect": {"to_allocate": [], "to_release": []}})";
  EXPECT_EQ(told_of(shared(R"("slots": 1)", first_starts)), "");
  EXPECT_EQ(told_of(shared(R"("slots": 1, "blocked_agents": ["a"])", none_starts)), "") << "the older has the slot";
  EXPECT_EQ(told_of(shared(R"("slots": 1, "blocked_agents": ["a", "b"])", none_starts)), "");
  EXPECT_EQ(told_of(shared(R"("slots": 1, "label": "none has it")", none_starts)), "");
}

TEST(PolicyScheduleCases, ATaskWithoutSlotsTakesAPlaceForSuch) {
  const std::string passes = R"({"op": "schedule", "expect": {"to_allocate": ["first"]}}, {"op": "add_tasks",
      "tasks": [{"id": "fourth", "job": "g1", "slots": 0, "submitted": 4}]},
      {"op": "schedule", "expect": {"to_allocate": []}}, {"op": "apply_allocations"},
      {"op": "check_empty_slots", "expect": {"a": 1, "b": 0}}, {"op": "finish_tasks", "tasks": ["first"]},
      {"op": "schedule", "expect": {"to_allocate": ["fourth"]}})";
  EXPECT_EQ(told_of(shared(R"("slots": 0)", passes)), "");
}

TEST(PolicyScheduleCases, AnOperatorSetsTheWeightOfAGroup) {
  std::string tasks;
  for (const char* group : {"g1", "g2"})
    for (int i = 0; i < 8; ++i)
      tasks += (tasks.empty() ? "" : ", ") + (R"({"id": ")" + std::string{group}) + "." + std::to_string(i) +
               R"(", "slots": 1, "job": ")" + group + R"("})";
  const auto text = [&](const std::string& released) {
    return R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "schedule",
        "scheduler": {"type": "fair_share"}, "agents": [{"id": "a", "slots": 8}],
        "groups": [{"id": "g1"}, {"id": "g2"}], "tasks": [)" +
           tasks + R"(], "steps": [{"op": "schedule", "expect": {"to_allocate_by_group": {"g1": 4, "g2": 4}}},
        {"op": "set_weight", "job": "g1", "weight": 3},
        {"op": "schedule", "expect": {"to_release_by_group": {)" +
           released + "}}}]}";
  };
  EXPECT_EQ(told_of(text(R"("g2": 2)")), "");
  EXPECT_NE(told_of(text("")), "");
}

TEST(PolicyScheduleCases, AnAgentMayDrainOrBeAway) {
  const auto told = [](const std::string& first, const std::string& started) {
    return told_of(R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "schedule",
        "scheduler": {"type": "priority"}, "agents": [{"id": "a", "slots": 1, )" +
                   first + R"(}, {"id": "b", "slots": 1}],
        "tasks": [{"id": "1", "job": "g", "slots": 1, "submitted": 1},
                  {"id": "2", "job": "h", "slots": 1, "submitted": 2}],
        "steps": [{"op": "schedule", "expect": {"to_allocate": [)" +
                   started + "]}}]}");
  };
  EXPECT_EQ(told(R"("draining": false)", R"("1", "2")"), "");
  EXPECT_EQ(told(R"("draining": true)", R"("1")"), "");
  EXPECT_EQ(told(R"("enabled": false)", R"("1")"), "");
}

TEST(PolicyScheduleCases, ATaskLargerThanAllAgentsIsNoJob) {
  const std::string pass = R"({"op": "schedule", "expect": {}})";
  EXPECT_TRUE(is_live(case_of(kWide, pass)));
  const std::string vast = R"({"id": "vast", "job": "low", "slots": 5})";
  EXPECT_FALSE(is_live(case_of(std::string{kWide} + ", " + vast, pass)));
  EXPECT_TRUE(is_live(case_of(vast, pass))) << "none is held back";
  expect_told(case_of(kWide, R"({"op": "sing"})"), "the step 'sing' is not understood");
  std::string spread = case_of(kWide, pass);
  spread.replace(spread.find(R"("preemption": true)"), 18, R"("heterogeneous": true)");
  expect_told(spread, "no pool spreads a gang over workers of several sizes");
}

}  // namespace
}  // namespace penstock::tools
