#include "common/protocol/policy_config.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace penstock {
namespace {

PolicyConfig good() {
  PolicyConfig config;
  config.pools = {{.name = "gpu", .preset = "quota", .workers = {"gpu-*", "big"}}, {.name = "rest"}};
  config.projects = {{.name = "research", .is_department = true, .guaranteed_slots = 8},
                     {.name = "vision", .department = "research", .pools = {"gpu"}, .guaranteed_slots = 5},
                     {.name = "speech", .department = "research", .guaranteed_slots = 3}};
  config.accounts = {{.name = "all"}, {.name = "ann", .parent = "all", .shares = 3}};
  return config;
}

std::string verdict(const std::function<void(PolicyConfig&)>& change) {
  PolicyConfig config = good();
  change(config);
  const Result<void> result = check_policy(config);
  return result ? "accepted" : result.error().subject + " " + result.error().message;
}

TEST(PolicyConfig, WhatFitsTogetherIsAccepted) {
  EXPECT_EQ(verdict([](PolicyConfig&) {}), "accepted");
  EXPECT_FALSE(is_in_force(PolicyConfig{}));
  EXPECT_TRUE(is_in_force(good()));
}

TEST(PolicyConfig, EachMistakeHasItsOwnError) {
  struct Case {
    const char* expected;
    std::function<void(PolicyConfig&)> change;
  };
  const Case cases[] = {
      {"project 'speech' is its own ancestor", [](PolicyConfig& c) { c.projects[2].department = "speech"; }},
      {"account 'all' is its own ancestor", [](PolicyConfig& c) { c.accounts[0].parent = "ann"; }},
      {"account 'ann' belongs to 'al', which is not there", [](PolicyConfig& c) { c.accounts[1].parent = "al"; }},
      {"project 'vision' belongs to 'resarch', which is not there",
       [](PolicyConfig& c) { c.projects[1].department = "resarch"; }},
      {"project 'speech' belongs to 'vision', which is no department",
       [](PolicyConfig& c) { c.projects[2].department = "vision"; }},
      {"project 'vision' belongs to pool 'gpus', which is not there",
       [](PolicyConfig& c) { c.projects[1].pools = {"gpus"}; }},
      {"the pools more than one is `light`",
       [](PolicyConfig& c) {
         for (PoolConfig& pool : c.pools) pool.light = true;
       }},
      {"project 'vision' names account 'labs', which is not there",
       [](PolicyConfig& c) { c.projects[1].accounts = {"labs"}; }},
      {"project 'vision' lists pool 'gpu' twice",
       [](PolicyConfig& c) {
         c.projects[1].pools = {"gpu", "rest", "gpu"};
       }},
      {"project 'vision' lists more than 64 pools",
       [](PolicyConfig& c) { c.projects[1].pools = std::vector<std::string>(kPoolsListedMax + 1, "gpu"); }},
      {"project 'vision' has the label 'x' twice",
       [](PolicyConfig& c) {
         c.projects[1].training_labels = {"x", "x"};
       }},
      {"project 'vision' has a label that is not of 1 to 255 bytes",
       [](PolicyConfig& c) { c.projects[1].interactive_labels = {""}; }},
      {"project 'vision' guaranteed_slots is negative", [](PolicyConfig& c) { c.projects[1].guaranteed_slots = -1; }},
      {"project 'vision' guaranteed_slots is 5, above its limit of 4",
       [](PolicyConfig& c) { c.projects[1].slots_max = 4; }},
      {"project 'vision' its weight is negative", [](PolicyConfig& c) { c.projects[1].weight = -2; }},
      {"pool 'rest' its time_limit is not above 0", [](PolicyConfig& c) { c.pools[1].time_limit = Duration{0}; }},
      {"pool 'rest' its overrun is not above 0", [](PolicyConfig& c) { c.pools[1].overrun = Duration{0}; }},
      {"pool 'rest' its priorities are '0-9'", [](PolicyConfig& c) { c.pools[1].priorities = "0-9"; }},
      {"pool 'rest' its default_priority is 0", [](PolicyConfig& c) { c.pools[1].default_priority = 0; }},
      {"pool 'rest' its default_priority is 100", [](PolicyConfig& c) { c.pools[1].default_priority = 100; }},
      {"project 'vision' lists pools 'gpu' and 'rest', where priorities are written differently",
       [](PolicyConfig& c) {
         c.projects[1].pools = {"gpu", "rest"};
         c.pools[1].priorities = "1-99";
       }},
      {"account 'ann' its number of shares is negative", [](PolicyConfig& c) { c.accounts[1].shares = -2; }},
      {"project 'vision' guaranteed_memory is 2, above its limit of 1",
       [](PolicyConfig& c) { c.projects[1].guaranteed_memory = Bytes{2}, c.projects[1].memory_max = Bytes{1}; }},
      {"project 'vision' guaranteed_memory is above 281474976710656",
       [](PolicyConfig& c) { c.projects[1].guaranteed_memory = kPolicyMemoryMax + Bytes{1}; }},
      {"project 'vision' has a minimum runtime that is not from 0 to 10 years",
       [](PolicyConfig& c) { c.projects[1].preempt_min_runtime = kMinRuntimeMax + Duration{1}; }},
      {"project 'vision' has a minimum runtime that is not from 0 to 10 years",
       [](PolicyConfig& c) { c.projects[1].reclaim_min_runtime = Duration{-1}; }},
      {"pool 'number 2' has a name with a control character", [](PolicyConfig& c) { c.pools[1].name = "a\nb"; }},
      {"pool 'rest' is there twice", [](PolicyConfig& c) { c.pools.push_back({.name = "rest", .workers = {"x"}}); }},
      {"pool '' needs a name", [](PolicyConfig& c) { c.pools[1].name = ""; }},
      {"the pools name workers but leave no pool for the others", [](PolicyConfig& c) { c.pools.pop_back(); }},
      {"pool 'more' takes all workers that no pool names, and so does 'rest'",
       [](PolicyConfig& c) { c.pools.push_back({.name = "more"}); }},
  };
  for (const Case& each : cases)
    EXPECT_NE(verdict(each.change).find(each.expected), std::string::npos)
        << verdict(each.change) << " is not " << each.expected;
}

// Spec: policy-runai 13.6.
TEST(PolicyConfig, PartsThatAreGuaranteedMoreThanTheirDepartmentAreWarnedOf) {
  PolicyConfig config = good();
  EXPECT_TRUE(policy_warnings(config).empty());
  config.projects[1].guaranteed_slots = 6;
  config.projects[1].guaranteed_gpu_slots = 1;
  config.projects[1].guaranteed_memory = Bytes{7};
  EXPECT_TRUE(check_policy(config).has_value());
  EXPECT_EQ(policy_warnings(config),
            (std::vector<std::string>{
                "department 'research' is guaranteed 8 slots, its parts 9: first come, first served among them",
                "department 'research' is guaranteed 0 GPU slots, its parts 1: first come, first served among them",
                "department 'research' is guaranteed 0 bytes of memory, its parts 7: first come, first served among "
                "them"}));
}

// Found by an explorer: all of these were accepted in silence.
TEST(PolicyConfig, WhatHasNoEffectIsWarnedOf) {
  PolicyConfig config = good();
  config.projects[0].slots_max = 3;
  config.projects[1].guaranteed_slots = 5;
  config.grace_max = config.grace - Duration{1};
  config.pools[0].workers = config.pools[1].workers = {"gpu-*"};
  const std::vector<std::string> warnings = policy_warnings(config);
  const auto warned = [&](const std::string& text) {
    return std::any_of(warnings.begin(), warnings.end(),
                       [&](const std::string& each) { return each.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(warned("'" + config.projects[1].name + "' is guaranteed 5 slots, and department"));
  EXPECT_TRUE(warned("grace is longer than grace_max"));
  EXPECT_TRUE(warned("names worker 'gpu-*', which pool '" + config.pools[0].name + "' takes"));
  config.pools.clear();
  EXPECT_EQ(policy_warnings(config).size(), warnings.size()) << "one less of pools, one more";
  EXPECT_TRUE(policy_warnings(PolicyConfig{}).empty());
}

TEST(PolicyConfig, AmountsAndNumbersOfEntriesHaveAnEdge) {
  const auto weighing = [](std::int64_t weight) {
    return verdict([weight](PolicyConfig& config) { config.projects[1].weight = weight; });
  };
  EXPECT_EQ(weighing(kPolicyAmountMax), "accepted");
  EXPECT_EQ(weighing(0), "accepted");
  EXPECT_NE(weighing(kPolicyAmountMax + 1).find("its weight is above"), std::string::npos);
  const auto accounts = [](std::size_t count) {
    PolicyConfig config;
    for (std::size_t i = 0; i < count; ++i) config.accounts.push_back({.name = std::to_string(i)});
    return check_policy(config).has_value();
  };
  EXPECT_FALSE(accounts(kPolicyEntriesMax + 1));
}

TEST(PolicyConfig, AWorkerBelongsToThePoolThatNamesItOrToTheRest) {
  const PolicyConfig config = good();
  EXPECT_EQ(pool_of_worker(config, "gpu-7"), 0);
  EXPECT_EQ(pool_of_worker(config, "big"), 0);
  EXPECT_EQ(pool_of_worker(config, "w1"), 1);
  PolicyConfig named = config;
  named.pools.pop_back();
  EXPECT_EQ(pool_of_worker(named, "w1"), -1);
}

}  // namespace
}  // namespace penstock
