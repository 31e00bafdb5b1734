// Reference cases as others may write them: nothing that stands in a file ends the program.
#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
namespace {

// tidy: foreign-file agents, tasks, task, nodes, pods, pod, agent, scheduler
constexpr const char* kSlotCase = R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "schedule",
 "scheduler": {"type": "priority", "preemption": true},
 "agents": [{"id": "a", "slots": 4, "max_zero_slot": 1}, {"id": "b", "slots": 2}],
 "groups": [{"id": "g", "priority": 1}, {"id": "h", "weight": 2, "max_slots": 3}],
 "queue_positions": {"g": "1.5", "h": "2"},
 "tasks": [{"id": "t", "job": "g", "slots": 4, "submitted": 1},
           {"id": "u", "job": "h", "slots": 2, "submitted": 2, "running_on": "b", "blocked_agents": ["a"]}],
 "steps": [{"op": "schedule", "expect": {"to_allocate": ["t"], "to_release": []}}, {"op": "apply_allocations"},
           {"op": "check_empty_slots", "expect": {"a": 0, "b": 0}},
           {"op": "job_queue", "expect": {"jobs": {"g": {"state": "scheduled"}}, "count": 2}},
           {"op": "finish_tasks", "tasks": ["t"]}]})";
constexpr const char* kQuotaCase = R"({"format": "kai-scenarios/1", "category": "x",
 "runner": {"mode": "rounds", "actions": ["allocate", "reclaim"], "rounds_until_match": 2, "rounds_after_match": 1},
 "cases": [{"id": "c", "name": "n",
  "nodes": [{"name": "n0", "gpus": 2, "cpu_milli": 8000, "memory_bytes": 1000000000, "gpu_memory_mib": 100,
             "max_pods": 9}],
  "departments": [{"name": "d", "order": 0, "gpu": {"quota": 2, "limit": -1, "weight": 1}}],
  "queues": [{"name": "q", "parent": "d", "order": 1, "gpu": {"quota": 1, "limit": -1, "weight": 1}}],
  "jobs": [{"name": "j", "queue": "q", "priority": 50, "age_minutes": 1, "min_available": 1,
            "per_pod": {"cpu_milli": 100, "memory_bytes": 1000, "gpus": 0.5, "fraction_devices": 1},
            "pods": [{"id": "j-0", "state": "Running", "node": "n0", "gpu_groups": ["0"]},
                     {"id": "j-1", "state": "Pending", "node_affinity": ["n0"]}]}],
  "expect": {"jobs": {"j": {"state": "Running", "gpus_requested": 1}}, "nodes": {"n0": {"idle_gpus": 1}}}},
 {"id": "r", "kind": "reclaim_allowed", "total": {"gpu": 4},
  "queues": [{"id": "p", "gpu": {"quota": 1, "fair_share": 2, "allocated": 0}},
             {"id": "v", "parent": "p", "gpu": {"quota": 1, "fair_share": 1, "allocated": 3}},
             {"id": "w", "parent": "p", "gpu": {"quota": 1, "fair_share": 1}}],
  "reclaimer": {"queue": "w", "requests": {"gpu": 1}}, "victims_by_queue": {"v": [{"gpu": 1}]},
  "expect": {"allowed": true}},
 {"id": "f", "kind": "fair_share_one_resource", "resource": "gpu", "total": 4,
  "queues": [{"id": "1", "gpu": {"quota": 1, "request": 3, "weight": 1}}],
  "expect": {"fair_share": {"1": 3}, "remaining": 1}}]})";
constexpr const char* kLimitCase = R"({"kind": "limits", "defaults": {"assoc": {"max_running_jobs": 1}, "queue": {}},
 "scenarios": [{"id": "s", "assocs": {"A": {"max_nodes": 4}}, "machine_nodes": 8,
  "steps": [{"op": "submit", "job": "a", "bank": "A", "nodes": 2, "expect": "run"},
            {"op": "submit", "job": "b", "bank": "A", "expect": "held", "holds": ["max-running-jobs-user-limit"]},
            {"op": "finish", "job": "a", "released": ["b"], "still_held": []}]}]})";
