// A case that expects nothing, or something unknown, does not pass; nor does one with an input that is none.
#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
namespace {

// tidy: foreign-file agents, agent, tasks, task, nodes, pods, scheduler

/// A case with an `expect` that is replaced: `%` stands for it.
struct AskingCase {
  std::string text;
  std::string expect;  ///< With it the case passes.
};

std::string of_slots(const std::string& rest) {
  return R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": )" + rest;
}
std::string of_quotas(const std::string& rest) {
  return R"({"format": "kai-scenarios/1", "category": "x", "cases": [{"id": "c", "kind": )" + rest;
}

const std::vector<AskingCase>& asking_cases() {
  static const std::vector<AskingCase> cases = {
      {of_slots(R"("schedule", "scheduler": {"type": "priority"}, "agents": [{"id": "a", "slots": 1}],
      "groups": [{"id": "g"}], "tasks": [{"id": "t", "job": "g", "slots": 1}],
      "steps": [{"op": "schedule", "expect": %}]})"),
       R"({"to_allocate": ["t"]})"},
      {of_slots(R"("schedule", "scheduler": {"type": "priority"}, "groups": [{"id": "g"}],
      "steps": [{"op": "queue_counts", "expect": %}]})"),
       R"({"queued": 0, "scheduled": 0})"},
      {of_slots(R"("desired_agents", "steps": [{"op": "desired_agents", "expect": [%]}]})"),
       R"({"slots_per_agent": 0, "agents": 0})"},
      {of_slots(R"("fit_score", "agents": [{"id": "a", "slots": 1}], "task": {"slots": 1}, "expect": %})"),
       R"({"score": 0.5})"},
      {of_slots(R"("slots_satisfied", "agents": [{"id": "a", "slots": 1}], "task": {"slots": 2}, "expect": %})"),
       R"({"viable": false})"},
      {of_slots(R"("share_targets", "capacity": 8, "groups": [{"id": "g", "demand": 2}, {"id": "h", "demand": 0}],
      "expect": %})"),
       R"({"offered": {"g": 2, "h": 0}})"},
      {of_slots(R"("task_age_order", "a": {"id": "t"}, "b": {"id": "t"}, "expect": %})"), R"({"compare": 0})"},
      {of_slots(R"("pool_routing", "default_compute_pool": "p", "requests": [{"id": "r", "slots": 1}], "expect": %})"),
       R"({"pool": {"r": "p"}})"},
      {of_slots(R"("gang_shape", "slots": 4, "max_slots_per_pod": 4, "expect": %})"), R"({"accepted": true})"},
      {of_slots(R"("reconnect_check", "known_pool": "p", "reported_pool": "p", "expect": %})"),
       R"({"error_contains": null})"},
      {of_quotas(R"("queue_order", "left": {"id": "1"}, "right": {"id": "1"}, "expect": %}]})"), R"({"order": 0})"},
      {of_quotas(R"("elastic_job_order", "left": {}, "right": {}, "expect": %}]})"), R"({"order": 0})"},
      {of_quotas(R"("over_limit", "queue": {"id": "1"}, "requests": {"gpu": 1}, "expect": %}]})"),
       R"({"over": false})"},
      {of_quotas(
           R"("capacity_check", "queues": [{"id": "1", "gpu": {"limit": 0}}], "job_queue": "1", "checks": ["limit"],
      "requests": {"gpu": 1}, "expect": %}]})"),
       R"({"schedulable": false})"},
      {of_quotas(R"("fair_share_tree", "total": {"gpu": 1}, "queues": [{"id": "1"}], "expect": %}]})"),
       R"({"fair_share": {"1": {"gpu": 0}}})"},
      {of_quotas(R"("min_runtime", "action": "preempt", "victim_queue": {"id": "1"}, "expect": %}]})"),
       R"({"error": false, "min_runtime_s": 0})"},
      {of_quotas(R"("bin_pack_score", "nodes": [{"name": "n", "gpus": 0}], "expect": %}]})"), R"({"score": {"n": 0}})"},
      {R"({"format": "kai-scenarios/1", "category": "x", "runner": {"mode": "single_action", "actions": ["allocate"]},
      "cases": [{"id": "c", "nodes": [{"name": "n", "gpus": 1}], "queues": [{"name": "q"}], "jobs": [],
      "expect": %}]})",
       R"({"max_binds": 0})"},
      {R"({"kind": "backfill", "cases": [{"id": "b", "nodes": 4, "now": 0, "expected": {"easy": %}}]})",
       R"({"start_now": [], "reservations": {}})"},
  };
  return cases;
}

std::string with_expect(const AskingCase& asking, const std::string& expect) {
  std::string text = asking.text;
  return text.replace(text.find('%'), 1, expect);
}

TEST(PolicyCase, ACaseThatExpectsNothingDoesNotPass) {
  for (const AskingCase& asking : asking_cases()) {
    EXPECT_EQ(told_of(with_expect(asking, asking.expect)), "") << asking.text;
    for (const char* nothing : {"{}", "null"}) EXPECT_NE(told_of(with_expect(asking, nothing)), "") << asking.text;
  }
  expect_told(with_expect(asking_cases()[0], "{}"), "nothing to compare with");
  expect_told(with_expect(asking_cases()[6], "{}"), "there is no `expect.compare` to compare with");
}

// A slip of the pen would otherwise pass.
TEST(PolicyCase, AnExpectationThatNobodyKnowsDoesNotPass) {
  for (const AskingCase& asking : asking_cases()) {
    std::string more = asking.expect;
    more.insert(more.size() - 1, R"(, "to_alocate": 1)");
    expect_told(with_expect(asking, more), "'to_alocate' is not understood");
  }
}

