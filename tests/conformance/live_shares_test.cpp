// How pools that count slots divide them on a live cluster.
#include "tests/conformance/live_policy.hpp"

namespace penstock::tools {
namespace {

TEST(LiveShares, FairShareDividesByDemandAndWeight) {
  for (const bool weighted : {false, true}) {
    LiveCluster cluster{config_of("fair_share")};
    cluster.join(cpu_worker("w1", 4));
    cluster.join(cpu_worker("w2", 4));
    const JobId a = submit(cluster, {.name = "a", .subtasks = 10, .weight = weighted ? 3000 : 1000});
    const JobId b = submit(cluster, {.name = "b", .subtasks = 30, .weight = 1000});
    cluster.advance(30s);
    EXPECT_EQ(running(cluster, a), weighted ? 4U : 2U);
    EXPECT_EQ(running(cluster, b), weighted ? 4U : 6U);
  }
}

}  // namespace
}  // namespace penstock::tools