constexpr const char* kBackfillCase = R"({"kind": "backfill", "cases": [{"id": "b", "nodes": 4, "now": 0,
  "running": [{"nodes": 3, "ends": 10}], "queue_in_priority_order": [{"id": "J1", "nodes": 4, "wall": 5},
  {"id": "J2", "nodes": 1, "wall": 10}],
  "expected": {"easy": {"start_now": ["J2"], "reservations": {"J1": 10}}}}]})";
constexpr const char* kTreeCase = R"({"kind": "fairshare_tree", "tree": {"name": "root", "type": "account", "shares": 1,
  "children": [{"name": "A", "type": "account", "shares": 1, "children": [{"name": "u", "type": "user", "shares": 1,
  "usage": 5}]}]}, "expected": {"balanced_lambda_0.5": {"A/u": 0.5}}})";

constexpr const char* kChangeCase = R"({"kind": "limits", "scenarios": [{"id": "s", "assocs": {"A": {"max_nodes": 4},
  "B": {"active": 1, "queues": "q", "projects": "p"}}, "queues": {"q": {"min_nodes_per_job": 1, "max_time_s": 60}},
  "machine_nodes": 8, "cores_per_node": 2, "grants": {"users": ["u"], "accounts": []},
  "steps": [{"op": "submit", "job": "a", "bank": "A", "user": "u", "nodes": 2, "cores": 3, "wall_s": 9,
             "expect": "run"},
            {"op": "submit", "job": "b", "bank": "A", "user": "u", "hold": true, "expect": "pending"},
            {"op": "update", "job": "b", "bank": "B", "queue": "q", "qos": "expedite", "project": "p", "expect": "ok"},
            {"op": "set_limit", "bank": "A", "max_nodes": 3, "released": []},
            {"op": "set_limit", "queue": "q", "max_running_jobs": 3},
            {"op": "release", "job": "b", "expect": "run", "released": ["b"], "holds_now": {"b": []}}]}]})";
constexpr const char* kSumCase = R"({"kind": "priority_seed_formula", "weights": {"wait": 10}, "cases": [{"id": "c",
  "weights": {"qos": 4}, "factors": {"wait": 1, "qos": 0.5}, "expected_priority": 12}],
  "factor_cases": {"wait": [{"waited_s": 1, "max_s": 2, "f": 0.5}], "user": [{"request": 2, "error": "lower"}],
  "job_size": [{"n": 1, "N": 4, "favor": "small", "f": 1}]}})";
constexpr const char* kUsageCase =
    R"({"kind": "usage", "flux_cases": [{"id": "r", "mode": "bins_raw_power", "decay": 0.5,
  "bins_newest_first": [4, 4], "current": 1, "decayed_bins": [2, 1], "expected_usage": 4},
  {"id": "b", "mode": "bins_rotate", "bins_newest_first": [4], "new_jobs": [[1, 2]], "rotate": true,
   "expected_usage": 2},
  {"id": "n", "example": {"A": {"u": 5}}, "expected": {"A": 5}},
  {"id": "w", "mode": "weighted_charge", "elapsed_s": 2, "amounts": {"x": 3}, "weights": {"x": 1}, "expected_usage": 6},
  {"id": "t", "table": [{"reset_s": 4, "half_life_s": 2, "bins": 2}]}],
  "continuous": {"pure_decay": [{"initial": 2, "half_life_s": 1, "dt_s": 1, "expected": 1}]},
  "billing": {"weights": {"x": 2}, "sum_mode": [{"x": 2, "expected": 4}]}})";

