// tidy: foreign-file agents, tasks, task
#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
namespace {

/// Three tasks of 2 slots and one without, of which one runs and is capped at 2 slots with another one.
std::string case_of(const std::string& workers, const char* caps = "false") {
  return R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "desired_agents",
      "groups": [{"id": "g", "max_slots": 2}], "tasks": [{"id": "1", "job": "g", "slots": 2},
      {"id": "2", "job": "g", "slots": 2}, {"id": "3", "job": "h", "slots": 2}, {"id": "4", "job": "h", "slots": 0}],
      "steps": [{"op": "force_running", "tasks": ["1", "3"]}, {"op": "force_pending", "tasks": ["1"]},
      {"op": "desired_agents", "use_group_caps": )" +
         std::string{caps} + R"(, "expect": [{"slots_per_agent": 2, "max_zero_slot_per_agent": 1, "agents": )" +
         workers + "}]}]}";
}

// Spec: policy-determined 9.6.
TEST(PolicyDesiredCases, WhatWaitsIsDividedAmongWorkers) {
  EXPECT_EQ(told_of(case_of("2")), "");
  EXPECT_EQ(told_of(case_of("1", "true")), "");
  expect_told(case_of("3"), "workers of 2 slots, 1 light places: expected 3, got 2");
  expect_told(R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "desired_agents",
      "steps": [{"op": "force_running", "tasks": ["none"]}, {"op": "schedule"}]})",
              "no member is called 'none'");
}

}  // namespace
}  // namespace penstock::tools
