#include "worker/core/reports/report_buffer.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

void add(ReportBuffer& buffer, std::uint32_t job, std::uint32_t subtask) {
  AttemptReport report;
  report.subtask = SubtaskIndex{subtask};
  report.outcome = Outcome::Succeeded;
  buffer.section(JobId{job}).attempts.push_back(report);
  buffer.count_one();
}

// A section for each turn was half of the cost of three jobs on one band.
TEST(ReportBuffer, JobsThatTakeTurnsHaveOneSectionEach) {
  ReportBuffer buffer{100, std::chrono::milliseconds{1}};
  for (std::uint32_t i = 0; i < 30; ++i) add(buffer, i % 3, i);
  const ReportBatch batch = buffer.take(Instant{});
  ASSERT_EQ(batch.jobs.size(), 3U);
  for (std::uint32_t job = 0; job < 3; ++job) {
    EXPECT_EQ(batch.jobs[job].job, JobId{job});
    ASSERT_EQ(batch.jobs[job].attempts.size(), 10U);
    for (std::uint32_t i = 0; i < 10; ++i)
      EXPECT_EQ(batch.jobs[job].attempts[i].subtask, SubtaskIndex{i * 3 + job}) << "in the order of its ends";
  }
}

// However many there are, the order inside each job stays.
TEST(ReportBuffer, AJobThatWasNotHeardOfForLongHasANewSection) {
  ReportBuffer buffer{1000, std::chrono::milliseconds{1}};
  for (std::uint32_t round = 0; round < 2; ++round)
    for (std::uint32_t job = 0; job < 40; ++job) add(buffer, job, round);
  const ReportBatch batch = buffer.take(Instant{});
  EXPECT_EQ(batch.jobs.size(), 80U);
  std::vector<std::uint32_t> of_last;
  for (const JobReports& section : batch.jobs)
    for (const AttemptReport& report : section.attempts)
      if (section.job == JobId{39}) of_last.push_back(report.subtask.value());
  EXPECT_EQ(of_last, (std::vector<std::uint32_t>{0, 1}));
}

}  // namespace
}  // namespace penstock::worker
