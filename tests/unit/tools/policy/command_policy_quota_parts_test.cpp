// The parts that a case of quotas may change of the policy that it is run with.
#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
namespace {

// tidy: foreign-file nodes, pods, pod, scheduler

/// Two bands of two devices, each half taken; the job `c` wants a whole one. `parts`: of the runner; `settings`: of the
/// case; `expect`: of its jobs.
std::string a_case(const std::string& parts, const std::string& settings, const std::string& expect,
                   const std::string& owner = "mine") {
  const auto job = [](const std::string& name, const std::string& queue, int devices, const std::string& pod) {
    return R"({"name": ")" + name + R"(", "queue": ")" + queue + R"(", "priority": 50, "age_minutes": )" +
           (name == "a" ? "3" : "2") + R"(, "per_pod": {"gpus": )" + std::to_string(devices) +
           R"(}, "pods": [{"id": ")" + name + R"(-0", )" + pod + "}]}";
  };
  const auto project = [](const std::string& name, int quota) {
    return R"({"name": ")" + name + R"(", "parent": "d", "gpu": {"quota": )" + std::to_string(quota) +
           R"(, "limit": -1, "weight": 0}})";
  };
  return R"({"format": "kai-scenarios/1", "category": "x", "runner": {"mode": "single_action", )" + parts +
         R"(}, "cases": [{"id": "c", "name": "c", "nodes": [{"name": "n0", "gpus": 2,
            "gpu_memory_mib": 100, "max_pods": 9},
      {"name": "n1", "gpus": 2, "gpu_memory_mib": 100, "max_pods": 9}],
      "departments": [{"name": "d", "gpu": {"quota": -1, "limit": -1, "weight": -1}}], "queues": [)" +
         project("mine", 2) + ", " + project("theirs", 1) + R"(], "jobs": [)" +
         job("a", owner, 1, R"("state": "Running", "node": "n0")") + ", " +
         job("b", owner, 1, R"("state": "Running", "node": "n1")") + ", " +
         job("c", "mine", 2, R"("state": "Pending")") + R"(], "expect": {"jobs": {)" + expect + "}}" +
         (settings.empty() ? "" : R"(, "scheduler_config": {)" + settings + "}") + "}]}";
}

constexpr const char* kMoves = R"("c": {"state": "Pipelined"})";
constexpr const char* kWaits = R"("a": {"state": "Running"}, "b": {"state": "Running"}, "c": {"state": "Pending"})";
constexpr const char* kBothActions = R"("actions": ["allocate", "consolidation"])";

TEST(PolicyQuotaParts, ACaseLeavesOutActionsOfItsFile) {
  EXPECT_EQ(told_of(a_case(kBothActions, "", kMoves)), "");
  EXPECT_EQ(told_of(a_case(kBothActions, R"("actions": "allocate,consolidation")", kMoves)), "");
  EXPECT_EQ(told_of(a_case(kBothActions, R"("actions": "allocate")", kWaits)), "");
  EXPECT_EQ(told_of(a_case(kBothActions, R"("actions": ["allocate"])", kWaits)), "");
}

TEST(PolicyQuotaParts, ACaseAddsNoActionThatItsFileDoesNotRun) {
  EXPECT_EQ(told_of(a_case(R"("actions": ["allocate"])", R"("actions": "allocate, consolidation")", kWaits)), "");
}

TEST(PolicyQuotaParts, AListOfActionsThatLeavesNothingIsRefused) {
  expect_told(a_case(kBothActions, R"("actions": "reclaim")", kWaits),
              "c: scheduler_config.actions has none of [allocate, consolidation]: nothing would be run");
  expect_told(a_case(kBothActions, R"("actions": "allocate, resign")", kWaits),
              "the action 'resign' is not understood");
  expect_told(a_case(kBothActions, R"("actions": "allocate, allocate")", kWaits),
              "the action 'allocate' is there twice");
}

