// What the page says of quotas and no reference case shows: found by an independent model of it.
#include <gtest/gtest.h>

#include "cli/command_policy_check.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock::cli {
namespace {

// tidy: foreign-file nodes, pods, pod

/// `pods`: R runs, P waits, N waits for a band that is not there.
std::string job(const std::string& name, int priority, int devices, int min, const std::string& pods) {
  std::string list;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    list += std::string{i > 0 ? "," : ""} + R"({"id": ")" + name + "-" + std::to_string(i) + R"(", "state": )";
    list += pods[i] == 'R' ? R"("Running", "node": "n0"})" : R"("Pending")";
    if (pods[i] != 'R') list += pods[i] == 'N' ? R"(, "node_affinity": ["nowhere"]})" : "}";
  }
  return R"({"name": ")" + name + R"(", "queue": "q", "age_minutes": 1, "priority": )" + std::to_string(priority) +
         R"(, "min_available": )" + std::to_string(min) + R"(, "per_pod": {"gpus": )" + std::to_string(devices) +
         R"(}, "pods": [)" + list + "]}";
}

/// One band, one project. `expect`: members and their states.
void expect_states(const std::string& actions, int devices, int quota, const std::string& jobs,
                   const std::vector<std::pair<std::string, std::string>>& expect) {
  std::string states;
  for (const auto& [member, state] : expect)
    states += (states.empty() ? "\"" : ", \"") + member + R"(": {"state": ")" + state + "\"}";
  const std::string text =
      R"({"format": "kai-scenarios/1", "category": "x", "runner": {"mode": "single_action", "actions": [)" + actions +
      R"(]}, "cases": [{"id": "c", "name": "c", "nodes": [{"name": "n0", "gpus": )" + std::to_string(devices) +
      R"(, "gpu_memory_mib": 100, "max_pods": 99}],
      "departments": [{"name": "d", "order": 0, "gpu": {"quota": -1, "limit": -1, "weight": -1}}],
      "queues": [{"name": "q", "parent": "d", "order": 1, "gpu": {"quota": )" +
      std::to_string(quota) + R"(, "limit": -1, "weight": 0}}], "jobs": [)" + jobs + R"(], "expect": {"pods": {)" +
      states + "}}}]}";
  const ScratchDirectory scratch;
  const auto verdicts = check_policy_cases(scratch.write("case.json", text));
  ASSERT_TRUE(verdicts) << to_string(verdicts.error());
  for (const CaseVerdict& verdict : *verdicts)
    for (const std::string& difference : verdict.differences) ADD_FAILURE() << difference;
}

std::string both(const std::string& a, const std::string& b) { return a + ", " + b; }

TEST(PolicyQuotaCases, PreemptAsksForNoFairness) {
  const std::string small = both(job("a", 50, 1, 1, "R"), job("b", 50, 1, 1, "R"));
  expect_states(R"("preempt")", 2, 1, both(small, job("c", 75, 2, 1, "P")),
                {{"a-0", "Releasing"}, {"b-0", "Releasing"}, {"c-0", "Pipelined"}});
}

TEST(PolicyQuotaCases, InteractiveWithinTheGuaranteePreempts) {
  const std::string trains = both(job("a", 50, 1, 1, "R"), both(job("b", 50, 1, 1, "R"), job("c", 50, 1, 1, "R")));
  expect_states(R"("preempt")", 3, 2, both(trains, job("i", 100, 2, 1, "P")),
                {{"a-0", "Running"}, {"b-0", "Releasing"}, {"c-0", "Releasing"}, {"i-0", "Pipelined"}});
}

TEST(PolicyQuotaCases, AJobThatFailsIsNotTriedAgain) {
  expect_states(R"("allocate")", 2, 2, job("a", 50, 1, 1, "NP"), {{"a-0", "Pending"}, {"a-1", "Pending"}});
}

TEST(PolicyQuotaCases, ABrokenGangBlocksNobody) {
  const std::string jobs = both(job("a", 50, 1, 1, "R"), both(job("broken", 49, 0, 2, "RP"), job("c", 75, 1, 1, "P")));
  expect_states(R"("preempt")", 1, 2, jobs, {{"a-0", "Releasing"}, {"broken-0", "Running"}, {"c-0", "Pipelined"}});
}

TEST(PolicyQuotaCases, WhoIsPutBackWhereHeWasToStartStarts) {
  const std::string jobs = both(job("a", 50, 3, 1, "R"), both(job("b", 50, 1, 1, "P"), job("gang", 75, 1, 2, "PP")));
  expect_states(R"("allocate", "preempt")", 4, 4, jobs,
                {{"a-0", "Releasing"}, {"b-0", "Binding"}, {"gang-0", "Pipelined"}, {"gang-1", "Pipelined"}});
}

// The start has been committed by the time that it is taken back.
TEST(PolicyQuotaCases, WhoWasToStartAndIsTakenLeaves) {
  expect_states(R"("allocate", "preempt")", 3, 3,
                both(job("a", 50, 2, 1, "R"), both(job("b", 50, 1, 1, "P"), job("gang", 75, 1, 3, "PPP"))),
                {{"a-0", "Releasing"}, {"b-0", "Releasing"}, {"gang-0", "Pipelined"}});
}

}  // namespace
}  // namespace penstock::cli
