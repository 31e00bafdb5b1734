#include "worker/runner/process/job_logs.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace penstock::worker {
namespace {

SubtaskId subtask(std::uint32_t job, std::uint32_t index) { return {JobId{job}, SubtaskIndex{index}}; }

TEST(JobLogs, AJobHasTheLinesOfItsSubtasksInOrder) {
  JobLogs logs{{1000, 4}};
  logs.add(subtask(1, 7), Attempt{1}, "one");
  logs.add(subtask(2, 0), Attempt{1}, "of another job");
  logs.add(subtask(1, 8), Attempt{2}, "two");
  EXPECT_EQ(logs.text(JobId{1}), "1:7#1 one\n1:8#2 two\n");
  EXPECT_EQ(logs.text(JobId{3}), "");
}

TEST(JobLogs, AtTheLimitOldestLinesGoAndItIsSaid) {
  JobLogs logs{{8, 4}};  // Two lines of three characters, with their ends.
  logs.add(subtask(1, 0), Attempt{1}, "aaa");
  logs.add(subtask(1, 0), Attempt{1}, "bbb");
  EXPECT_EQ(logs.text(JobId{1}), "1:0#1 aaa\n1:0#1 bbb\n");
  logs.add(subtask(1, 0), Attempt{1}, "ccc");
  EXPECT_EQ(logs.text(JobId{1}), "... 1 earlier lines were dropped\n1:0#1 bbb\n1:0#1 ccc\n");
  logs.add(subtask(1, 0), Attempt{1}, "a line that is longer than all");
  EXPECT_EQ(logs.text(JobId{1}), "... 3 earlier lines were dropped\n1:0#1 a line t\n");
}

TEST(JobLogs, AtTheLimitOfJobsTheOneThatWasWrittenToLeastRecentlyGoes) {
  JobLogs logs{{1000, 2}};
  logs.add(subtask(1, 0), Attempt{1}, "one");
  logs.add(subtask(2, 0), Attempt{1}, "two");
  logs.add(subtask(1, 0), Attempt{1}, "again");
  logs.add(subtask(3, 0), Attempt{1}, "three");
  EXPECT_EQ(logs.text(JobId{1}), "1:0#1 one\n1:0#1 again\n");
  EXPECT_EQ(logs.text(JobId{2}), "");
}

TEST(JobLogs, NoRoomKeepsNothing) {
  JobLogs logs{{0, 2}};
  logs.add(subtask(1, 0), Attempt{1}, "one");
  EXPECT_EQ(logs.text(JobId{1}), "");
}

TEST(JobLogs, LanesWriteWhileOthersRead) {
  JobLogs logs{{500, 2}};
  std::thread writer{[&] {
    for (std::uint32_t i = 0; i < 500; ++i) logs.add(subtask(i % 3, i), Attempt{1}, "line");
  }};
  for (int i = 0; i < 100; ++i) EXPECT_LE(logs.text(JobId{1}).size(), 5000U);
  writer.join();
}

}  // namespace
}  // namespace penstock::worker
