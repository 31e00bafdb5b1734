// Sums of factors, past usage and backfill: each field of a case counts, and what is none is refused.
// tidy: foreign-file bank, urgency, nodes
#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
namespace {

std::string file_of(const std::string& kind, const std::string& rest) {
  return R"({"kind": ")" + kind + "\", " + rest + "}";
}

TEST(PolicyFactorCase, ACaseMayWeighOtherwiseThanItsFile) {
  const std::string factors =
      R"("factors": {"wait": 1, "fair_share": 0, "qos": 0, "queue": 0, "job_size": 0, "user": 0})";
  const std::string both = R"("weights": {"wait": 5}, "cases": [{"id": "file", )" + factors +
                           R"(, "expected_priority": 5}, {"id": "own", "weights": {"wait": 7}, )" + factors +
                           R"(, "expected_priority": 7}])";
  EXPECT_EQ(told_of(file_of("priority_seed_formula", both)), "");
  const std::string inputs = R"("inputs": {"fairshare": 0.5, "queue_priority": 2, "bank_priority": 0, "urgency": 16})";
  const std::string raw = R"("default_weights": {"fairshare": 1000, "queue": 10}, "cases": [{"id": "a", )" + inputs +
                          R"(, "expected_priority": 520}, {"id": "b", "weights": {"queue": 100}, )" + inputs +
                          R"(, "expected_priority": 700}])";
  EXPECT_EQ(told_of(file_of("priority", raw)), "");
}

TEST(PolicyFactorCase, WhatIsNoFactorIsRefused) {
  const auto with_wait = [](const std::string& value, const std::string& expected) {
    return file_of("priority_seed_formula",
                   R"("cases": [{"id": "x", "factors": {"wait": )" + value + "}, " + expected + "}]");
  };
  expect_told(with_wait("1.5", R"("expected_priority": 15000)"), "a factor is out of range");
  EXPECT_EQ(told_of(with_wait("1.5", R"("error": "out of range")")), "");
  expect_told(with_wait("0.5", R"("error": "out of range")"), "expected the error");
  expect_told(with_wait("0.5", R"("note": "nothing")"), "`expected_priority`");
  const auto factor = [](const std::string& one) {
    return file_of("priority_seed_formula", R"("factor_cases": {)" + one + "}");
  };
  expect_told(factor(R"("wait": [{"waited_s": 5, "max_s": 0, "f": 0}])"), "must be above 0");
  EXPECT_EQ(told_of(factor(R"("wait": [{"waited_s": 5, "max_s": 0, "error": "max_wait"}])")), "");
  EXPECT_EQ(told_of(factor(R"("qos": [{"qos": "nonesuch", "error": "nonesuch"}])")), "");
  expect_told(factor(R"("job_size": [{"n": 1, "N": 2, "favor": "smal", "f": 1}])"), "'smal' is not understood");
  expect_told(factor(R"("job_size": [{"n": 1, "N": 2}])"), "no `f`");
}

