// Rules of slots that the page states and no reference case shows: found by an independent model of the page.
#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
namespace {

// tidy: foreign-file agents, tasks, task, scheduler
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

TEST(PolicySlotCases, NamesMayBeNumbers) {
  expect_told(
      R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "find_fits", "agents": [{"id": "7", "slots": 2}],
      "task": {"id": "t", "slots": 1}, "expect": {"agents": [8.0]}})",
      "expected [8], got [7]");
}

TEST(PolicySlotCases, TargetsAreThoseOfLivePools) {
  EXPECT_EQ(told_of(R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "share_targets", "capacity": 2,
      "scheduler": {"variant": "max_min"}, "groups": [{"id": "g0", "weight": 2, "demand": 5, "slots_per_task": 1},
      {"id": "g1", "weight": 3, "demand": 5, "slots_per_task": 1},
      {"id": "g2", "weight": 0.5, "demand": 4, "slots_per_task": 4}],
      "expect": {"offered": {"g0": 1, "g1": 1, "g2": 0}}})"),
            "");
}

}  // namespace
}  // namespace penstock::tools
