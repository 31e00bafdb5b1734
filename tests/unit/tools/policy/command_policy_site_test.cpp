#include "tools/policy/command_policy_site.hpp"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

PolicyConfig site() {
  PolicyConfig config;
  config.pools = {{.name = "gpu", .preset = "quota", .workers = {"gpu-*"}, .consolidation = false}, {.name = "rest"}};
  config.projects = {{.name = "science", .is_department = true, .guaranteed_gpu_slots = 6},
                     {.name = "vision",
                      .department = "science",
                      .pools = {"gpu"},
                      .weight = 2500,
                      .guaranteed_slots = 9,
                      .guaranteed_gpu_slots = 4},
                     {.name = "speech", .department = "science", .pools = {"rest"}, .guaranteed_gpu_slots = 2}};
  config.accounts = {{.name = "lab"}, {.name = "vision", .parent = "lab", .shares = 3}};
  config.usage_half_life = std::chrono::hours{2};
  return config;
}

TEST(SitePool, IsThePoolAloneWithTheOwnersOfTheConfiguration) {
  const Result<SitePool> found = site_pool(site(), "gpu", {"speech", "vision"});
  ASSERT_TRUE(found.has_value()) << to_string(found.error());
  EXPECT_EQ(found->name, "gpu");
  ASSERT_EQ(found->policy.pools.size(), 1U);
  EXPECT_EQ(found->policy.pools[0].preset, "quota");
  EXPECT_EQ(found->policy.pools[0].consolidation, std::optional{false});
  EXPECT_EQ(found->policy.projects.size(), 3U);
  EXPECT_EQ(found->policy.accounts.size(), 2U);
  EXPECT_EQ(found->policy.usage_half_life, std::chrono::hours{2});
}

TEST(SitePool, WhichPoolIsMeantMustBeClear) {
  EXPECT_EQ(to_string(site_pool(site(), "", {}).error()),
            "the configuration: has several pools: 'gpu', 'rest' (name one with --pool)");
  EXPECT_EQ(to_string(site_pool(site(), "gpus", {}).error()),
            "pool 'gpus': is not in the configuration (did you mean 'gpu'?)");
  EXPECT_EQ(to_string(site_pool(PolicyConfig{}, "", {}).error()),
            "the configuration: has no pool (write a [[policy.pool]])");
  PolicyConfig one = site();
  one.pools = {{.name = "all"}};
  for (ProjectConfig& project : one.projects) project.pools.clear();
  EXPECT_EQ(site_pool(one, "", {})->name, "all");
}

TEST(SitePool, PrioritiesThatWereMadeOfAClassStay) {
  PolicyConfig config;
  config.pools = {{.name = "all", .preset = "priority", .priorities = "1-99"}};
  policy::ReplayTrace trace;
  trace.jobs = {{.name = "ls", .priority = 60}, {.name = "be", .priority = 40}};
  const auto priorities = [&](const std::string& scale, bool written) {
    config.pools[0].priorities = scale;
    trace.priorities_written = written;
    const Result<policy::ReplayTrace> made = with_priorities_of(config, "", trace);
    return made ? std::vector{made->jobs[0].priority, made->jobs[1].priority} : std::vector<std::int64_t>{};
  };
  EXPECT_EQ(priorities("1-99", true), (std::vector<std::int64_t>{-60, -40}));
  EXPECT_EQ(priorities("1-99", false), (std::vector<std::int64_t>{60, 40}));
  EXPECT_EQ(priorities("any", true), (std::vector<std::int64_t>{60, 40}));
}

TEST(SitePool, ProjectsThatTheConfigurationLacksAreAnErrorUnlessItHasNone) {
  EXPECT_EQ(
      to_string(site_pool(site(), "gpu", {"vision", "LS"}).error()),
      "project 'LS' of the trace: is not in the configuration (write a [[policy.project]] for each, or none at all)");
  EXPECT_EQ(site_pool(site(), "gpu", {"LS", "BE"}).error().subject, "projects 'LS', 'BE' of the trace");
  EXPECT_NE(to_string(site_pool(site(), "gpu", {"science"}).error()).find("is a department"), std::string::npos);
  PolicyConfig nobody = site();
  nobody.projects.clear();
  const Result<SitePool> found = site_pool(nobody, "gpu", {"LS", "BE"});
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->policy.projects.empty());
}

}  // namespace
}  // namespace penstock::tools