TEST(PolicyCheck, RunsTheCasesThatTheOthersAreMadeOf) {
  const ScratchDirectory scratch;
  for (const char* text :
       {kSlotCase, kQuotaCase, kLimitCase, kChangeCase, kBackfillCase, kTreeCase, kSumCase, kUsageCase}) {
    const auto verdicts = check_policy_cases(scratch.write("case.json", text));
    ASSERT_TRUE(verdicts) << to_string(verdicts.error());
    for (const CaseVerdict& verdict : *verdicts) {
      for (const std::string& difference : verdict.differences) ADD_FAILURE() << verdict.id << ": " << difference;
      for (const std::string& remark : verdict.remarks) ADD_FAILURE() << verdict.id << ": " << remark;
    }
  }
}

/// Every scalar of `text` in turn, from `begin` to `end`: what stands between `:`, `[`, `,` and the next delimiter.
std::vector<std::pair<std::size_t, std::size_t>> scalars_of(const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != ':' && text[at] != '[' && text[at] != ',') continue;
    std::size_t begin = text.find_first_not_of(" \n", at + 1);
    if (begin == std::string::npos || text[begin] == '{' || text[begin] == '[' || text[begin] == ']') continue;
    std::size_t end = text[begin] == '"' ? text.find('"', begin + 1) + 1 : text.find_first_of(",]} \n", begin);
    if (text.find_first_not_of(" \n", end) != std::string::npos && text[text.find_first_not_of(" \n", end)] == ':')
      continue;  // A name.
    found.emplace_back(begin, end);
  }
  return found;
}

/// Each value of each case is replaced by some of these in turn.
TEST(PolicyCheck, NothingInAFileEndsTheProgram) {
  static constexpr const char* kInstead[] = {"null",  "true",      "-1", "900000000",
                                             "1e300", "\"other\"", "[]", "{\"v\": 1}"};
  const ScratchDirectory scratch;
  std::size_t turn = 0;
  for (const std::string text :
       {kSlotCase, kQuotaCase, kLimitCase, kChangeCase, kBackfillCase, kTreeCase, kSumCase, kUsageCase})
    for (const auto& [begin, end] : scalars_of(text))
      for (int i = 0; i < 3; ++i) {
        const std::string changed = text.substr(0, begin) + kInstead[turn++ % std::size(kInstead)] + text.substr(end);
        // Refused, different, or even the same: but told, and without an end of the program.
        const auto verdicts = check_policy_cases(scratch.write("case.json", changed));
        EXPECT_TRUE(verdicts || !to_string(verdicts.error()).empty());
      }
}

TEST(PolicyCheck, AMistakeFailsItsCaseAndNoOther) {
  const ScratchDirectory scratch;
  std::string text = kQuotaCase;
  text.replace(text.find("\"age_minutes\": 1"), 16, "\"age_minutes\": \"old\"");
  const auto verdicts = check_policy_cases(scratch.write("case.json", text));
  ASSERT_TRUE(verdicts);
  ASSERT_EQ(verdicts->size(), 3U);
  ASSERT_EQ((*verdicts)[0].differences.size(), 1U);
  EXPECT_NE((*verdicts)[0].differences[0].find("`cases[0].jobs[0].age_minutes` must be a number, is text"),
            std::string::npos)
      << (*verdicts)[0].differences[0];
  EXPECT_TRUE((*verdicts)[1].passed());
  EXPECT_TRUE((*verdicts)[2].passed());
}

// One that cannot be read fails alone; the others are run.
TEST(PolicyCheck, AFileThatIsNoCaseFailsAlone) {
  const ScratchDirectory scratch;
  scratch.write("a.json", kTreeCase);
  scratch.write("b.json", "{\"kind\": ");
  scratch.write("c.json", R"({"kind": "unheard-of"})");
  scratch.write("d.json", R"({"packages": []})");
  scratch.write("e.json", kLimitCase);
  const auto verdicts = check_policy_cases(scratch.path());
  ASSERT_TRUE(verdicts) << to_string(verdicts.error());
  ASSERT_EQ(verdicts->size(), 5U);
  const bool passes[] = {true, false, false, false, true};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ((*verdicts)[i].passed(), passes[i]) << (*verdicts)[i].id;
  EXPECT_NE((*verdicts)[1].differences[0].find("b.json:1:"), std::string::npos) << (*verdicts)[1].differences[0];
  EXPECT_NE((*verdicts)[2].differences[0].find("no reference case of a known format"), std::string::npos);
}

