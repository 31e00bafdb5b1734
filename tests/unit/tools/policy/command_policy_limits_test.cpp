// Cases of limits: the users that count in each, the effect of a change, and the comparison after each step.
// tidy: foreign-file bank, nodes
#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
namespace {

/// A file of one case, of which `tables` and `steps` are given.
std::string limit_case(const std::string& tables, const std::string& steps) {
  return R"({"kind": "limits", "scenarios": [{"id": "x", )" + tables + (tables.empty() ? "" : ", ") + R"("steps": [)" +
         steps + "]}]}";
}

TEST(PolicyLimitCase, AUserCountsPerAccountAndAUserOfAnotherNameApart) {
  std::string steps;
  for (const char* user : {"u0", "u1", "u2"})
    for (const char* account : {"x", "y"})
      steps += std::string{steps.empty() ? "" : ", "} + R"({"op": "submit", "job": ")" + user + account +
               R"(", "user": ")" + user + R"(", "account": ")" + account + R"(", "expect": "run"})";
  const std::string tables = R"("assoc": {"max_running_jobs": 1})";
  EXPECT_EQ(told_of(limit_case(tables, steps)), "");
  expect_told(limit_case(tables, steps + R"(, {"op": "submit", "user": "u0", "bank": "x", "expect": "run"})"),
              "expected run, got held");
}

