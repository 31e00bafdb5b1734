#include <gtest/gtest.h>

#include "supervisor/core/policy_differences.hpp"

namespace penstock::supervisor {
namespace {

TEST(PolicyDifferences, OfTheSameConfigurationThereAreNone) {
  PolicyConfig config;
  config.pools = {{.name = "all"}};
  config.projects = {{.name = "a"}, {.name = "b"}};
  PolicyConfig turned = config;
  std::swap(turned.projects[0], turned.projects[1]);
  EXPECT_EQ(differences(config, turned), "");
}

TEST(PolicyDifferences, EachFieldIsToldWithWhatItWasAndIs) {
  PolicyConfig before;
  before.pools = {{.name = "all"}, {.name = "old", .workers = {"w1"}}};
  before.projects = {{.name = "a", .slots_max = 4}};
  before.accounts = {{.name = "ann"}};
  PolicyConfig after = before;
  after.grace = std::chrono::seconds{1};
  after.gang_wait = std::chrono::seconds{2};
  after.starvation_after = std::chrono::seconds{9};
  after.projects[0].reclaim_min_runtime = std::chrono::seconds{3};
  after.pools = {{.name = "all", .preset = "quota"}, {.name = "new", .workers = {"w1", "w2"}}};
  after.projects[0].is_department = true;
  after.projects[0].guaranteed_slots = 3;
  after.projects[0].slots_max = kUnbounded;
  after.accounts[0].shares = 7;
  EXPECT_EQ(differences(before, after),
            "policy: grace 10000ms -> 1000ms, gang_wait 60000ms -> 2000ms, "
            "starvation_after 300000ms -> 9000ms; pool 'all': preset fair_share -> quota; "
            "pool 'new' is new; pool 'old' is "
            "gone; project 'a': is_department false -> true, guaranteed_slots 0 -> 3, slots_max 4 -> none, "
            "reclaim_min_runtime not said -> 3000ms; account "
            "'ann': shares 1 -> 7");
}

// Found by a user's trial: `weight in thousandths 4000` was told.
TEST(PolicyDifferences, WeightsAreToldAsTheyAreWritten) {
  PolicyConfig before;
  before.pools = {{.name = "all"}};
  before.projects = {{.name = "a", .weight = 4000}};
  before.qos = {{.name = "night"}};
  PolicyConfig after = before;
  after.projects[0].weight = kNoWeight;
  after.qos[0].factor = 250;
  after.usage.gpu = 2500;
  EXPECT_EQ(differences(before, after),
            "policy: usage.gpu " + std::to_string(before.usage.gpu / 1000) +
                " -> 2.5; project 'a': weight 4 -> not said; qos 'night': factor 0.5 -> 0.25");
}

TEST(PolicyDifferences, LevelsQueuesAndLimitsAreToldToo) {
  PolicyConfig before;
  before.pools = {{.name = "all"}};
  before.qos = {{.name = "night"}};
  before.queues = {{.name = "short"}};
  PolicyConfig after = before;
  after.pools[0].factors.qos = 5;
  after.qos[0].users = {"ann", "bob"};
  after.queues[0].limits.running_jobs_max = 3;
  after.users = {{.name = "ann"}};
  EXPECT_EQ(differences(before, after),
            "pool 'all': factors.qos 250000 -> 5; qos 'night': users none -> ann,bob; queue 'short': running_jobs_max "
            "none -> 3; user 'ann' is new");
}

}  // namespace
}  // namespace penstock::supervisor