TEST(PolicyCheck, WhereThereIsNoCaseNothingPasses) {
  const ScratchDirectory scratch;
  for (const char* text : {R"({"kind": "limits", "scenarios": []})", R"({"kind": "priority"})",
                           R"({"kind": "backfill", "cases": []})", R"({"kind": "usage"})"}) {
    const auto verdicts = check_policy_cases(scratch.write("case.json", text));
    ASSERT_TRUE(verdicts);
    ASSERT_EQ(verdicts->size(), 1U) << text;
    EXPECT_FALSE((*verdicts)[0].passed()) << text;
  }
  const ScratchDirectory empty;
  const auto none = check_policy_cases(empty.path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "there is no case file in this folder or below");
}

std::string slot_case(const std::string& tasks, const std::string& allocated, const std::string& tags) {
  return R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "schedule", "scheduler": {"type": "fair_share"},
    "agents": [{"id": "a", "slots": 2, "max_zero_slot": 0}, {"id": "b", "slots": 2, "max_zero_slot": 0}],
    "groups": [{"id": "g", "weight": 1}, {"id": "h", "weight": 3}], "tasks": [)" +
         tasks + R"(], "steps": [{"op": "schedule", "expect": {"to_allocate": [)" + allocated +
         R"(], "to_release": []}}], "tags": {)" + tags + "}}";
}

// The tags of cases mean what the README of the cases says.
TEST(PolicyCheck, TagsOfACaseSayWhichRulesItFollows) {
  std::string many;
  for (const char* each : {"g1 g", "g2 g", "h1 h", "h2 h", "h3 h"})
    many += std::string{many.empty() ? "" : ", "} + R"({"id": ")" + std::string{each, 2} + R"(", "job": ")" + each[3] +
            R"(", "slots": 1, "submitted": )" + std::to_string(many.size() + 1) + "}";
  // Weights 1 and 3 on 4 slots; demands 2 and 3.
  const std::string fair = R"("g1", "h1", "h2", "h3")";
  EXPECT_EQ(told_of(slot_case(many, fair, R"("same_under_proportional": false)")), "");
}

TEST(PolicyCheck, AnAllocationIsAssignedAndAnyErrorIsAFailure) {
  EXPECT_EQ(told_of(R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": "allocation_lifecycle", "steps": [
      {"op": "container", "state": "assigned"}, {"op": "expect", "state": "assigned", "error": null},
      {"op": "container", "state": "running"}, {"op": "container", "state": "terminated", "failure": {"code": 1}},
      {"op": "expect", "state": "terminated", "error": "container failed with code 1"}]})"),
            "");
}

/// One band of two devices; `queues` and `jobs` are given.
std::string quota_case(const std::string& action, const std::string& queues, const std::string& jobs,
                       const std::string& rest) {
  return R"({"format": "kai-scenarios/1", "category": "x", "runner": {"mode": "single_action", "actions": [")" +
         action +
         R"("]}, "cases": [{"id": "c", "nodes": [{"name": "n0", "gpus": 2, "cpu_milli": 8000,
                                                "memory_bytes": 8000000000,
         "gpu_memory_mib": 100, "max_pods": 9}], "queues": [)" +
         queues + R"(], "jobs": [)" + jobs + "], " + rest + "}]}";
}
std::string queue_of(const std::string& name, const std::string& rest) {
  return R"({"name": ")" + name + R"(", "gpu": {"quota": 1, "limit": -1}, "cpu_milli": {"quota": -1},
         "memory_mb": {"quota": -1})" +
         rest + "}";
}
std::string job_of(const std::string& name, const std::string& queue, const std::string& devices,
                   const std::string& pod, const std::string& rest) {
  return R"({"name": ")" + name + R"(", "queue": ")" + queue + R"(", "priority": 50, "per_pod": {"cpu_milli": 1,
         "memory_bytes": 1, "gpus": )" +
         devices + R"(}, "pods": [{"id": ")" + name + R"(-0", )" + pod + "}]" + rest + "}";
}
constexpr const char* kRuns = R"("state": "Running", "node": "n0")";
constexpr const char* kWaits = R"("state": "Pending")";

