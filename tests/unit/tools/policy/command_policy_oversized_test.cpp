// tidy: foreign-file agents, tasks, task, scheduler
#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
namespace {

std::string case_of(const std::string& vast_priority, const std::string& steps) {
  return R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "schedule", "scheduler": {"type": "priority"},
      "agents": [{"id": "a", "slots": 2}], "groups": [{"id": "vast", "priority": )" +
         vast_priority + R"(}], "tasks": [{"id": "t", "job": "g", "slots": 1, "submitted": 1},
                {"id": "vast", "job": "vast", "slots": 3, "submitted": 2}], "steps": [)" +
         steps + "]}";
}

// Spec: policy-determined 5.2.
TEST(PolicyOversizedCases, ATaskLargerThanAllAgentsHoldsBackWhatIsLessImportant) {
  const std::string none_starts = R"({"op": "schedule", "expect": {"to_allocate": [], "to_release": null}})";
  const std::string slots = R"(, {"op": "check_empty_slots", "expect": {"a": 2}})";
  EXPECT_EQ(told_of(case_of("41", none_starts + slots)), "");
  expect_told(case_of("43", none_starts), "to_allocate: expected [], got [t]");
  expect_told(case_of("41", R"({"op": "check_empty_slots", "expect": {"a": 1}})"), "expected 1, got 2");
  expect_told(case_of("41", R"({"op": "add_tasks"})"), "the step 'add_tasks' is not understood");
}

}  // namespace
}  // namespace penstock::tools
