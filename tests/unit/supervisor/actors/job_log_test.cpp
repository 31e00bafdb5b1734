#include "supervisor/actors/job_log.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "common/host/log.hpp"

namespace penstock::supervisor {
namespace {

/// The log of what it does.
std::string logged(const std::function<void()>& act) {
  start_log(LogLevel::Info);
  testing::internal::CaptureStderr();
  act();
  return testing::internal::GetCapturedStderr();
}

record::JobAccepted accepted(std::uint32_t job, const std::string& name) {
  record::JobAccepted record;
  record.job = JobId{job};
  record.spec.name = name;
  record.spec.owner = "ada";
  return record;
}

record::JobEnded ended(std::uint32_t job, JobState state) {
  record::JobEnded record;
  record.job = JobId{job};
  record.spec.name = "etl";
  record.spec.owner = "ada";
  record.everything.state = state;
  record.everything.counts.total = 7;
  record.submitted_ms = 1000;
  record.ended_ms = 3050;
  return record;
}

TEST(JobLog, AJobHasALineWhenItIsAcceptedAndOneWhenItEnds) {
  JobLog log;
  const std::string text = logged([&] {
    log.note(Record{accepted(1, "etl")});
    log.note(Record{ended(1, JobState::Succeeded)});
    log.note(Record{ended(1, JobState::Succeeded)});  // Its outputs were released.
  });
  EXPECT_NE(text.find(" info job accepted job=job-1 name=\"etl\" owner=ada\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" info job ended job=job-1 name=\"etl\" owner=ada state=succeeded subtasks=7 seconds=2.050\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("job ended"), text.rfind("job ended"));
}

TEST(JobLog, AFailureHasItsFirstCause) {
  JobLog log;
  record::JobEnded end = ended(2, JobState::Failed);
  SubtaskFailure failure;
  failure.name = "load[3]";
  failure.last.failure = FailureClass::Refused;
  failure.last.message = "no such program";
  end.everything.failures = {failure, failure};
  end.everything.counts.failed = 30;
  const std::string text = logged([&] {
    log.note(Record{accepted(2, "etl")});
    log.note(Record{end});
  });
  EXPECT_NE(text.find(" warning job ended"), std::string::npos) << text;
  EXPECT_NE(text.find("cause=\"load[3] failed for good: "), std::string::npos) << text;
  EXPECT_NE(text.find("no such program; and 29 more\"\n"), std::string::npos) << text;
}

TEST(JobLog, ANameWritesNoFieldsAndNoLines) {
  JobLog log;
  const std::string text = logged([&] { log.note(Record{accepted(3, "a\" state=\\failed\nx")}); });
  EXPECT_NE(text.find(R"( name="a\" state=\\failed x" owner=ada)"), std::string::npos) << text;
}

TEST(JobLog, JobsOfBeforeARestartEndOnce) {
  RecoveredState state;
  state.jobs.emplace_back().id = JobId{3};
  RecoveredJob& over = state.jobs.emplace_back();
  over.id = JobId{4};
  over.is_over = true;
  JobLog log;
  log.recovered(state);
  const std::string text = logged([&] {
    log.note(Record{ended(3, JobState::Cancelled)});
    log.note(Record{ended(4, JobState::Cancelled)});
  });
  EXPECT_NE(text.find("job=job-3"), std::string::npos) << text;
  EXPECT_EQ(text.find("job=job-4"), std::string::npos) << text;
}

}  // namespace
}  // namespace penstock::supervisor
