// tidy: foreign-file agents, tasks, task, scheduler
#include "tools/policy/schedule_jobs.hpp"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

cli::DocumentValue file_of(const std::string& type, const std::string& tasks, const std::string& steps = "") {
  const std::string text = R"({"scheduler": {"type": ")" + type + R"("}, "agents": [{"id": "a", "slots": 2},
      {"id": "b", "slots": 2}], "groups": [{"id": "g", "weight": 2}], "tasks": [)" +
                           tasks + R"(], "steps": [)" + steps + "]}";
  Result<cli::DocumentValue> file = cli::parse_document(text, cli::DocumentFormat::Json, "case.json", 16);
  EXPECT_TRUE(file) << text;
  return file ? std::move(file).value() : cli::DocumentValue{};
}

constexpr const char* kAlike = R"({"id": "1", "job": "g", "slots": 1, "submitted": 1},
    {"id": "2", "job": "g", "slots": 1, "submitted": 2}, {"id": "light", "job": "g", "slots": 0, "submitted": 3},
    {"id": "large", "job": "g", "slots": 2, "submitted": 4})";

TEST(ScheduleJobs, TasksThatAreAlikeAreOneJobWhereJobsShare) {
  CaseChecker checker{"x", "schedule"};
  const cli::DocumentValue shared = file_of("fair_share", kAlike);
  ScheduleJobs jobs{shared, checker};
  EXPECT_EQ(jobs.tasks().at("2").id, jobs.tasks().at("1").id);
  EXPECT_EQ(jobs.tasks().at("light").id, jobs.tasks().at("1").id);
  EXPECT_NE(jobs.tasks().at("large").id, jobs.tasks().at("1").id);
  EXPECT_EQ(jobs.tasks().at("light").first, 2U);
  const cli::DocumentValue in_order = file_of("priority", kAlike);
  ScheduleJobs apart{in_order, checker};
  EXPECT_NE(apart.tasks().at("2").id, apart.tasks().at("1").id);
  EXPECT_TRUE(checker.differences().empty());
}

TEST(ScheduleJobs, WhatWaitsTakesPartWhenItIsReleased) {
  CaseChecker checker{"x", "schedule"};
  const cli::DocumentValue file = file_of("priority", R"({"id": "waits", "job": "g", "slots": 4, "submitted": 1},
      {"id": "runs", "job": "g", "slots": 1, "submitted": 2, "running_on": "b"})");
  ScheduleJobs jobs{file, checker};
  EXPECT_LT(jobs.tasks().at("waits").id.value(), jobs.tasks().at("runs").id.value()) << "the older comes first";
  ASSERT_EQ(jobs.runs_of("runs").size(), 1U);
  EXPECT_EQ(jobs.cluster().name_of(jobs.runs_of("runs")[0].worker), "b");
  jobs.cluster().end(jobs.runs_of("runs")[0].subtask);
  jobs.cluster().settle();
  EXPECT_TRUE(jobs.runs_of("waits").empty());
  jobs.release();
  jobs.cluster().settle();
  EXPECT_EQ(jobs.runs_of("waits").size(), 4U) << "a gang";
  EXPECT_TRUE(checker.differences().empty());
}

TEST(ScheduleJobs, MoreMayRunThanAnAgentHasSlots) {
  CaseChecker checker{"x", "schedule"};
  std::string tasks;
  for (const char* name : {"1", "2"})
    tasks += (tasks.empty() ? "" : ", ") + (R"({"id": ")" + std::string{name}) +
             R"(", "job": "g", "slots": 2, "running_on": "a", "holds_slots": false})";
  const cli::DocumentValue file = file_of("fair_share", tasks);
  ScheduleJobs jobs{file, checker};
  EXPECT_EQ(jobs.cluster().runs().size(), 2U);
  for (const auto& [id, run] : jobs.cluster().runs()) EXPECT_EQ(jobs.cluster().name_of(run.worker), "a");
  EXPECT_TRUE(checker.differences().empty());
}

TEST(ScheduleJobs, OrdersInVainAreTold) {
  CaseChecker checker{"x", "schedule"};
  const cli::DocumentValue file = file_of("priority", R"({"id": "1", "job": "g", "slots": 1})");
  ScheduleJobs jobs{file, checker};
  jobs.cancel("1");
  EXPECT_TRUE(checker.differences().empty());
  jobs.cancel("2");
  jobs.set_weight("h", 2);
  EXPECT_GE(checker.differences().size(), 2U);
}

}  // namespace
}  // namespace penstock::tools
