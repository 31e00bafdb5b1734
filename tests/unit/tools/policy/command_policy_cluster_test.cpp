// Cases of single rules that run on a cluster: each has to fail when its expectation is wrong.
#include "tools/policy/command_policy_cluster.hpp"

#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
namespace {

std::string case_of(const std::string& kind, const std::string& rest) {
  return R"({"schema": "cluster-policy-scenario/1", "id": "x", "kind": ")" + kind + "\", " + rest + "}";
}

TEST(PolicyClusterCase, AGangHasEqualPartsOnWorkersOfThatSize) {
  const auto told = [](int slots, int each, const char* accepted) {
    return told_of(case_of("gang_shape", R"("slots": )" + std::to_string(slots) + R"(, "max_slots_per_pod": )" +
                                             std::to_string(each) + R"(, "expect": {"accepted": )" + accepted + "}"));
  };
  EXPECT_EQ(told(1, 2, "true"), "");
  EXPECT_EQ(told(8, 4, "true"), "");
  EXPECT_EQ(told(6, 4, "false"), "");
  EXPECT_NE(told(6, 4, "true"), "");
  EXPECT_NE(told(8, 4, "false"), "");
}

// Spec: policy-determined 5.6 and 9.1.
TEST(PolicyClusterCase, APriorityThatCannotMatterIsRefusedAndLightJobsHaveAPool) {
  const auto change = [](const std::string& preemptible, const std::string& accepted) {
    return told_of(case_of("k8s_priority_change", R"("new_priority": 7, "preemptible": )" + preemptible +
                                                      R"(, "expect": {"accepted": )" + accepted + "}"));
  };
  EXPECT_EQ(change("true", "true"), "");
  EXPECT_EQ(change("false", "false"), "");
  EXPECT_NE(change("false", "true"), "");
  const auto route = [](const char* expected) {
    return told_of(case_of("pool_routing", std::string{R"("default_aux_pool": "a", "default_compute_pool": "c",
        "requests": [{"id": "l", "slots": 0, "pool": null}, {"id": "h", "slots": 2, "pool": null},
        {"id": "n", "slots": 2, "pool": "a"}], "expect": {"pool": )"} + expected + "}"));
  };
  EXPECT_EQ(route(R"({"l": "a", "h": "c", "n": "a"})"), "");
  EXPECT_NE(route(R"({"l": "c"})"), "");
  EXPECT_NE(route(R"({"h": "a"})"), "");
}

TEST(PolicyClusterCase, AWorkerThatComesBackChangedIsToldToRestart) {
  const std::string one = R"([{"id": 0, "brand": "nvda", "uuid": "u0", "type": "3090"}])";
  const std::string other = R"([{"id": 0, "brand": "nvda", "uuid": "u1", "type": "3090"}])";
  const auto told = [](const std::string& known, const std::string& reported, const char* error) {
    return told_of(case_of("reconnect_check", R"("known_devices": )" + known + R"(, "reported_devices": )" + reported +
                                                  R"(, "expect": {"error_contains": )" + error + "}"));
  };
  EXPECT_EQ(told(one, one, "null"), "");
  EXPECT_EQ(told(one, "[]", R"("device count has changed")"), "");
  EXPECT_EQ(told(one, other, R"("device properties have changed")"), "");
  EXPECT_NE(told(one, one, R"("device count has changed")"), "");
}

// Spec: policy-determined 7.
TEST(PolicyClusterCase, ARunIsAskedToLeaveAndKilledAtItsDeadline) {
  const auto told = [](const char* last) {
    return told_of(case_of("preemption_flag", std::string{R"("steps": [{"op": "watch", "w": 1},
        {"op": "expect_signal", "w": 1, "signalled": false}, {"op": "preempt", "timeout_s": 30},
        {"op": "expect_signal", "w": 1, "signalled": true}, {"op": "expect_signal", "w": 2, "signalled": false},
        {"op": "expect_for", "seconds": 20, "timed_out": false}, )"} + last + "]"));
  };
  EXPECT_EQ(told(R"({"op": "expect_within", "seconds": 20, "timed_out": true, "state": "terminated"})"), "");
  EXPECT_NE(told(R"({"op": "expect_within", "seconds": 20, "timed_out": false})"), "");
  EXPECT_EQ(told_of(case_of("allocation_lifecycle", R"("steps": [{"op": "assign"}, {"op": "signal_terminate"},
      {"op": "expect", "state": "terminated", "error": null, "resources_released": true}])")),
            "");
}

}  // namespace
}  // namespace penstock::tools
