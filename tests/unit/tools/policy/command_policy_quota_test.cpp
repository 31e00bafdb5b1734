// Rules of quotas that the page states and no reference case shows: found by an independent model of the page.
#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
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

/// One band, one project. `expect`: members and their states. A list of actions of its own keeps the case off the live
/// cluster, where rules beyond the page are in force.
void expect_states(const std::string& actions, int devices, int quota, const std::string& jobs,
                   const std::vector<std::pair<std::string, std::string>>& expect) {
  std::string states;
  for (const auto& [member, state] : expect)
    states += (states.empty() ? "\"" : ", \"") + member + R"(": {"state": ")" + state + "\"}";
  const std::string text =
      R"({"format": "kai-scenarios/1", "category": "x", "runner": {"mode": "single_action", "actions": [)" + actions +
      R"(]}, "cases": [{"id": "c", "name": "c", "scheduler_config": {"actions": [)" + actions +
      R"(]}, "nodes": [{"name": "n0", "gpus": )" + std::to_string(devices) +
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

/// `%` in `text` becomes `with`.
std::string filled(std::string text, const std::string& with) { return text.replace(text.find('%'), 1, with); }

/// One band and one project of which only what is given here is told.
std::string sparse(const std::string& head, const std::string& band, const std::string& project,
                   const std::string& jobs, const std::string& expect) {
  return R"({"format": "kai-scenarios/1", "category": "x", )" + head +
         R"("runner": {"mode": "single_action", "actions": ["allocate"]}, "cases": [{"id": "c",
      "nodes": [{"name": "n0")" +
         band + R"(}], "queues": [{"name": "q")" + project + R"(}], "jobs": [)" + jobs + R"(], "expect": )" + expect +
         "}]}";
}

constexpr const char* kPlain = R"({"name": "j", "queue": "q", "pods": [{"id": "p", "state": "Pending"}]})";

TEST(PolicyQuotaCases, BandsAndMembersHaveTheDefaultsOfTheFormat) {
  const std::string starts = R"({"jobs": {"j": {"state": "Binding", "cpu_milli": 1000, "memory_bytes": 1000000000}}})";
  EXPECT_EQ(told_of(sparse("", "", "", kPlain, starts)), "");
  expect_told(sparse("", R"(, "memory_bytes": 999999999)", "", kPlain, starts), "p state: expected Binding");
  expect_told(sparse("", R"(, "cpu_milli": 999)", "", kPlain, starts), "p state: expected Binding");
  const std::string asks = R"({"name": "j", "queue": "q", "per_pod": {%}, "pods": [{"id": "p", "state": "Pending"}]})";
  const std::string binds = R"({"jobs": {"j": {"state": "Binding"}}})";
  const std::string waits = R"({"jobs": {"j": {"state": "Pending"}}})";
  for (const auto& [most, more] : {std::pair{R"("cpu_milli": 20000000)", R"("cpu_milli": 20000001)"},
                                   std::pair{R"("memory_bytes": 20000000000)", R"("memory_bytes": 20000000001)"}}) {
    EXPECT_EQ(told_of(sparse("", "", "", filled(asks, most), binds)), "");
    EXPECT_EQ(told_of(sparse("", "", "", filled(asks, more), waits)), "");
  }
  std::string pods;
  for (int i = 0; i < 111; ++i)
    pods += std::string{i > 0 ? "," : ""} + R"({"id": "p)" + std::to_string(i) + R"(", "state": "Pending"})";
  EXPECT_EQ(told_of(sparse("", "", "",
                           R"({"name": "j", "queue": "q", "per_pod": {"memory_bytes": 1}, "pods": [)" + pods + "]}",
                           R"({"pods": {"p109": {"state": "Binding"}, "p110": {"state": "Pending"}}})")),
            "");
}

TEST(PolicyQuotaCases, ADeviceHasTheMemoryOfTheFormat) {
  const std::string asks = R"({"name": "j", "queue": "q", "per_pod": {"gpu_memory_mib": %, "gpus": 0},
      "pods": [{"id": "p", "state": "Pending"}]})";
  const std::string share = R"(, "gpu": {"quota": 1})";
  EXPECT_EQ(
      told_of(sparse("", R"(, "gpus": 1)", share, filled(asks, "100"), R"({"jobs": {"j": {"state": "Binding"}}})")),
      "");
  EXPECT_EQ(
      told_of(sparse("", R"(, "gpus": 1)", share, filled(asks, "101"), R"({"jobs": {"j": {"state": "Pending"}}})")),
      "");
}

TEST(PolicyQuotaCases, TheHeadOfAFileMayHaveOtherDefaults) {
  const std::string head =
      R"("harness": {"defaults": "node without numbers: 2,500 millicores, 3e9 bytes, 2 pods; pod: %"}, )";
  const std::string pods = R"({"name": "j", "queue": "q", "pods": [{"id": "p0", "state": "Pending"},
      {"id": "p1", "state": "Pending"}, {"id": "p2", "state": "Pending"}]})";
  const std::string expect =
      R"({"pods": {"p0": {"state": "Binding"}, "p1": {"state": "%"}, "p2": {"state": "Pending"}}})";
  const auto told = [&](const std::string& pod, const std::string& second) {
    return told_of(sparse(filled(head, pod), "", "", pods, filled(expect, second)));
  };
  EXPECT_EQ(told("1 millicores, 1 bytes", "Binding"), "");
  EXPECT_EQ(told("1,300 millicores, 1 bytes", "Pending"), "");
  EXPECT_EQ(told("1 millicores, 2e9 bytes", "Pending"), "");
}

