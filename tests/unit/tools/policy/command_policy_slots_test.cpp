// Rules of slots that the page states and no reference case shows: found by an independent model of the page.
#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
namespace {

// tidy: foreign-file agents, tasks, task, scheduler
constexpr const char* kPassedOver = R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "schedule",
 "scheduler": {"type": "priority", "preemption": true}, "agents": [{"id": "a", "slots": 4}],
 "groups": [{"id": "low", "priority": 50}, {"id": "high", "priority": 42}], "queue_positions": {"low": 1, "high": 2},
 "tasks": [{"id": "older", "job": "low", "slots": 3, "preemptible": true, "submitted": 1, "running_on": "a"},
           {"id": "newer", "job": "low", "slots": 1, "preemptible": true, "submitted": 2, "running_on": "a"},
           {"id": "wants", "job": "high", "slots": 2, "preemptible": true, "submitted": 3}],
 "steps": [{"op": "schedule", "expect": {"to_allocate": [], "to_release": ["older", "newer"]}}]})";

// Spec: policy-determined 5.3.
TEST(PolicySlotCases, VictimsPassedOverOnTheWayLeave) { EXPECT_EQ(told_of(kPassedOver), ""); }

/// Two jobs of one member each, by priority. `band`: its slots.
std::string two_jobs(const std::string& positions, const std::string& steps, int band = 1) {
  return R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "schedule", "scheduler": {"type": "priority"},
      "agents": [{"id": "a", "slots": )" +
         std::to_string(band) + R"(}], "groups": [{"id": "g1"}, {"id": "g2"}], "queue_positions": )" + positions +
         R"(, "tasks": [{"id": "t1", "job": "g1", "slots": 1, "submitted": 1},
                {"id": "t2", "job": "g2", "slots": 1, "submitted": 2}], "steps": [)" +
         steps + "]}";
}

constexpr const char* kSecondStarts = R"({"op": "schedule", "expect": {"to_allocate": ["t2"]}})";

TEST(PolicySlotCases, PositionsInMicrosecondsAreToldApart) {
  const auto second_starts = [](const std::string& positions) { return told_of(two_jobs(positions, kSecondStarts)); };
  EXPECT_EQ(second_starts(R"({"g1": "1640995200000005", "g2": "1640995200000000"})"), "");
  EXPECT_EQ(second_starts(R"({"g1": 1640995200000005, "g2": 1640995200000000.5})"), "");
  EXPECT_EQ(second_starts(R"({"g1": "0.0000000002", "g2": "0.0000000001"})"), "");
  expect_told(two_jobs(R"({"g1": "first"})", kSecondStarts), "the position 'first' is no number");
}

TEST(PolicySlotCases, SubmissionTimesAndPositionsAreOfOneScale) {
  const std::string moved = R"({"op": "set_positions", "positions": {"g2": "%"}}, )";
  const auto moved_to = [&](const std::string& position) {
    std::string steps = moved + kSecondStarts;
    return told_of(two_jobs(R"("submission_time")", steps.replace(steps.find('%'), 1, position)));
  };
  EXPECT_EQ(moved_to("0.5"), "");
  EXPECT_NE(moved_to("1.5"), "");
}

// Spec: policy-determined 5.6.
TEST(PolicySlotCases, ANewPriorityPutsAJobBackToItsSubmission) {
  const std::string set = R"({"op": "set_priority", "job": "g2", "priority": 42}, )";
  const std::string first_starts = R"({"op": "schedule", "expect": {"to_allocate": ["t1"]}})";
  EXPECT_EQ(told_of(two_jobs(R"({"g1": 1.5, "g2": 0.5})", kSecondStarts)), "");
  EXPECT_EQ(told_of(two_jobs(R"({"g1": 1.5, "g2": 0.5})", set + first_starts)), "");
  const std::string moved = R"({"op": "set_positions", "positions": {"g2": 0.5}}, )";
  EXPECT_EQ(told_of(two_jobs(R"("submission_time")", moved + set + first_starts)), "");
  EXPECT_EQ(told_of(two_jobs("{}", set + first_starts)), "") << "who has none gets none";
}

TEST(PolicySlotCases, PositionsAreATableOrTheTimesOfSubmission) {
  for (const char* other : {R"("other")", R"(["g2", "g1"])", "5"})
    expect_told(two_jobs(other, kSecondStarts), "positions must be a table of jobs");
}

// A step with nulls alone compared nothing with nothing.
TEST(PolicySlotCases, NullsAloneCompareNothing) {
  const std::string nulls =
      R"("to_allocate": null, "to_release": null, "to_allocate_by_group": {"g1": null, "g2": null})";
  const auto schedule = [](const std::string& expect) {
    return two_jobs("{}", R"({"op": "schedule", "expect": {)" + expect + "}}", 6);
  };
  expect_told(schedule(nulls), "nothing to compare with");
  expect_told(schedule(R"("to_allocate_by_group": {"g1": null})"), "expected [], got [g2 1]");
  expect_told(schedule(R"("to_allocate_by_group": {})"), "expected [], got [g1 1, g2 1]");
}

