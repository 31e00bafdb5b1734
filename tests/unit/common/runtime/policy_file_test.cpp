// `[policy]` of the configuration file.
#include <gtest/gtest.h>

#include "common/runtime/config_file.hpp"

namespace penstock {
namespace {

std::string refused(std::string_view text) {
  const Result<FileConfig> config = parse_config(text, "penstock.toml");
  return config.has_value() ? "accepted" : config.error().subject + " " + config.error().message;
}

constexpr const char* kWhole = R"([policy]
period = "50ms"
grace = "2s"
[[policy.pool]]
name = "gpu"
preset = "quota"
workers = ["gpu-*", "big"]
preemption = false
fitting = "spread"
reclaim = false
consolidation = true
[[policy.pool]]
name = "rest"
reserve_depth = 3
time_limit = "90s"
[[policy.pool]]
name = "urgent"
preset = "priority"
workers = ["u"]
ordering = "fcfs"
sharing = "none"
backfill = "easy"
[[policy.department]]
name = "research"
guaranteed_slots = 8
guaranteed_memory = "8GiB"
[[policy.project]]
name = "vision"
department = "research"
pool = "gpu"
weight = 2.5
priority = 7
guaranteed_slots = 5
slots_max = 9
guaranteed_memory = 1024
memory_max = "2KiB"
[[policy.project]]
name = "speech"
over_quota = "high"
[[policy.project]]
name = "idle"
over_quota = "none"
[[policy.project]]
name = "plain"
[[policy.account]]
name = "all"
[[policy.account]]
name = "ann"
parent = "all"
shares = 3
)";

TEST(PolicyFile, EveryListIsReadAndPrintedBack) {
  const Result<FileConfig> read = parse_config(kWhole, "penstock.toml");
  ASSERT_TRUE(read.has_value()) << to_string(read.error());
  const PolicyConfig& policy = read->supervisor.policy;
  EXPECT_EQ(policy.period, std::chrono::milliseconds{50});
  ASSERT_EQ(policy.pools.size(), 3U);
  EXPECT_EQ(policy.pools[0].workers, (std::vector<std::string>{"gpu-*", "big"}));
  EXPECT_EQ(policy.pools[0].preemption, false);
  EXPECT_EQ(policy.pools[0].fitting, "spread");
  EXPECT_EQ(policy.pools[0].reclaim, false);
  EXPECT_EQ(policy.pools[0].consolidation, true);
  EXPECT_EQ(policy.pools[1].preset, "fair_share");
  EXPECT_EQ(policy.pools[1].reserve_depth, 3);
  EXPECT_EQ(policy.pools[1].time_limit, std::chrono::seconds{90});
  EXPECT_EQ(policy.pools[1].preemption, std::nullopt);
  EXPECT_EQ(policy.pools[2].ordering, "fcfs");
  EXPECT_EQ(policy.pools[2].sharing, "none");
  EXPECT_EQ(policy.pools[2].backfill, "easy");
  ASSERT_EQ(policy.projects.size(), 5U);
  EXPECT_EQ(policy.projects[2].weight, 3000);
  EXPECT_EQ(policy.projects[3].weight, 0);
  EXPECT_EQ(policy.projects[4].weight, kNoWeight);
  EXPECT_TRUE(policy.projects[0].is_department);
  EXPECT_EQ(policy.projects[1].weight, 2500);
  EXPECT_EQ(policy.projects[1].slots_max, 9);
  EXPECT_EQ(policy.projects[1].priority, 7);
  EXPECT_EQ(policy.projects[0].guaranteed_memory, kGiB * 8);
  EXPECT_EQ(policy.projects[1].guaranteed_memory, kKiB);
  EXPECT_EQ(policy.projects[1].memory_max, kKiB * 2);
  ASSERT_EQ(policy.accounts.size(), 2U);
  EXPECT_EQ(policy.accounts[1].parent, "all");
  const Result<FileConfig> again = parse_config(print_config(*read), "printed");
  ASSERT_TRUE(again.has_value()) << to_string(again.error());
  EXPECT_EQ(again->supervisor.policy, policy);
}

TEST(PolicyFile, EachMistakeIsNamedWithItsPlace) {
  struct Case {
    const char* text;
    const char* expected;
  };
  const Case cases[] = {
      {"[[policy.pool]]\nname = \"a\"\npresett = \"quota\"\n", "penstock.toml:3:1 there is no setting 'presett' here"},
      {"[[policy.pool]]\nname = \"a\"\nbackfill = \"easy\"\nreserve_depth = 2\n",
       "penstock.toml:4:17 backfill and reserve_depth are both there"},
      {"[[policy.pool]]\nname = \"a\"\nreclaim = 1\n", "penstock.toml:3:11 reclaim is written in another way"},
      {"[[policy.project]]\nname = \"a\"\nweight = -1\n", "penstock.toml:3:10 weight is out of its range"},
      {"[[policy.project]]\nname = \"a\"\nweight = nan\n", "penstock.toml:3:10 weight is not finite"},
      {"[[policy.project]]\nname = \"a\"\nweight = inf\n", "penstock.toml:3:10 weight is not finite"},
      {"[[policy.project]]\nname = \"a\"\nweight = 0.0001\n", "penstock.toml:3:10 weight is out of its range"},
      {"[[policy.project]]\nname = \"a\"\nover_quota = \"big\"\n",
       "penstock.toml:3:14 over_quota is none of its words"},
      {"[[policy.project]]\nname = \"a\"\nweight = 1\nover_quota = \"low\"\n", "over_quota and weight are both there"},
      {"[[policy.pool]]\nname = \"a\"\ntime_limit = 3\n", "penstock.toml:3:14 time_limit is no time"},
      {"[[policy.project]]\nname = \"a\"\nguaranteed_slots = -4\n", "penstock.toml:3:20 guaranteed_slots is -4"},
      {"[policy]\nproject = 3\n", "there can be several of 'project'"},
      {"[policy]\nperiods = \"1s\"\n", "there is no setting 'periods' here"},
      {"[[policy.account]]\nname = \"a\"\nparent = \"b\"\n", "account 'a' belongs to 'b', which is not there"},
  };
  for (const Case& each : cases)
    EXPECT_NE(refused(each.text).find(each.expected), std::string::npos) << refused(each.text);
}

}  // namespace
}  // namespace penstock
