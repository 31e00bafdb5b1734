#include "worker/core/jobs/job_table.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

TEST(WorkerJobTable, TheSlotOfAClosedJobIsUsedAgain) {
  JobTable jobs;
  const JobSlot first = jobs.open(JobId{7});
  EXPECT_EQ(jobs.open(JobId{7}), first);
  EXPECT_EQ(jobs[first].id, JobId{7});
  jobs[first].priority = 3;
  jobs.close(first);
  EXPECT_FALSE(jobs.is_open(first));
  EXPECT_FALSE(jobs.find(JobId{7}).valid());
  EXPECT_EQ(jobs.open(JobId{8}), first);
  EXPECT_EQ(jobs[first].priority, 0);
  EXPECT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs.slots(), 1U);
}

TEST(WorkerJobTable, AnUnknownJobHasNoIdentity) {
  JobTable jobs;
  EXPECT_FALSE(jobs.identity_of(JobId{1}).valid());
  const JobIdentity identity{3, 4};
  jobs[jobs.open(JobId{1})].identity = identity;
  EXPECT_EQ(jobs.identity_of(JobId{1}), identity);
}

}  // namespace
}  // namespace penstock::worker