// Jobs that may not be preempted start within what their project is guaranteed.
TEST(PolicyQuotaCases, CpuAndMemoryAreGuaranteedWithoutBoundUnlessACaseSaysSo) {
  const std::string fixed =
      R"({"name": "j", "queue": "q", "priority": 100, "pods": [{"id": "p", "state": "Pending"}]})";
  const auto told = [&](const std::string& project, const std::string& state) {
    return told_of(sparse("", "", project, fixed, R"({"jobs": {"j": {"state": ")" + state + R"("}}})"));
  };
  EXPECT_EQ(told("", "Binding"), "");
  EXPECT_EQ(told(R"(, "cpu_milli": {"limit": -1}, "memory_mb": {"quota": null})", "Binding"), "");
  EXPECT_EQ(told(R"(, "cpu_milli": {"quota": 999})", "Pending"), "");
  EXPECT_EQ(told(R"(, "memory_mb": {"quota": 0})", "Pending"), "");
}

TEST(PolicyQuotaCases, WhoIsNotThereIsADifference) {
  expect_told(
      sparse("", "", "", kPlain, R"({"jobs": {"j": {"state": "Binding"}}, "pods": {"q": {"state": "Pending"}}})"),
      "q: there is no such job or member");
  const std::string lost =
      R"({"name": "j", "queue": "q", %"pods": [{"id": "p", "state": "Pending", "subgroup": "b"}]})";
  const std::string expect = R"({"jobs": {"j": {"state": "Binding"}}})";
  expect_told(sparse("", "", "", filled(lost, ""), expect), "p: the job has no subgroup 'b'");
  const auto with_set = [&](const std::string& set) {
    return sparse("", "", "", filled(lost, R"("subgroups": {"podsets": [{"name": ")" + set + R"("}]}, )"), expect);
  };
  expect_told(with_set("a"), "p: the job has no subgroup 'b'");
  EXPECT_EQ(told_of(with_set("b")), "");
}

// Stale for exactly the grace time is stale: docs/policy.md.
TEST(PolicyQuotaCases, TimesOfBrokenGangsMayHaveFractions) {
  const auto told = [](const std::string& grace, const std::string& since, const std::string& state) {
    return told_of(R"({"format": "kai-scenarios/1", "category": "x", "runner": {"mode": "single_action",
        "actions": ["stalegangeviction"], "stale_grace_seconds": )" +
                   grace + R"(}, "cases": [{"id": "c", "nodes": [{"name": "n"}], "queues": [{"name": "q"}],
        "jobs": [{"name": "j", "queue": "q", "min_available": 2, "stale_seconds": )" +
                   since +
                   R"(, "pods": [{"id": "p", "state": "Running", "node": "n"}, {"id": "r", "state": "Pending"}]}],
        "expect": {"pods": {"p": {"state": ")" +
                   state + R"("}}}}]})");
  };
  EXPECT_EQ(told("0.5", "0.25", "Running"), "");
  EXPECT_EQ(told("0.5", "0.5", "Releasing"), "");
  EXPECT_EQ(told("0.5", "0.75", "Releasing"), "");
  EXPECT_EQ(told("-1", "5", "Running"), "");
}

// Spec: policy-runai 7: 100 points for a place that waits for no other job, in the search for victims too.
TEST(PolicyQuotaCases, WhoIsPlacedWithVictimsTakesIdleBandsFirst) {
  EXPECT_EQ(told_of(R"({"format": "kai-scenarios/1", "category": "x", "runner": {"mode": "single_action",
      "actions": ["reclaim"]}, "cases": [{"id": "c", "nodes": [{"name": "n0", "gpus": 2}, {"name": "n1", "gpus": 2}],
      "queues": [{"name": "mine", "gpu": {"quota": 4}}, {"name": "theirs", "gpu": {"quota": 0}}], "jobs": [
      {"name": "v", "queue": "theirs", "priority": 50, "per_pod": {"gpus": 2},
       "pods": [{"id": "v0", "state": "Running", "node": "n0"}]},
      {"name": "g", "queue": "mine", "priority": 50, "min_available": 2, "per_pod": {"gpus": 2},
       "pods": [{"id": "g0", "state": "Pending"}, {"id": "g1", "state": "Pending"}]}],
      "expect": {"pods": {"v0": {"state": "Releasing"}, "g0": {"state": "Pipelined", "node": "n1"},
      "g1": {"state": "Pipelined", "node": "n0"}}}}]})"),
            "");
}

}  // namespace
}  // namespace penstock::tools
