#include "supervisor/core/jobs/ended_jobs.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

constexpr Instant at(int seconds) { return Instant{std::chrono::seconds{seconds}}; }

class EndedJobsTest : public ::testing::Test {
 protected:
  EndedJobsTest() {
    config.finished_jobs_max = 3;
    config.finished_jobs_age_max = std::chrono::seconds{100};
  }
  Job& end(std::uint32_t number, Instant when) {
    Job& job = jobs.add(JobId{number});
    job.id = JobId{number};
    job.status.state = JobState::Succeeded;
    job.status.ended = when;
    ended.add(job);
    return job;
  }
  /// The numbers of the jobs that are forgotten at that time.
  std::vector<std::uint32_t> forgotten(Instant now) {
    std::vector<std::uint32_t> numbers;
    while (const Job* job = ended.due(now)) {
      const JobId id = job->id;
      numbers.push_back(id.value());
      ended.remove(*job);
      jobs.erase(id);
    }
    return numbers;
  }
  using Numbers = std::vector<std::uint32_t>;

  SupervisorConfig config;
  JobTable jobs;
  EndedJobs ended{config, jobs};
};

TEST_F(EndedJobsTest, TooManyAreForgottenTheOldestFirst) {
  for (std::uint32_t i = 1; i <= 5; ++i) end(i, at(1));
  EXPECT_EQ(forgotten(at(2)), (Numbers{1, 2}));
  EXPECT_EQ(ended.in_order().size(), 3U);
}

TEST_F(EndedJobsTest, AJobThatIsTooOldIsForgotten) {
  EXPECT_EQ(ended.next_due(), kNever);
  end(1, at(1));
  end(2, at(50));
  EXPECT_EQ(ended.next_due(), at(101));
  EXPECT_TRUE(forgotten(at(100)).empty());
  EXPECT_EQ(forgotten(at(101)), Numbers{1});
  EXPECT_EQ(ended.next_due(), at(150));
}

TEST_F(EndedJobsTest, TheLastJobStaysHoweverLargeItIs) {
  config.finished_jobs_bytes_max = 16000;
  end(1, at(1)).status.error = Seldom{Error{ErrorCode::Internal, {}, std::string(20000, 'x'), {}}};
  ended.weigh(jobs[JobId{1}]);
  EXPECT_TRUE(forgotten(at(2)).empty());
  end(2, at(2));
  EXPECT_EQ(forgotten(at(2)), Numbers{1});
  end(3, at(2));
  EXPECT_TRUE(forgotten(at(2)).empty()) << "the bytes of job 1 count no more";
}

TEST_F(EndedJobsTest, AJobWithReferencesStays) {
  end(1, at(1)).outputs.borrowed.edit()[SubtaskIndex{0}].references = 1;
  end(2, at(2));
  EXPECT_EQ(ended.next_due(), at(102));
  EXPECT_EQ(forgotten(at(500)), Numbers{2});
}

TEST_F(EndedJobsTest, RecoveredJobsAreSortedByTheirEnds) {
  end(1, at(9));
  end(2, at(3));
  end(3, at(9));
  ended.sort();
  EXPECT_EQ(ended.in_order(), (std::vector<JobId>{JobId{2}, JobId{1}, JobId{3}}));
}

// Kept jobs stood at the front for ever: each event passed over them, and each forgotten job was searched for.
TEST_F(EndedJobsTest, AJobThatAnOrderKeepsCountsForNoLimitAndIsListedInItsPlace) {
  config.finished_jobs_max = 2;
  for (std::uint32_t i = 1; i <= 3; ++i) end(i, at(static_cast<int>(i)));
  jobs[JobId{1}].outputs.kept_by_order = true;
  ended.kept(jobs[JobId{1}]);
  EXPECT_TRUE(forgotten(at(4)).empty());
  EXPECT_EQ(ended.next_due(), at(102));
  jobs[JobId{1}].outputs.locations.resize(100);
  ended.weigh(jobs[JobId{1}]);
  EXPECT_EQ(ended.in_order(), (std::vector<JobId>{JobId{1}, JobId{2}, JobId{3}}));
  EXPECT_EQ(forgotten(at(1000)), (Numbers{2, 3}));
  jobs[JobId{1}].outputs.kept_by_order = false;
  ended.kept_no_longer(jobs[JobId{1}]);
  EXPECT_EQ(forgotten(at(1000)), Numbers{1});
  EXPECT_TRUE(ended.in_order().empty());
}

}  // namespace
}  // namespace penstock::supervisor