TEST(PolicyCase, WhatIsExpectedHasTheRightKind) {
  expect_told(with_expect(asking_cases()[0], R"({"to_allocate": "t"})"),
              "`steps[0].expect.to_allocate` must be a list");
  expect_told(with_expect(asking_cases()[10], R"({"order": "0"})"), "`cases[0].expect.order` must be a whole number");
}

TEST(PolicyCase, StepsWithoutExpectationsDoNotPass) {
  expect_told(of_slots(R"("preemption_flag", "steps": [{"op": "watch", "w": 1}, {"op": "preempt"}]})"),
              "nothing to compare with");
  expect_told(R"({"kind": "limits", "scenarios": [{"id": "s", "steps": [{"op": "submit", "job": "a"}]}]})",
              "nothing to compare with");
  EXPECT_EQ(told_of(R"({"kind": "limits", "scenarios": [{"id": "s", "steps": [{"op": "submit", "job": "a",
                        "expect": "accept"}]}]})"),
            "");
}

std::string slots_case(const std::string& scheduler, const std::string& group, const std::string& task,
                       const std::string& more, const std::string& steps = "") {
  return of_slots(R"("schedule", "scheduler": {"type": "fair_share")" + scheduler +
                  R"(}, "agents": [{"id": "a", "slots": 1}], "groups": [{"id": "g")" + group +
                  R"(}], "tasks": [{"id": "t", "job": "g", "slots": 1)" + task + "}]" + more + R"(, "steps": [)" +
                  steps + R"({"op": "schedule", "expect": {"to_allocate": ["t"]}}]})");
}

// Spec: policy-determined 3, 5.1.
TEST(PolicyCase, InputThatIsNoneIsNotTakenForAnother) {
  EXPECT_EQ(told_of(slots_case("", "", "", "")), "");
  EXPECT_EQ(told_of(slots_case(R"(, "variant": "max_min", "fitting": "worst")", R"(, "weight": 0, "priority": 99)", "",
                               R"(, "queue_positions": {"g": "1.5"})")),
            "");
  const auto told = [](const std::string& text, const std::string& part) { expect_told(text, part); };
  told(slots_case(R"(, "variant": "maxmin")", "", "", ""), "the variant 'maxmin' is not understood");
  told(slots_case(R"(, "fitting": "wrost")", "", "", ""), "the fitting 'wrost' is not understood");
  told(slots_case(R"(, "default_priority": 100)", "", "", ""), "default_priority 100 is out of range: 1 to 99");
  for (const char* priority : {"0", "100", "-5"})
    told(slots_case("", std::string{R"(, "priority": )"} + priority, "", ""), "is out of range: 1 to 99");
  told(slots_case("", R"(, "weight": -1)", "", ""), "a weight must be at least 0.001");
  told(slots_case("", R"(, "max_slots": -1)", "", ""), "`max_slots` must not be negative");
  told(slots_case("", R"(}, {"id": "g")", "", ""), "two groups are called 'g'");
  told(slots_case("", "", R"(}, {"id": "t", "job": "g")", ""), "two tasks are called 't'");
  told(slots_case("", "", R"(, "blocked_agents": ["b"])", ""), "note: `blocked_agents`: there is no agent 'b'");
  told(slots_case("", "", "", R"(, "queue_positions": {"k": "1"})"), "a position is given to 'k', which is no job");
  std::string twins = slots_case("", "", "", "");
  twins.replace(twins.find(R"("slots": 1}])"), 12, R"("slots": 1}, {"id": "a", "slots": 1}])");
  told(twins, "two agents are called 'a'");
  told(slots_case("", "", "", "", R"({"op": "set_priority", "job": "g", "priority": 0}, )"),
       "priority 0 is out of range");
  told(slots_case("", "", "", "", R"({"op": "set_weight", "job": "g", "weight": 0}, )"), "a weight must be at least");
  told(slots_case("", "", "", "", R"({"op": "set_weight", "job": "k", "weight": 1}, )"), "there is no job 'k'");
}

TEST(PolicyCase, TablesOfSlotsTakeNoSuchInputEither) {
  const auto targets = [](const std::string& group, const std::string& more) {
    return of_slots(R"("share_targets", "capacity": 8, "groups": [{"id": "g", "demand": 2)" + group + "}]" + more +
                    R"(, "expect": {"offered": {"g": 2}}})");
  };
  EXPECT_EQ(told_of(targets("", "")), "");
  for (const char* weight : {"0", "-1"})
    expect_told(targets(std::string{R"(, "weight": )"} + weight, ""), "a weight must be at least 0.001");
  expect_told(targets("", R"(, "scheduler": {"variant": "foo"})"), "the variant 'foo' is not understood");
  expect_told(targets(R"(}, {"id": "g", "demand": 1)", ""), "two groups are called 'g'");
  expect_told(of_slots(R"("find_fits", "fitting": "wrost", "agents": [{"id": "a", "slots": 1}],
                       "task": {"slots": 1}, "expect": {"first_agent": "a"}})"),
              "the fitting 'wrost' is not understood");
  expect_told(R"({"kind": "backfill", "cases": [{"id": "b", "nodes": 4, "now": 0, "queue_in_priority_order": [
                  {"id": "J", "nodes": 5}, {"id": "J", "nodes": 5}],
                  "expected": {"fcfs": {"start_now": [], "reservations": {}}}}]})",
              "two jobs are called 'J'");
}

}  // namespace
}  // namespace penstock::tools