TEST(PolicySlotCases, AnOrderBesideAListOfVictimsIsThatOfThoseNamed) {
  const auto order = [](const std::string& expect) {
    return told_of(
        two_jobs("{}", R"({"op": "force_running", "tasks": ["t1"]}, {"op": "queue_order", "expect": )" + expect + "}"));
  };
  EXPECT_EQ(order(R"({"to_allocate": ["t1", "t2"], "to_release": []})"), "");
  EXPECT_EQ(order(R"({"to_allocate": ["t2"], "to_release": ["t1"]})"), "");
  EXPECT_EQ(order(R"({"to_release": null, "to_allocate": ["t1", "t2"]})"), "");
  EXPECT_NE(order(R"({"to_allocate": ["t2", "t1"], "to_release": []})"), "");
  EXPECT_NE(order(R"({"to_allocate": [], "to_release": ["t2", "t1"]})"), "");
  EXPECT_NE(order(R"({"to_allocate": ["t1", "nobody"], "to_release": []})"), "");
  EXPECT_NE(order(R"({"to_allocate": ["t2"]})"), "");
  EXPECT_NE(order(R"({"to_allocate": ["t1"], "to_release": [], "order": ["zz"]})"), "");
  EXPECT_NE(order(R"({"to_allocate": ["zz"], "order": ["t1", "t2"]})"), "");
}

TEST(PolicySlotCases, WholeNumbersMayHaveAFraction) {
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
  expect_told(
      R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "find_fits", "agents": [{"id": "7", "slots": 2}],
      "task": {"id": "t", "slots": 1}, "expect": {"agents": [8.0]}})",
      "expected [8], got [7]");
}

TEST(PolicySlotCases, TheEndsOfAQueueHaveSeveralNames) {
  const auto second = [](const std::string& ahead, const std::string& expected, const std::string& first = "a") {
    return told_of(R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "queue_anchor", "groups": [{"id": ")" +
                   first + R"("}, {"id": "b"}], "tasks": [{"id": "t", "job": ")" + first +
                   R"("}, {"id": "u", "job": "b"}], "queue_positions": {")" + first +
                   R"(": "1640995200000001", "b": "1640995200000002"}, "steps": [{"op": "find_anchor", "job": "b",
      "anchor": ")" +
                   (ahead == "true" ? first : "b") + R"(", "ahead_of": )" + ahead +
                   R"(, "expect": {"priority_changes": false, "anchor_priority": 42,
      "second_anchor": ")" +
                   expected + R"("}}]})");
  };
  for (const char* name : {"HEAD", "INTERNAL-head", "head"}) EXPECT_EQ(second("true", name), "") << name;
  for (const char* name : {"TAIL", "INTERNAL-tail", "tail"}) EXPECT_EQ(second("false", name), "") << name;
  EXPECT_NE(second("true", "tail"), "");
  EXPECT_NE(second("true", "head", "head"), "");  // A job may be called so.
}

// Spec: policy-determined 4.5.
TEST(PolicySlotCases, MaxMinFillingGoesOnFromWhatAGangGivesBack) {
  const std::string head = R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": )";
  EXPECT_EQ(told_of(head + R"("share_targets", "capacity": 2, "scheduler": {"variant": "max_min"},
      "groups": [{"id": "g0", "weight": 2, "demand": 5, "slots_per_task": 1},
      {"id": "g1", "weight": 3, "demand": 5, "slots_per_task": 1},
      {"id": "g2", "weight": 0.5, "demand": 4, "slots_per_task": 4}],
      "expect": {"offered": {"g0": 2, "g1": 0, "g2": 0}}})"),
            "");
  const auto member = [](const std::string& name, const std::string& group, int slots) {
    return R"({"id": ")" + name + R"(", "job": ")" + group + R"(", "slots": )" + std::to_string(slots) +
           R"(, "submitted": )" + group.substr(1) + "}";
  };
  EXPECT_EQ(
      told_of(head + R"("schedule", "scheduler": {"type": "fair_share", "variant": "max_min"},
      "agents": [{"id": "a", "slots": 2}], "groups": [{"id": "g0", "weight": 2}, {"id": "g1", "weight": 3},
      {"id": "g2", "weight": 0.5}], "tasks": [)" +
              member("a0", "g0", 1) + ", " + member("a1", "g0", 1) + ", " + member("a2", "g0", 1) + ", " +
              member("b0", "g1", 1) + ", " + member("b1", "g1", 1) + ", " + member("b2", "g1", 1) + ", " +
              member("c", "g2", 2) + R"(], "steps": [{"op": "schedule", "expect": {"to_allocate": ["a0", "a1"]}}]})"),
      "");
}

// Spec: policy-determined 3. Live, what the labelled ones cannot use is not kept for them: a rule of our own.
TEST(PolicySlotCases, SharesDoNotLookAtLabels) {
  EXPECT_EQ(told_of(R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "schedule",
      "scheduler": {"type": "fair_share"}, "agents": [{"id": "a1", "slots": 1, "label": "x"}, {"id": "a2", "slots": 3}],
      "groups": [{"id": "g1"}, {"id": "g2"}],
      "tasks": [{"id": "p0", "job": "g1", "slots": 1, "submitted": 1, "running_on": "a2"},
                {"id": "p1", "job": "g1", "slots": 1, "submitted": 2, "running_on": "a2"},
                {"id": "p2", "job": "g1", "slots": 1, "submitted": 3, "running_on": "a2"},
                {"id": "p3", "job": "g1", "slots": 1, "submitted": 4},
                {"id": "q0", "job": "g2", "slots": 1, "submitted": 5, "label": "x"},
                {"id": "q1", "job": "g2", "slots": 1, "submitted": 6, "label": "x"},
                {"id": "q2", "job": "g2", "slots": 1, "submitted": 7, "label": "x"},
                {"id": "q3", "job": "g2", "slots": 1, "submitted": 8, "label": "x"}],
      "steps": [{"op": "schedule", "expect": {"to_allocate": ["q0"], "to_release": ["p0"]}}]})"),
            "");
}

}  // namespace
}  // namespace penstock::tools