TEST(PolicyLimitCase, EveryLimitOfAUserCanBeChangedAndStaysSo) {
  EXPECT_EQ(told_of(limit_case(R"("assoc": {"max_nodes": 2})", R"(
      {"op": "submit", "job": "a", "nodes": 2, "expect": "run"},
      {"op": "submit", "job": "b", "nodes": 1, "expect": "held", "holds": ["max-resources-user-limit"]},
      {"op": "set_limit", "max_nodes": 3, "released": ["b"]},
      {"op": "set_limit", "max_running_jobs": 9},
      {"op": "submit", "job": "c", "nodes": 3, "expect": "held"},
      {"op": "set_limit", "max_active_jobs": 3},
      {"op": "submit", "job": "d", "expect": "reject", "message": "max active"})")),
            "");
}

TEST(PolicyLimitCase, AChangeNamesItsAccountOrItsQueue) {
  EXPECT_EQ(told_of(limit_case(R"("assocs": {"A": {"max_running_jobs": 1}, "B": {"max_running_jobs": 1}})", R"(
      {"op": "submit", "job": "a1", "bank": "A", "expect": "run"},
      {"op": "submit", "job": "a2", "bank": "A", "expect": "held"},
      {"op": "submit", "job": "b1", "bank": "B", "expect": "run"},
      {"op": "submit", "job": "b2", "bank": "B", "expect": "held"},
      {"op": "set_limit", "bank": "A", "max_running_jobs": 2, "released": ["a2"], "still_held": ["b2"]})")),
            "");
  EXPECT_EQ(told_of(limit_case(R"("queues": {"q": {"max_running_jobs": 1}, "r": {"max_sched_nodes_per_assoc": 0}})", R"(
      {"op": "submit", "job": "q1", "queue": "q", "expect": "run"},
      {"op": "submit", "job": "q2", "queue": "q", "expect": "held", "holds": ["max-run-jobs-queue"]},
      {"op": "submit", "job": "r1", "queue": "r", "expect": "held", "holds": ["max-sched-nodes-queue-limit"]},
      {"op": "set_limit", "queue": "q", "max_running_jobs": 2, "released": ["q2"], "still_held": ["r1"]},
      {"op": "set_limit", "queue": "r", "max_sched_nodes_per_assoc": 1, "released": ["r1"]})")),
            "");
  expect_told(limit_case(R"("assocs": {"A": {}})", R"({"op": "set_limit", "bank": "Z", "max_nodes": 3})"),
              "no user has these limits");
  expect_told(limit_case("", R"({"op": "set_limit"})"), "the step names no limit");
}

TEST(PolicyLimitCase, AChangeOfServiceNeedsAGrantAndLiftsHoldsAtOnce) {
  EXPECT_EQ(told_of(limit_case(R"("assoc": {"max_nodes": 2}, "grants": {"users": ["alice"], "accounts": []})", R"(
      {"op": "submit", "job": "a", "user": "bob", "nodes": 2, "expect": "run"},
      {"op": "submit", "job": "b", "user": "bob", "nodes": 1, "expect": "held"},
      {"op": "update", "job": "b", "qos": "expedite", "expect": "error", "message": "may expedite", "released": []},
      {"op": "update", "job": "b", "qos": "nonesuch", "expect": "error", "still_held": ["b"]},
      {"op": "update", "job": "b", "qos": "standby", "expect": "ok", "released": ["b"], "holds_now": {"b": []}})")),
            "");
}

TEST(PolicyLimitCase, AJobMovesToAnotherQueueOnlyWhileItWaits) {
  const std::string tables = R"("queues": {"g": {"max_running_jobs": 1}, "b": {"max_running_jobs": 1}},
      "assocs": {"A": {"max_active_jobs": 3}, "B": {}})";
  const std::string steps = R"(
      {"op": "submit", "job": "a", "bank": "A", "queue": "g", "expect": "run"},
      {"op": "submit", "job": "b", "bank": "A", "queue": "g", "expect": "held"},
      {"op": "update", "job": "b", "queue": "b", "expect": "ok", "released": ["b"]},
      {"op": "submit", "job": "c", "bank": "A", "queue": "b", "expect": "held", "holds": ["max-run-jobs-queue"]},
      {"op": "update", "job": "a", "bank": "B", "expect": "error", "message": "waits"},
      {"op": "update", "job": "c", "bank": "A", "expect": "ok"},
      {"op": "finish", "job": "b", "released": ["c"]},
      {"op": "update", "job": "b", "bank": "B", "expect": "error"})";
  EXPECT_EQ(told_of(limit_case(tables, steps)), "");
}

TEST(PolicyLimitCase, EveryStepTellsWhatFollows) {
  const std::string one = R"({"op": "submit", "job": "a", "expect": "run", )";
  for (const char* wrong :
       {R"("released": ["z"])", R"("starts": ["z"])", R"("still_held": ["a"])", R"("holds_now": {"z": []})"})
    EXPECT_NE(told_of(limit_case("", one + wrong + "}")), "") << wrong;
  const std::string held = R"({"op": "submit", "job": "a", "hold": true, "expect": "pending"}, )";
  EXPECT_EQ(told_of(limit_case("", held + R"({"op": "release", "job": "a", "expect": "run", "released": ["a"]})")), "");
  expect_told(limit_case("", held + R"({"op": "release", "job": "a", "expect": "run", "released": ["z"]})"), "let go");
  expect_told(limit_case("", held + R"({"op": "release", "job": "a", "holds": ["z"]})"), "step 2, holds");
  expect_told(limit_case("", held + R"({"op": "update", "job": "a", "qos": "standby", "qos_assigned": "normal"})"),
              "step 2, service");
  expect_told(
      limit_case("", R"({"op": "submit", "job": "a"}, {"op": "finish", "job": "a"}, {"op": "cancel", "job": "a"})"),
      "has ended already");
}

TEST(PolicyLimitCase, WhoIsUnknownIsRefusedAndAnUnknownQueueIsNot) {
  EXPECT_EQ(told_of(limit_case(R"("assocs": {"A": {}, "B": {"active": 0, "queues": "q,r", "projects": "p"},
      "C": {"queues": "r", "projects": "p"}}, "queues": {"q": {}, "r": {}})",
                               R"(
      {"op": "submit", "bank": "Z", "expect": "reject", "message": "cannot find"},
      {"op": "submit", "bank": "B", "expect": "reject", "message": "disabled"},
      {"op": "submit", "bank": "C", "queue": "q", "expect": "reject", "message": "not valid for user"},
      {"op": "submit", "bank": "C", "queue": "r", "project": "other", "expect": "reject",
       "message": "project not valid"},
      {"op": "submit", "bank": "C", "queue": "r", "project": "p", "expect": "run"},
      {"op": "submit", "bank": "A", "queue": "unheard-of", "expect": "run"})")),
            "");
  EXPECT_EQ(told_of(limit_case(R"("queues": {"q": {}}, "deny_unknown_queues": true)",
                               R"({"op": "submit", "queue": "z", "expect": "reject", "message": "is unknown"})")),
            "");
}

TEST(PolicyLimitCase, SizesOfAQueueAndOfTheMachineAreEnforced) {
  EXPECT_EQ(told_of(limit_case(R"("queues": {"q": {"min_nodes_per_job": 2, "max_nodes_per_job": 4}},
      "machine_nodes": 16, "cores_per_node": 2)",
                               R"(
      {"op": "submit", "queue": "q", "nodes": 1, "expect": "reject"},
      {"op": "submit", "queue": "q", "nodes": 5, "expect": "reject"},
      {"op": "submit", "queue": "q", "nodes": 3, "expect": "run"},
      {"op": "submit", "queue": "q", "nodes": 9, "qos": "standby", "expect": "run"},
      {"op": "submit", "nodes": 1, "cores": 33, "expect": "reject", "message": "larger than the machine"},
      {"op": "submit", "nodes": -3, "expect": "reject", "message": "negative"})")),
            "");
}

TEST(PolicyLimitCase, AMisspeltLimitIsToldAndAWrongTypeFailsItsCaseOnly) {
  expect_told(limit_case(R"("assoc": {"max_runing_jobs": 1})", R"({"op": "submit", "expect": "run"})"),
              "`scenarios[0].assoc.max_runing_jobs` is no field of this format");
  const std::string once = told_of(limit_case(R"("assoc": {"max_runing_jobs": 1})", R"({"op": "submit"})"));
  EXPECT_EQ(once.find("note: "), once.rfind("note: ")) << once;
  const std::string told = told_of(
      R"({"kind": "limits", "scenarios": [{"id": "x", "steps": [{"op": "submit", "nodes": "9", "expect": "run"}]},
          {"id": "y", "steps": [{"op": "submit", "expect": "held"}]}]})");
  EXPECT_NE(told.find("case/x: "), std::string::npos) << told;
  EXPECT_NE(told.find("`scenarios[0].steps[0].nodes` must be a whole number, is text"), std::string::npos) << told;
  EXPECT_NE(told.find("case/y: step 1"), std::string::npos) << told;
}

}  // namespace
}  // namespace penstock::tools