// `b` could go to the band of `a`; where victims do not move, it is lost.
TEST(PolicyQuotaParts, VictimsOfReclaimAreLostWhereTheyDoNotMove) {
  const std::string reclaim = R"("actions": ["reclaim"])";
  EXPECT_EQ(told_of(a_case(reclaim, "", R"("a": {"state": "Running"}, "b": {"state": "Pipelined"})", "theirs")), "");
  EXPECT_EQ(told_of(a_case(reclaim + R"(, "consolidating_reclaim": false)", "",
                           R"("a": {"state": "Running"}, "b": {"state": "Releasing"}, "c": {"state": "Pipelined"})",
                           "theirs")),
            "");
}

TEST(PolicyQuotaParts, ConsolidationMovesWhereReclaimDoesNot) {
  EXPECT_EQ(told_of(a_case(std::string{kBothActions} + R"(, "consolidating_reclaim": false)", "", kMoves)), "");
}

TEST(PolicyQuotaParts, ASettingThatIsNotUnderstoodFailsItsCase) {
  const auto told = [](const std::string& plugin) {
    return told_of(a_case(kBothActions, R"("plugins": [)" + plugin + "]", kMoves));
  };
  EXPECT_EQ(
      told(
          R"({"name": "predicates"}, {"name": "gpupack"}, {"name": "nodeplacement", "arguments": {"gpu": "binpack"}})"),
      "");
  EXPECT_EQ(told(R"({"name": "dice"})"), "case/c: the plugin 'dice' is not understood\n");
  EXPECT_EQ(told(R"({"name": "ray"}, {"name": "podaffinity", "arguments": {"weight": 1}})"),
            "note: the plugin 'ray' decides nothing here\nnote: the plugin 'podaffinity' decides nothing here\n");
  EXPECT_EQ(told(R"({"name": "gpupack", "arguments": {"how": "well"}})"), "case/c: 'how' is not understood\n");
  EXPECT_EQ(told(R"({"name": "nodeplacement", "arguments": {"gpu": "wide"}})"),
            "case/c: nodeplacement.gpu: 'wide' is not understood; `binpack` or `spread`\n");
  EXPECT_EQ(told(R"({"name": "proportion", "arguments": {"kValue": "-1"}})"),
            "case/c: proportion.kValue: '-1' is not understood; a number from 0 on\n");
  EXPECT_EQ(told(R"({"name": "minruntime", "arguments": {"reclaimResolveMethod": "dice"}})"),
            "case/c: minruntime.reclaimResolveMethod: 'dice' is not understood; `lca` or `queue`\n");
  expect_told(a_case(kBothActions, R"("depth": 3)", kMoves), "c: 'depth' is not understood");
}

TEST(PolicyQuotaParts, ARunnerThatIsNotUnderstoodFailsItsCases) {
  const auto told = [](const std::string& part) {
    return told_of(a_case(std::string{kBothActions} + ", " + part, "", kMoves));
  };
  EXPECT_EQ(told(R"("placement": {"gpu": "binpack", "cpu": "spread", "gpu_sharing": "pack"})"), "");
  EXPECT_EQ(told(R"("placement": {"gpu_sharing": "binpack"})"),
            "case/c: placement.gpu_sharing: 'binpack' is not understood; `pack` or `spread`\n");
  EXPECT_EQ(told(R"("consolidation_victims": "many")"),
            "case/c: consolidation_victims: 'many' is not understood; a number, or `unlimited`\n");
}

TEST(PolicyQuotaParts, TheLeastRuntimeOfASettingProtects) {
  const auto told = [](const std::string& arguments, const std::string& state) {
    std::string text = a_case(R"("actions": ["reclaim"], "consolidating_reclaim": false)",
                              R"("plugins": [{"name": "minruntime", "arguments": {)" + arguments + "}}]",
                              R"("c": {"state": ")" + state + R"("})", "theirs");
    for (std::size_t at = 0; (at = text.find(R"("age_minutes")", at)) != std::string::npos; at += 40)
      text.insert(at, R"("last_start_seconds_ago": 60, )");
    return told_of(text);
  };
  EXPECT_EQ(told(R"("defaultReclaimMinRuntime": "59s")", "Pipelined"), "");
  EXPECT_EQ(told(R"("defaultReclaimMinRuntime": "2m")", "Pending"), "");
  EXPECT_EQ(told(R"("defaultPreemptMinRuntime": "2m")", "Pipelined"), "");
}

}  // namespace
}  // namespace penstock::tools