TEST(PolicyCheck, WhoHasRunTooShortlyIsNotReclaimed) {
  const auto reclaim = [](const std::string& since, const std::string& states) {
    return quota_case("reclaim", queue_of("q", R"(, "reclaim_min_runtime_s": 600)") + ", " + queue_of("p", ""),
                      job_of("r", "q", "2", kRuns, R"(, "last_start_seconds_ago": )" + since) + ", " +
                          job_of("w", "p", "1", kWaits, ""),
                      R"("expect": {"jobs": )" + states + "}");
  };
  EXPECT_EQ(told_of(reclaim("10", R"({"r": {"state": "Running"}, "w": {"state": "Pending"}})")), "");
  EXPECT_EQ(told_of(reclaim("601", R"({"r": {"state": "Releasing"}, "w": {"state": "Pipelined"}})")), "");
}

TEST(PolicyCheck, ParentsMayComeLaterAndNoneIsMadeUp) {
  const auto allocate = [](const std::string& queues, const std::string& state) {
    return quota_case("allocate", queues, job_of("w", "leaf", "1", kWaits, ""),
                      R"("expect": {"jobs": {"w": {"state": ")" + state + "\"}}}");
  };
  const std::string leaf = queue_of("leaf", R"(, "parent": "mid")");
  EXPECT_EQ(told_of(allocate(leaf + ", " + queue_of("mid", ""), "Bound")), "");
  EXPECT_EQ(told_of(allocate(leaf, "Pending")), "");
  EXPECT_EQ(told_of(allocate(leaf + ", " + queue_of("mid", R"(, "parent": "nobody")"), "Pending")), "");
  EXPECT_NE(told_of(allocate(queue_of("leaf", R"(, "parent": "leaf")"), "Pending")).find("its own ancestor"),
            std::string::npos);
  EXPECT_NE(told_of(allocate(leaf + ", " + leaf, "Pending")).find("two queues are called 'leaf'"), std::string::npos);
  EXPECT_NE(told_of(allocate(R"({"name": "leaf", "gpu": {"quota": -2}})", "Pending")).find("quota of gpu is negative"),
            std::string::npos);
}

TEST(PolicyCheck, OnlyWhatACaseNamesIsCompared) {
  const std::string nowhere = R"("state": "Pending", "node_affinity": ["nowhere"])";
  EXPECT_EQ(told_of(quota_case("allocate", queue_of("q", ""), job_of("w", "q", "1", nowhere, ""),
                               R"("node_filters": false, "expect": {"pods": {"w-0": {"node": "n0"}}})")),
            "");
}

TEST(PolicyCheck, WhatNobodyReadsAroundQuotaCasesIsTold) {
  std::string text = quota_case("allocate", queue_of("q", ""), job_of("w", "q", "1", kWaits, ""),
                                R"("expect": {"jobs": {"w": {"state": "Binding"}}})");
  EXPECT_EQ(told_of(text), "");
  text.replace(text.find("\"mode\""), 6, "\"colour\": 1, \"mode\"");
  expect_told(text, "`runner.colour` is no field of this format");
}

}  // namespace
}  // namespace penstock::tools
