// `[policy]` of the configuration file.
#include <gtest/gtest.h>

#include "common/config/config_file.hpp"

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
overrun = "5s"
[[policy.pool]]
name = "urgent"
preset = "priority"
workers = ["u"]
ordering = "fcfs"
sharing = "none"
backfill = "easy"
priorities = "1-99"
default_priority = 50
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
training_labels = ["a100", "v100"]
interactive_labels = ["t4"]
guaranteed_memory = 1024
memory_max = "2KiB"
preempt_min_runtime = "5min"
reclaim_min_runtime = "0"
[[policy.project]]
name = "speech"
pools = ["gpu", "rest"]
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
  EXPECT_EQ(policy.pools[1].overrun, std::chrono::seconds{5});
  EXPECT_EQ(policy.pools[1].preemption, std::nullopt);
  EXPECT_EQ(policy.pools[2].ordering, "fcfs");
  EXPECT_EQ(policy.pools[2].sharing, "none");
  EXPECT_EQ(policy.pools[2].backfill, "easy");
  EXPECT_FALSE(ranks_priorities(policy.pools[1]));
  EXPECT_TRUE(ranks_priorities(policy.pools[2]));
  EXPECT_EQ(policy.pools[2].default_priority, 50);
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
  EXPECT_EQ(policy.projects[1].preempt_min_runtime, std::chrono::minutes{5});
  EXPECT_EQ(policy.projects[1].reclaim_min_runtime, Duration{0});
  EXPECT_EQ(policy.projects[2].preempt_min_runtime, std::nullopt);
  EXPECT_EQ(policy.projects[1].pools, std::vector<std::string>{"gpu"});
  EXPECT_EQ(policy.projects[2].pools, (std::vector<std::string>{"gpu", "rest"}));
  EXPECT_EQ(policy.projects[1].training_labels, (std::vector<std::string>{"a100", "v100"}));
  EXPECT_EQ(policy.projects[1].interactive_labels, std::vector<std::string>{"t4"});
  ASSERT_EQ(policy.accounts.size(), 2U);
  EXPECT_EQ(policy.accounts[1].parent, "all");
  const Result<FileConfig> again = parse_config(print_config(*read), "printed");
  ASSERT_TRUE(again.has_value()) << to_string(again.error());
  EXPECT_EQ(again->supervisor.policy, policy);
}

