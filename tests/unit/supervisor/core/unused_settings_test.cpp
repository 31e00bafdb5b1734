#include "supervisor/core/unused_settings.hpp"

#include <gtest/gtest.h>

#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

using namespace std::chrono_literals;

PolicyConfig with(PoolConfig pool) {
  PolicyConfig config;
  pool.name = "all";
  config.pools = {std::move(pool)};
  return config;
}

TEST(UnusedSettings, ThereAreNoneOfWhatIsNotSaidOrLookedAt) {
  for (const char* preset : {"fair_share", "fair_share_max_min", "priority", "quota", "multifactor"})
    EXPECT_EQ(unused_settings(with({.preset = preset})), Lines{}) << preset;
  PolicyConfig queue = with({.preset = "multifactor",
                             .reserve_depth = 3,
                             .time_limit = 1h,
                             .overrun = 1s,
                             .factors = {.wait = 5, .lambda = 1}});
  queue.accounts = {{.name = "lab", .shares = 3}};
  queue.queues = {{.name = "short", .priority = 3, .time_limit = 1h}};
  queue.usage_half_life = 1h;
  EXPECT_EQ(unused_settings(queue), Lines{});
  PolicyConfig quotas = with({.preset = "quota", .reclaim = false, .consolidation = false});
  quotas.projects = {
      {.name = "a", .weight = 2000, .priority = 1, .guaranteed_slots = 1, .slots_max = 2, .preempt_min_runtime = 1s}};
  EXPECT_EQ(unused_settings(quotas), Lines{});
  PolicyConfig none = queue;
  none.pools.clear();
  EXPECT_EQ(unused_settings(none), Lines{}) << "another warning says that";
}

TEST(UnusedSettings, OfAPoolAreNamed) {
  EXPECT_EQ(
      unused_settings(with({.default_priority = 5})),
      Lines{"pool 'all': default_priority has no effect: jobs without a priority have 0 where priorities = \"any\""});
  EXPECT_EQ(unused_settings(with({.priorities = "1-99", .default_priority = 5})), Lines{});
  EXPECT_EQ(
      unused_settings(with({.reserve_depth = 2, .time_limit = 1h, .overrun = 1s, .factors = {.wait = 5}})),
      (Lines{"pool 'all': reserve_depth, time_limit, overrun have no effect: nothing is filled in before a reserved "
             "start there",
             "pool 'all': factors has no effect: its jobs do not go by a sum of factors, which ordering = "
             "\"multifactor\" is"}));
  EXPECT_EQ(
      unused_settings(with({.preset = "multifactor",
                            .factors = {.wait = 0, .wait_max = 1h, .fair_share_factor = "classic", .lambda = 1}})),
      (Lines{"pool 'all': factors.wait_max has no effect: the weight of that term is 0",
             "pool 'all': factors.lambda has no effect: only the fair_share_factor \"balanced\" has one"}));
}

// The parts count, whatever the preset is called.
TEST(UnusedSettings, ArePartsNotPresets) {
  EXPECT_EQ(unused_settings(with(
                {.preset = "fair_share", .overrun = 1s, .ordering = "fcfs", .sharing = "none", .backfill = "easy"})),
            Lines{});
  PolicyConfig config = with({.preset = "quota", .ordering = "fcfs", .sharing = "fair_share"});
  config.projects = {{.name = "a", .weight = 2000, .guaranteed_slots = 1, .reclaim_min_runtime = 1s}};
  EXPECT_EQ(
      unused_settings(config),
      (Lines{"guaranteed_slots of 'a' has no effect: quotas do not count in the first pool of that project (sharing "
             "= \"quota_tree\")",
             "reclaim_min_runtime of 'a' has no effect: quotas count in no pool (sharing = \"quota_tree\")"}));
}

TEST(UnusedSettings, LimitsOfProjectsCountWhereverSlotsAreDivided) {
  PolicyConfig shared = with({.preset = "fair_share"});
  shared.projects = {{.name = "a", .slots_max = 2, .gpu_slots_max = 1}};
  EXPECT_EQ(unused_settings(shared), Lines{});
  shared.pools[0].preset = "priority";
  EXPECT_EQ(unused_settings(shared), Lines{"slots_max of 'a', gpu_slots_max of 'a' have no effect: no pool divides its "
                                           "slots among projects (sharing)"});
}

TEST(UnusedSettings, OfProjectsDependOnTheirPools) {
  PolicyConfig config = with({.preset = "priority"});
  config.pools.push_back({.name = "q", .preset = "quota", .workers = {"q-*"}});
  config.projects = {{.name = "a", .pools = {"q"}, .guaranteed_gpu_slots = 1},
                     {.name = "b", .pools = {"all", "q"}, .slots_max = 3, .guaranteed_memory = kGiB}};
  EXPECT_EQ(
      unused_settings(config),
      Lines{"guaranteed_memory of 'b' has no effect: quotas do not count in the first pool of that project (sharing "
            "= \"quota_tree\")"});
  config.pools.pop_back();
  config.projects = {{.name = "a", .weight = 1}};
  EXPECT_EQ(unused_settings(config),
            Lines{"weight of 'a' has no effect: no pool divides its slots by weights (sharing)"});
}

TEST(UnusedSettings, OfASumThatNobodyMakesAreNamedShortly) {
  PolicyConfig config = with({});
  for (const char* name : {"a", "b", "c", "d", "e"}) config.accounts.push_back({.name = name, .shares = 2});
  config.qos = {{.name = "gold", .factor = 900}, {.name = "expedite", .factor = 1000, .open = false}};
  config.queues = {{.name = "short", .priority = 1, .time_limit = 1h}};
  config.usage_half_life = 1h;
  EXPECT_EQ(
      unused_settings(config),
      (Lines{"priority of queue 'short', factor of qos 'gold', shares of account 'a' and 5 more have no effect: no "
             "pool goes by a sum of factors (ordering = \"multifactor\"), and others are told by `shares` only"}));
}

TEST(UnusedSettings, AReloadTellsOfThem) {
  PolicedSupervisor supervisor{policed("priority")};
  SupervisorConfig changed = policed("priority");
  changed.policy.pools[0].overrun = 1s;
  supervisor.handle(supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann"}, changed.policy});
  const std::string told = "pool 'all': overrun has no effect: nothing is filled in before a reserved start there";
  const std::vector<AdminAnswer> answers = supervisor.take_for<AdminAnswer>(ClientId{1});
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].value["warnings"], (Value{Value::List{told}}));
  const std::vector<Error> alerts = supervisor.alerts();
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_EQ(alerts[0].message, told);
}

}  // namespace
}  // namespace penstock::supervisor
