#include "supervisor/core/active_jobs.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

TEST(ActiveJobs, TheHighestPriorityComesFirstAndThenTheEarliest) {
  ActiveJobs active;
  active.insert(JobId{2}, 0);
  active.insert(JobId{1}, 0);
  active.insert(JobId{3}, 5);
  active.insert(JobId{4}, -1);
  EXPECT_EQ(active.all(), (std::vector<JobId>{JobId{3}, JobId{1}, JobId{2}, JobId{4}}));
  active.erase(JobId{1}, 0);
  std::vector<JobId> walked;
  for (const JobId id : active) walked.push_back(id);
  EXPECT_EQ(walked, (std::vector<JobId>{JobId{3}, JobId{2}, JobId{4}}));
  EXPECT_EQ(active.size(), 3U);
}

}  // namespace
}  // namespace penstock::supervisor
