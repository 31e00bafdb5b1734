// tidy: foreign-file pod, pods, nodes
#include "tools/policy/command_policy_quota_jobs.hpp"

#include "tests/unit/tools/policy/policy_case_support.hpp"

namespace penstock::tools {
namespace {

struct CaseText {
  std::string jobs;
  std::string expect;
  std::string mode = R"("mode": "single_action", "actions": ["reclaim"])";

  std::string text() const {
    return R"({"format": "kai-scenarios/1", "category": "x", "runner": {)" + mode + R"(}, "cases": [{"id": "c",
        "name": "c", "nodes": [{"name": "n0", "gpus": 2}, {"name": "n1", "gpus": 2}],
        "queues": [{"name": "a", "gpu": {"quota": 2}}, {"name": "b", "gpu": {"quota": 2}}],
        "jobs": [)" +
           jobs + R"(], "expect": {)" + expect + "}}]}";
  }
};

std::string job(const std::string& name, const std::string& queue, const std::string& gpus, const std::string& age,
                const std::string& pod) {
  return R"({"name": ")" + name + R"(", "queue": ")" + queue + R"(", "priority": 50, "age_minutes": )" + age +
         R"(, "per_pod": {"gpus": )" + gpus + R"(}, "pods": [{"id": ")" + name + R"(-0", )" + pod + "}]}";
}

const std::string kOnFirst = R"("state": "Running", "node": "n0")";
const std::string kOnSecond = R"("state": "Running", "node": "n1")";
const std::string kWaits = R"("state": "Pending")";

std::string crowd() {
  return job("old", "a", "2", "3", kOnFirst) + ", " + job("young", "a", "2", "2", kOnSecond) + ", " +
         job("mine", "b", "2", "1", kWaits);
}

bool is_live(const std::string& text) {
  const Result<cli::DocumentValue> file = cli::parse_document(text, cli::DocumentFormat::Json, "case.json", 32);
  return file && runs_as_quota_jobs(*file, field_of(*file, "cases").items[0]);
}

TEST(PolicyQuotaJobs, WhatIsPromisedStartsWhenItsVictimHasLeft) {
  const CaseText sound{crowd(), R"("jobs": {"old": {"state": "Running", "node": "n0"},
      "young": {"state": "Releasing", "node": "n1"}, "mine": {"state": "Pipelined", "node": "n1"}})"};
  ASSERT_TRUE(is_live(sound.text()));
  EXPECT_EQ(told_of(sound.text()), "");
}

TEST(PolicyQuotaJobs, ADifferenceIsTold) {
  expect_told(CaseText{crowd(), R"("jobs": {"old": {"state": "Releasing"}})"}.text(),
              "old: expected Releasing, got Running on n0");
  expect_told(CaseText{crowd(), R"("jobs": {"young": {"state": "Releasing", "node": "n0"}})"}.text(),
              "young: expected Releasing on n0, got Releasing on n1");
  expect_told(CaseText{crowd(), R"("jobs": {"mine": {"state": "Pending"}})"}.text(), "mine: expected Pending, got");
  expect_told(CaseText{crowd(), R"("max_evictions": 0, "jobs": {"old": {"state": "Running"}})"}.text(),
              "preemptions: expected 0, got 1");
  expect_told(CaseText{crowd(), R"("jobs": {"none": {"state": "Running"}})"}.text(), "none: there is no such job");
  expect_told(CaseText{job("j", "a", "3", "1", kOnFirst), R"("jobs": {"j": {"state": "Running"}})"}.text(),
              "more runs on 'n0' than it has slots");
}

TEST(PolicyQuotaJobs, InRoundsWhatLeavesIsGone) {
  const CaseText sound{crowd(),
                       R"("jobs": {"old": {"state": "Running"}, "young": {"state": "Pending"},
                           "mine": {"state": "Running", "node": "n1"}})",
                       R"("mode": "rounds", "actions": ["allocate", "reclaim"])"};
  ASSERT_TRUE(is_live(sound.text()));
  EXPECT_EQ(told_of(sound.text()), "");
}

TEST(PolicyQuotaJobs, PartsOfADeviceGoWhereOneIsPartlyTaken) {
  const std::string jobs = job("half", "a", "0.5", "2", kOnFirst + R"(, "gpu_groups": ["x"])") + ", " +
                           job("other", "a", "1", "2", kOnFirst) + ", " + job("less", "a", "0.3", "1", kWaits);
  const auto expect = [](const std::string& group) {
    return R"("jobs": {"half": {"state": "Running", "gpu_groups": ["x"]}, "other": {"state": "Running",
        "gpu_groups": ["y"]}, "less": {"state": "Binding", "node": "n0", "gpu_groups": [")" +
           group + R"("]}})";
  };
  const CaseText sound{jobs, expect("x"), R"("mode": "single_action", "actions": ["allocate"])"};
  ASSERT_TRUE(is_live(sound.text()));
  EXPECT_EQ(told_of(sound.text()), "");
  expect_told(CaseText{jobs, expect("y"), sound.mode}.text(), "device, as other: expected");
}

}  // namespace
}  // namespace penstock::tools