TEST(PolicyFactorCase, ARejectionIsUnderstoodOrFails) {
  const auto when = [](const std::string& what) {
    return file_of("priority", R"("rejections": [{"when": )" + what + "}]");
  };
  expect_told(when(R"("purple elephants", "outcome": "rejected")"), "is not understood");
  EXPECT_EQ(
      told_of(when(R"("project not in the association's list", "message_contains": "project not valid for user")")),
      "");
  EXPECT_EQ(told_of(when(R"("project unknown", "message_contains": "project not valid")")), "");
  EXPECT_EQ(told_of(when(R"("user has max active jobs", "message_contains": "user has max active jobs")")), "");
  for (const char* situation :
       {"user/bank not in flux-accounting", "unknown user", "User has no entry in the bank", "bank does not exist"})
    EXPECT_EQ(told_of(when("\"" + std::string{situation} +
                           R"(", "message_contains": "cannot find user/bank or user/default bank entry")")),
              "");
  for (const char* situation : {"over max_active_jobs", "association has reached its active jobs limit"})
    EXPECT_EQ(told_of(when("\"" + std::string{situation} + R"(", "message_contains": "user has max active jobs")")),
              "");
  for (const char* situation : {"request over max_nodes", "over the size limit of the bank", "too many nodes"})
    EXPECT_EQ(told_of(when("\"" + std::string{situation} + R"(", "message_contains": "max resources limit")")), "");
  EXPECT_EQ(told_of(when(R"("queue not in flux-accounting and deny_unknown_queues = true", "message_contains":
      "is unknown to flux-accounting")")),
            "");
  for (const char* situation : {"user does not belong to queue 'gold'", "User not a member of the queue",
                                "queue not in association's list, user not associated with it",
                                "queue known but not in the list, deny_unknown_queues=true"})
    EXPECT_EQ(told_of(when("\"" + std::string{situation} + R"(", "message_contains": "not valid for user")")), "");
  for (const char* situation : {"association active=0, default queue", "inactive user of a project that it may use"})
    EXPECT_EQ(told_of(when("\"" + std::string{situation} + R"(", "message_contains": "disabled")")), "");
  for (const char* situation :
       {"user over max_active_jobs (limit 5) under bank A", "the user within bank A has reached max active jobs"})
    EXPECT_EQ(told_of(when("\"" + std::string{situation} + R"(", "message_contains": "max active jobs")")), "");
  expect_told(when(R"("user of bank A not over max_nodes", "message_contains": "max")"), "is not understood");
  expect_told(when(R"("under max_active_jobs", "message_contains": "user has max active jobs")"), "is not understood");
  expect_told(when(R"("within the size limit", "outcome": "accepted")"), "is not understood");
  expect_told(when(R"J("association disabled (active=0)", "message_contains": "something else")J"),
              "expected 'something");
}

TEST(PolicyFactorCase, UsageFadesAsTheCaseSaysAndRollsUpAnyDepth) {
  EXPECT_EQ(told_of(file_of("usage", R"("flux_cases": [
      {"id": "quarter", "mode": "bins_raw_power", "decay": 0.25, "bins_newest_first": [128, 64], "current": 100,
       "decayed_bins": [32, 4], "expected_usage": 136},
      {"id": "nested", "example": {"A": {"A1": {"u1": 5, "u2": 6}, "u3": 4}, "B": {"u4": 10}},
       "expected": {"A1": 11, "A": 15, "B": 10, "root": 25, "u3": 4}}])")),
            "");
  expect_told(file_of("usage", R"("flux_cases": [{"id": "x", "mode": "bins_raw_power", "decay": 0.5,
      "bins_newest_first": [128], "current": 0, "decayed_bins": [64, 1], "expected_usage": 64}])"),
              "number of bins");
  expect_told(file_of("usage", R"("flux_cases": [{"id": "x", "mode": "bins_rotate", "bins_newest_first": ["1"]}])"),
              "must be a number");
  expect_told(file_of("usage", R"("continuous": {})"), "nothing to compare with");
  // Told with twelve digits.
  EXPECT_EQ(told_of(file_of("usage", R"("continuous": {"pure_decay": [
      {"initial": 1000000000, "half_life_s": 604800, "dt_s": 86400, "expected": 905723664.264}]})")),
            "");
}

TEST(PolicyFactorCase, WhatNoMachineCanHoldKeepsNobodyWaiting) {
  const auto backfill = [](const std::string& running, const std::string& rest) {
    return file_of("backfill",
                   R"("cases": [{"id": "x", "nodes": 10, "now": 100, "running": [)" + running + "], " + rest + "}]");
  };
  EXPECT_EQ(told_of(backfill(R"({"nodes": 6, "ends": 110})", R"(
      "queue_in_priority_order": [{"id": "huge", "nodes": 11, "wall": 5}, {"id": "b", "nodes": 4, "wall": 5}],
      "expected": {"easy": {"start_now": ["b"], "reservations": {}}, "conservative": {"start_now": ["b"]}})")),
            "");
  // Past its limit: it ends a step of time from now, of a minute unless said.
  EXPECT_EQ(told_of(backfill(R"({"nodes": 6, "ends": 90})", R"(
      "queue_in_priority_order": [{"id": "a", "nodes": 8, "wall": 5}],
      "expected": {"easy": {"start_now": [], "reservations": {"a": 160}}})")),
            "");
  expect_told(backfill("", R"("queue_in_priority_order": [])"), "nothing to compare with");
  expect_told(backfill(R"({"nodes": 11, "ends": 110})", R"("expected": {"easy": {"start_now": []}})"),
              "hold more than");
  expect_told(backfill("", R"("expected": {"hybrid_2x": {"start_now": []}})"), "not understood");
}

}  // namespace
}  // namespace penstock::tools
