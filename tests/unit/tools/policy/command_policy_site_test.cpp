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

TEST(SitePool, HasThePartsOfThePoolAndOwnersOfTheConfiguration) {
  const Result<SitePool> found = site_pool(site(), "gpu", {"speech", "vision"});
  ASSERT_TRUE(found.has_value()) << to_string(found.error());
  EXPECT_EQ(found->name, "gpu");
  EXPECT_EQ(found->parts.sharing, policy::Sharing::QuotaTree);
  EXPECT_FALSE(policy::has_action(found->parts, policy::Action::Consolidate));
  EXPECT_EQ(found->half_life_s, 7200);
  const policy::ReplayOwners& owners = found->owners;
  ASSERT_EQ(owners.projects.size(), 4U) << "and one for jobs without a project";
  ASSERT_EQ(owners.of.size(), 2U);
  const auto guaranteed = [&](std::uint32_t project) {
    return owners.projects[project].shares[static_cast<std::size_t>(policy::Resource::Gpu)].guaranteed;
  };
  EXPECT_EQ(owners.projects[owners.of[1].project].name, "vision");
  EXPECT_EQ(owners.projects[owners.of[1].project].parent, 0U);
  EXPECT_EQ(guaranteed(owners.of[1].project), 4000) << "of devices, in thousandths";
  EXPECT_EQ(guaranteed(owners.of[0].project), 0) << "its guarantee stands in another pool";
  EXPECT_EQ(owners.of[1].weight, 2500);
  EXPECT_EQ(owners.of[0].weight, 1000);
  EXPECT_EQ(owners.accounts[owners.of[1].account].name, "vision");
  EXPECT_EQ(owners.accounts[owners.of[1].account].shares, 3);
  EXPECT_TRUE(owners.accounts[owners.of[1].account].user);
  EXPECT_EQ(owners.of[0].account, policy::kNone);
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
  for (const policy::ReplayOwners::Owner& owner : found->owners.of) {
    EXPECT_EQ(owner.project, 0U) << "that of jobs without one";
    EXPECT_EQ(owner.weight, 0) << "each job for itself";
  }
}

}  // namespace
}  // namespace penstock::tools
