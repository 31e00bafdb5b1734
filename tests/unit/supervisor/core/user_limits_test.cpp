// Workers that run the jobs of some users only.
#include <gtest/gtest.h>

#include "tests/support/pool_fallback_harness.hpp"

namespace penstock::supervisor {
namespace {

TEST(UserLimits, AJobRunsOnWorkersThatRunTheJobsOfItsUser) {
  for (const bool policy : {false, true}) {
    PoolFallbackHarness it{policy ? policed("fair_share_max_min") : SupervisorConfig{}};
    it.cluster.join({.slots = 4});
    JobSpec spec;
    spec.owner = "bob";
    it.cluster.submit(GraphBuilder{}.sources(6).build(), spec);
    if (policy) it.cluster.settle(3);
    EXPECT_EQ(it.cluster.assigned().size(), policy ? 4U : 6U);
    // The job is there already when the first worker comes that does not run jobs of its user.
    it.cluster.join({.slots = 4, .users = {"ada", "eve"}});
    it.cluster.join({.slots = 4, .users = {"ada", "bob"}});
    spec.name = "later";
    it.cluster.submit(GraphBuilder{}.sources(6).build(), spec);
    if (policy) it.cluster.settle(3);
    const Lines given = it.cluster.assigned();
    EXPECT_FALSE(given.empty());
    for (const std::string& line : given) EXPECT_EQ(line.find("to w2"), std::string::npos) << line;
  }
}

TEST(UserLimits, AUserWhoseJobsNoWorkerRunsIsToldSo) {
  SupervisorHarness cluster;
  cluster.join({.users = {"ada"}});
  JobSpec spec;
  spec.owner = "bob";
  cluster.submit(GraphBuilder{}.sources(1).build(), spec);
  EXPECT_NE(
      to_string(cluster.refusal())
          .find("runs on workers that run jobs of user 'bob' only, and no worker does (`accept_users` of [worker])"),
      std::string::npos)
      << to_string(cluster.refusal());
}

}  // namespace
}  // namespace penstock::supervisor
