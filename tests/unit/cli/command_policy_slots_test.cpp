// What the page says of slots and no reference case shows: found by an independent model of it.
#include <gtest/gtest.h>

#include "cli/command_policy_check.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock::cli {
namespace {

// tidy: foreign-file agents, tasks, task, scheduler
constexpr const char* kPassedOver = R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "schedule",
 "scheduler": {"type": "priority", "preemption": true}, "agents": [{"id": "a", "slots": 4}],
 "groups": [{"id": "low", "priority": 50}, {"id": "high", "priority": 42}],
 "tasks": [{"id": "older", "job": "low", "slots": 3, "preemptible": true, "submitted": 1, "running_on": "a"},
           {"id": "newer", "job": "low", "slots": 1, "preemptible": true, "submitted": 2, "running_on": "a"},
           {"id": "wants", "job": "high", "slots": 2, "preemptible": true, "submitted": 3}],
 "steps": [{"op": "schedule", "expect": {"to_allocate": [], "to_release": ["older", "newer"]}}]})";

// Spec: policy-determined 5.3.
TEST(PolicySlotCases, VictimsPassedOverOnTheWayLeave) {
  const ScratchDirectory scratch;
  const auto verdicts = check_policy_cases(scratch.write("case.json", kPassedOver));
  ASSERT_TRUE(verdicts) << to_string(verdicts.error());
  for (const CaseVerdict& verdict : *verdicts)
    for (const std::string& difference : verdict.differences) ADD_FAILURE() << difference;
}

}  // namespace
}  // namespace penstock::cli
