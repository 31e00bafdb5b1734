#include "supervisor/core/user_jobs.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

TEST(UserJobs, CountsTheJobsOfEachUserAndForgetsUsersWithoutAny) {
  UserJobs jobs;
  jobs.add("ada");
  jobs.add("bob");
  jobs.add("ada");
  EXPECT_EQ(jobs.count("ada"), 2U);
  EXPECT_EQ(jobs.count("bob"), 1U);
  EXPECT_EQ(jobs.count("eve"), 0U);
  jobs.remove("ada");
  jobs.remove("bob");
  EXPECT_EQ(jobs.count("ada"), 1U);
  EXPECT_EQ(jobs.counts(), (std::map<std::string, std::uint64_t>{{"ada", 1}}));
  jobs.remove("ada");
  EXPECT_EQ(jobs, UserJobs{});
}

TEST(UserJobsDeathTest, AJobEndsOnce) {
  UserJobs jobs;
  EXPECT_DEATH(jobs.remove("ada"), "ada");
}

}  // namespace
}  // namespace penstock::supervisor