TEST(PolicyFile, LevelsQueuesLimitsAndFactorsAreReadAndPrintedBack) {
  const Result<FileConfig> read = parse_config(R"(
[[policy.pool]]
name = "all"
preset = "multifactor"
[policy.pool.factors]
wait = 5
qos = 0
wait_max = "3h"
size_favor = "small"
fair_share_factor = "fair_tree"
lambda = 0.25
[policy.usage]
gpu = 12.5
memory = 0.1
billing = "max"
[[policy.account]]
name = "lab"
slots_max = 12
[[policy.qos]]
name = "expedite"
users = ["ann"]
accounts = ["lab"]
running_jobs_max = 2
[[policy.qos]]
name = "night"
factor = 0.25
exempt = true
usage_factor = 0.1
preempts = ["standby"]
[[policy.queue]]
name = "short"
priority = 7
accounts = ["lab"]
gpu_slots_max = 1
time_limit = "90s"
[[policy.user]]
name = "ann"
active_jobs_max = 9
)",
                                               "penstock.toml");
  ASSERT_TRUE(read.has_value()) << to_string(read.error());
  const PolicyConfig& policy = read->supervisor.policy;
  const FactorConfig& factors = policy.pools[0].factors;
  EXPECT_EQ(factors.wait, 5);
  EXPECT_EQ(factors.qos, 0);
  EXPECT_EQ(factors.fair_share, FactorConfig{}.fair_share);
  EXPECT_EQ(factors.wait_max, std::chrono::hours{3});
  EXPECT_EQ(factors.size_favor, "small");
  EXPECT_EQ(factors.fair_share_factor, "fair_tree");
  EXPECT_EQ(factors.lambda, 250);
  EXPECT_EQ(policy.usage, (UsageConfig{.cpu = 1000, .gpu = 12'500, .memory = 100, .billing = "max"}));
  EXPECT_EQ(policy.accounts[0].limits.slots_max, 12);
  ASSERT_EQ(policy.qos.size(), 2U);
  EXPECT_TRUE(policy.qos[0].factor == 1000 && !policy.qos[0].open) << "what is not said of a level that is there stays";
  EXPECT_EQ(policy.qos[0].users, std::vector<std::string>{"ann"});
  EXPECT_EQ(policy.qos[0].limits.running_jobs_max, 2);
  EXPECT_EQ(policy.qos[1].factor, 250);
  EXPECT_TRUE(policy.qos[1].open);
  EXPECT_TRUE(policy.qos[1].exempt);
  EXPECT_EQ(policy.qos[1].usage_factor, 100);
  EXPECT_EQ(policy.qos[1].preempts, std::vector<std::string>{"standby"});
  EXPECT_EQ(policy.queues[0].priority, 7);
  EXPECT_EQ(policy.queues[0].limits.gpu_slots_max, 1);
  EXPECT_EQ(policy.queues[0].time_limit, std::chrono::seconds{90});
  EXPECT_EQ(policy.users[0].limits, (JobLimits{.active_jobs_max = 9}));
  const Result<FileConfig> again = parse_config(print_config(*read), "printed");
  ASSERT_TRUE(again.has_value()) << to_string(again.error());
  EXPECT_EQ(again->supervisor.policy, policy);
}

TEST(PolicyFile, EveryLimitAndEveryOwnerIsReadAndPrintedBack) {
  const Result<FileConfig> read = parse_config(R"(
[[policy.pool]]
name = "all"
light = true
[[policy.account]]
name = "lab"
enabled = false
[[policy.project]]
name = "vision"
users = ["ann"]
accounts = ["lab"]
[[policy.queue]]
name = "short"
active_jobs_max = 9
running_jobs_max = 8
waiting_jobs_max = 7
slots_max = 10
gpu_slots_max = 6
waiting_slots_max = 8
waiting_gpu_slots_max = 5
job_slots_min = 2
job_slots_max = 3
job_gpu_slots_max = 4
time_max = "2h"
)",
                                               "penstock.toml");
  ASSERT_TRUE(read.has_value()) << to_string(read.error());
  const PolicyConfig& policy = read->supervisor.policy;
  EXPECT_TRUE(policy.pools[0].light);
  EXPECT_FALSE(policy.accounts[0].enabled);
  EXPECT_EQ(policy.projects[0].users, std::vector<std::string>{"ann"});
  EXPECT_EQ(policy.projects[0].accounts, std::vector<std::string>{"lab"});
  EXPECT_EQ(policy.queues[0].limits, (JobLimits{9, 8, 7, 10, 6, 8, 5, 2, 3, 4, std::chrono::hours{2}}));
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
      {"[policy]\nusage = 3\n", "penstock.toml:2:9 usage is no table"},
      {"[policy.usage]\ncpu = -1\n", "penstock.toml:2:7 cpu is out of its range"},
      {"[policy.usage]\nprocessors = 1\n", "penstock.toml:2:1 there is no setting 'processors' here"},
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
      {"[[policy.qos]]\nname = \"a\"\nfactr = 1\n", "penstock.toml:3:1 there is no setting 'factr' here"},
      {"[[policy.qos]]\nname = \"a\"\nfactor = 1.5\n", "qos 'a' its factor in thousandths is 1500"},
      {"[[policy.queue]]\nname = \"a\"\npriority = -1\n", "penstock.toml:3:12 priority is -1"},
      {"[[policy.user]]\nname = \"a\"\nrunning_jobs_max = 0\n", "user 'a' running_jobs_max is 0"},
      {"[[policy.user]]\nname = \"a\"\nwaiting_jobs_max = 0\n", "user 'a' waiting_jobs_max is 0"},
      {"[[policy.project]]\nname = \"a\"\npools = [\"b\"]\npool = \"b\"\n",
       "penstock.toml:4:8 pools and pool are both there"},
      {"[[policy.pool]]\nname = \"a\"\nfactors = 3\n", "penstock.toml:3:11 factors is no table"},
      {"[[policy.pool]]\nname = \"a\"\n[policy.pool.factors]\nage = 3\n", "there is no setting 'age' here"},
      {"[[policy.pool]]\nname = \"a\"\n[[policy.project]]\nweight = 2\n",
       "penstock.toml:3:1 the project needs a name of 1 to 255 bytes"},
      {"[[policy.pool]]\nname = \"\"\n", "penstock.toml:2:8 the pool needs a name of 1 to 255 bytes"},
      {"[[policy.user]]\nname = 3\n", "penstock.toml:2:8 name is written in another way"},
      {"[policy]\nproject = 3\n", "there can be several of 'project'"},
      {"[policy]\nperiods = \"1s\"\n", "there is no setting 'periods' here"},
      {"[[policy.account]]\nname = \"a\"\nparent = \"b\"\n", "account 'a' belongs to 'b', which is not there"},
  };
  for (const Case& each : cases)
    EXPECT_NE(refused(each.text).find(each.expected), std::string::npos) << refused(each.text);
}

}  // namespace
}  // namespace penstock
