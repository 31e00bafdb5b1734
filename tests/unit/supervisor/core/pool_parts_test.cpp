#include "supervisor/core/pool_parts.hpp"

#include <gtest/gtest.h>

#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

TEST(PoolParts, EachPoolHasThemTwice) {
  const auto parts =
      parts_of({{.name = "all"}, {.name = "queue", .preset = "multifactor", .backfill = "conservative"}});
  ASSERT_TRUE(parts.has_value());
  ASSERT_EQ(parts->size(), 4U) << "for CPU bands and for device bands";
  EXPECT_EQ((*parts)[1].sharing, policy::Sharing::FairShare);
  EXPECT_EQ((*parts)[2].reserve_depth, policy::kReserveAll);
}

TEST(PoolParts, AMistakeNamesItsPool) {
  const auto parts = parts_of({{.name = "all", .preset = "fair_shrae"}});
  ASSERT_FALSE(parts.has_value());
  EXPECT_EQ(parts.error().subject, "pool 'all', preset 'fair_shrae'");
  EXPECT_EQ(parts.error().remedy, "did you mean 'fair_share'?");
}

TEST(PoolParts, ThePartsOfAPoolHaveItsFactors) {
  PoolConfig pool{.name = "all", .preset = "multifactor"};
  EXPECT_EQ(parts_of({pool})->front().multifactor.weights.quality, policy::FactorWeights{}.quality)
      << "what is not said is what the preset has";
  pool.factors = {1, 2, 3, 4, 5, 6, std::chrono::hours{1}, "small", "fair_tree"};
  const policy::MultifactorOptions options = parts_of({pool})->back().multifactor;
  EXPECT_EQ(options.weights.wait, 1);
  EXPECT_EQ(options.weights.fair_share, 2);
  EXPECT_EQ(options.weights.quality, 3);
  EXPECT_EQ(options.weights.level, 4);
  EXPECT_EQ(options.weights.size, 5);
  EXPECT_EQ(options.weights.user, 6);
  EXPECT_EQ(options.wait_max, std::chrono::hours{1});
  EXPECT_EQ(options.favor, policy::SizeFavor::Small);
  EXPECT_EQ(options.factor, policy::FairShareFactor::FairTree);
}

// The one in force stays.
TEST(PoolParts, AReloadWithPartsThatDoNotGoTogetherIsRefusedWhole) {
  PolicedSupervisor supervisor{policed("priority")};
  supervisor.join({.slots = 2});
  SupervisorConfig changed = policed("quota");
  changed.policy.pools[0].ordering = "fcfs";
  supervisor.handle(supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann"}, changed.policy});
  const std::vector<AdminAnswer> answers = supervisor.take_for<AdminAnswer>(ClientId{1});
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].refusal.subject, "pool 'all', ordering 'fcfs'");
  const Result<Value> pools = supervisor.ask("pools");
  ASSERT_TRUE(pools.has_value());
  EXPECT_EQ((*pools->list())[0]["preset"], Value{"priority"});
  supervisor.ignore();
}

TEST(PoolParts, PoolsShowThem) {
  SupervisorConfig config = policed("multifactor");
  config.policy.pools[0].ordering = "fcfs";
  config.policy.pools[0].backfill = "conservative";
  config.policy.pools.push_back({.name = "q", .preset = "quota", .workers = {"q-*"}, .consolidation = false});
  PolicedSupervisor supervisor{config};
  const Result<Value> pools = supervisor.ask("pools");
  ASSERT_TRUE(pools.has_value());
  const Value& queue = (*pools->list())[0];
  EXPECT_EQ(queue["ordering"], Value{"fcfs"});
  EXPECT_EQ(queue["sharing"], Value{"none"});
  EXPECT_EQ(queue["backfill"], Value{"conservative"});
  EXPECT_EQ(queue["fitting"], Value{"best"});
  EXPECT_EQ(queue["reclaim"], Value{});
  const Value& quotas = (*pools->list())[1];
  EXPECT_EQ(quotas["sharing"], Value{"quota_tree"});
  EXPECT_EQ(quotas["fitting"], Value{"fragmentation"});
  EXPECT_EQ(quotas["reclaim"], Value{true});
  EXPECT_EQ(quotas["consolidation"], Value{false});
}

// Quotas count because the parts say so, whatever the preset is called.
TEST(PoolParts, AQuotaTreeByItsPartsDividesAsThePresetDoes) {
  SupervisorConfig config =
      policed("fair_share", {{.name = "a", .guaranteed_slots = 3}, {.name = "b", .guaranteed_slots = 1}});
  config.policy.pools[0].ordering = "priority";
  config.policy.pools[0].sharing = "quota_tree";
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 8});
  for (const char* project : {"a", "b"}) {
    JobSpec spec;
    spec.name = spec.policy.project = project;
    supervisor.submit(GraphBuilder{}.sources(40).build(), spec);
  }
  supervisor.settle(4);
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:6"});
  EXPECT_EQ(supervisor.entitlements(2), Lines{"w1:2"});
  supervisor.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
