#include "common/protocol/policy_rules.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "common/protocol/graph.hpp"
#include "common/protocol/policy_config.hpp"

namespace penstock {
namespace {

PolicyConfig site() {
  PolicyConfig config;
  config.pools = {{.name = "all"}};
  config.accounts = {{.name = "lab"}, {.name = "ann", .parent = "lab"}, {.name = "bob"}};
  config.qos = {{.name = "expedite", .factor = 1000, .open = false, .users = {"dora"}, .accounts = {"lab"}},
                {.name = "night", .factor = 100, .limits = {.running_jobs_max = 2}}};
  config.queues = {{.name = "short", .priority = 40}, {.name = "long", .priority = 10, .accounts = {"lab"}}};
  config.users = {{.name = "ann", .limits = {.slots_max = 3}}};
  config.accounts[0].limits.active_jobs_max = 4;
  return config;
}

std::string refusal_of(const Result<void>& result) { return result ? "accepted" : to_string(result.error()); }

// Spec: policy-flux 7.
TEST(PolicyRules, ThreeLevelsAreThereByThemselves) {
  const PolicyConfig none;
  EXPECT_EQ(find_qos(none, "expedite")->factor, 1000);
  EXPECT_FALSE(find_qos(none, "expedite")->open);
  EXPECT_EQ(find_qos(none, "")->name, "normal");
  EXPECT_EQ(find_qos(none, "normal")->factor, 500);
  EXPECT_EQ(find_qos(none, "standby")->factor, 0);
  EXPECT_TRUE(find_qos(none, "standby")->exempt);
  EXPECT_EQ(find_qos(none, "gold"), nullptr);
  EXPECT_EQ(find_qos(site(), "night")->factor, 100);
}

TEST(PolicyRules, ALevelIsGrantedToUsersAndToAccountsWithAllBelow) {
  const PolicyConfig config = site();
  const JobPolicy expedite{.qos = "expedite"};
  EXPECT_TRUE(check_qos(config, "dora", expedite));
  EXPECT_TRUE(check_qos(config, "ann", expedite)) << "her account is below the lab's";
  EXPECT_TRUE(check_qos(config, "bob", {.account = "ann", .qos = "expedite"})) << "who pays is what counts";
  EXPECT_EQ(refusal_of(check_qos(config, "bob", expedite)),
            "qos 'expedite': is not granted to user 'bob', nor to account 'bob' (use one of: normal, "
            "standby, night)");
  EXPECT_EQ(refusal_of(check_qos(config, "bob", {.qos = "gold"})),
            "qos 'gold': is not known (use one of: normal, standby, night)");
}

TEST(PolicyRules, WhoMayNotHaveItsLevelAnyMoreIsNormal) {
  EXPECT_EQ(qos_of(site(), "dora", {.qos = "expedite"}).name, "expedite");
  EXPECT_EQ(qos_of(site(), "bob", {.qos = "expedite"}).name, "normal");
  EXPECT_EQ(qos_of(site(), "bob", {.qos = "gone"}).name, "normal");
}

// Spec: policy-flux 8, queue access: disabled associations, projects of an association.
TEST(PolicyRules, UsersWithoutAnAccountAreChargedToThatOfAllOthers) {
  PolicyConfig config = site();
  EXPECT_EQ(charged_account(config, "eve", ""), -1);
  config.accounts.push_back({.name = "*", .parent = "lab"});
  EXPECT_TRUE(check_policy(config));
  EXPECT_EQ(charged_account(config, "eve", ""), 3);
  EXPECT_EQ(charged_account(config, "bob", ""), 2);
  EXPECT_EQ(charged_account(config, "eve", "bob"), 2);
  EXPECT_EQ(charged_account(config, "eve", "unknown"), -1);
}

TEST(PolicyRules, ADisabledAccountAcceptsNoNewJobNorDoAccountsBelow) {
  PolicyConfig config = site();
  EXPECT_EQ(refusal_of(check_owner(config, "ann", {})), "accepted");
  config.accounts[0].enabled = false;
  EXPECT_EQ(refusal_of(check_owner(config, "ann", {})),
            "account 'lab': is disabled: it accepts no new jobs (name another account, or ask for `enabled` in its "
            "[[policy.account]])");
  EXPECT_EQ(refusal_of(check_owner(config, "bob", {})), "accepted");
}

TEST(PolicyRules, AProjectAcceptsTheJobsOfItsUsersAndAccounts) {
  PolicyConfig config = site();
  config.projects.resize(2);
  config.projects[0].name = "vision";
  config.projects[0].accounts = {"lab"};
  config.projects[1].name = "open";
  EXPECT_EQ(refusal_of(check_owner(config, "ann", {.project = "vision"})), "accepted");
  EXPECT_EQ(refusal_of(check_owner(config, "bob", {.project = "vision"})),
            "project 'vision': is not for user 'bob' (use one of: open)");
  EXPECT_EQ(refusal_of(check_owner(config, "bob", {.project = "open"})), "accepted");
  config.projects[0].users = {"bob"};
  EXPECT_EQ(refusal_of(check_owner(config, "bob", {.project = "vision"})), "accepted");
}

TEST(PolicyRules, ALeastSizeAboveTheLargestIsAMistake) {
  PolicyConfig config = site();
  config.queues[0].limits.job_slots_min = 4;
  config.queues[0].limits.job_slots_max = 3;
  EXPECT_NE(refusal_of(check_rules(config)).find("no job could be submitted"), std::string::npos);
}

TEST(PolicyRules, AQueueIsForWhomItSays) {
  const PolicyConfig config = site();
  EXPECT_TRUE(check_queue(config, "bob", {}));
  EXPECT_TRUE(check_queue(config, "bob", {.queue = "short"}));
  EXPECT_TRUE(check_queue(config, "ann", {.queue = "long"}));
  EXPECT_EQ(refusal_of(check_queue(config, "bob", {.queue = "long"})),
            "queue 'long': is not for user 'bob' (use one of: short)");
  EXPECT_EQ(refusal_of(check_queue(config, "ann", {.queue = "shrt"})),
            "queue 'shrt': is not known (use one of: short, long)");
}

// Spec: policy-flux 3.
TEST(PolicyRules, AQueuesFactorIsItsPriorityOfTheLargest) {
  EXPECT_EQ(queue_factor(site(), "short"), 1.0);
  EXPECT_EQ(queue_factor(site(), "long"), 0.25);
  EXPECT_EQ(queue_factor(site(), ""), 0.0);
  PolicyConfig equal = site();
  for (QueueConfig& queue : equal.queues) queue.priority = 0;
  EXPECT_EQ(queue_factor(equal, "short"), 0.0);
}

TEST(PolicyRules, ALimitOfAnAccountHoldsForAllBelow) {
  const std::vector<LimitedBy> limits = limits_of(site(), "ann", {.qos = "night"});
  ASSERT_EQ(limits.size(), 3U);
  EXPECT_EQ(limits[0].whom, "user 'ann'");
  EXPECT_EQ(limits[1].whom, "account 'lab'");
  EXPECT_EQ(limits[2].whom, "user 'ann' at qos 'night'");
  EXPECT_TRUE(limits_of(site(), "bob", {}).empty());
}

// Spec: policy-flux 8: limits are of a user in an account.
TEST(PolicyRules, AUserIsCountedInEachAccountByHimself) {
  EXPECT_EQ(limits_of(site(), "ann", {.account = "lab"})[0].whom, "user 'ann' in account 'lab'");
  EXPECT_EQ(limits_of(site(), "ann", {.account = "bob", .qos = "night"})[1].whom,
            "user 'ann' in account 'bob' at qos 'night'");
}

TEST(PolicyRules, EachMistakeNamesItsEntry) {
  struct Case {
    const char* expected;
    std::function<void(PolicyConfig&)> spoil;
  };
  const Case cases[] = {
      {"qos 'night': is there twice", [](PolicyConfig& c) { c.qos.push_back(c.qos[1]); }},
      {"qos 'night': its factor in thousandths is 1001", [](PolicyConfig& c) { c.qos[1].factor = 1001; }},
      {"qos 'expedite': names account 'labb', which is not there",
       [](PolicyConfig& c) { c.qos[0].accounts = {"labb"}; }},
      {"qos 'expedite': is open to everybody and also names users or accounts",
       [](PolicyConfig& c) { c.qos[0].open = true; }},
      {"queue 'long': its priority is -1", [](PolicyConfig& c) { c.queues[1].priority = -1; }},
      {"queue '': needs a name", [](PolicyConfig& c) { c.queues[0].name = {}; }},
      {"user 'ann': running_jobs_max is 0", [](PolicyConfig& c) { c.users[0].limits.running_jobs_max = 0; }},
      {"account 'lab': slots_max is -4", [](PolicyConfig& c) { c.accounts[0].limits.slots_max = -4; }},
      {"factors of pool 'all': wait is -1", [](PolicyConfig& c) { c.pools[0].factors.wait = -1; }},
      {"factors of pool 'all': wait_max is not above 0", [](PolicyConfig& c) { c.pools[0].factors.wait_max = {}; }},
      {"factors of pool 'all': size_favor is 'huge'", [](PolicyConfig& c) { c.pools[0].factors.size_favor = "huge"; }},
      {"factors of pool 'all': fair_share_factor is 'x'",
       [](PolicyConfig& c) { c.pools[0].factors.fair_share_factor = "x"; }},
      {"factors of pool 'all': lambda in thousandths is 1001",
       [](PolicyConfig& c) { c.pools[0].factors.lambda = 1001; }},
      {"usage: gpu in thousandths is -1", [](PolicyConfig& c) { c.usage.gpu = -1; }},
      {"usage: memory in thousandths is 1000001", [](PolicyConfig& c) { c.usage.memory = kUsageWeightMax + 1; }},
      {"usage: billing is 'most'", [](PolicyConfig& c) { c.usage.billing = "most"; }},
  };
  EXPECT_EQ(refusal_of(check_policy(site())), "accepted");
  for (const Case& each : cases) {
    PolicyConfig config = site();
    each.spoil(config);
    const std::string refusal = refusal_of(check_policy(config));
    EXPECT_NE(refusal.find(each.expected), std::string::npos) << refusal;
  }
}

TEST(PolicyRules, LevelsTakeSlotsFromThoseThatTheyName) {
  PolicyConfig config = site();
  EXPECT_TRUE(preempting_levels(config).empty());
  config.qos[0].preempts = {"night", "standby"};
  ASSERT_TRUE(check_rules(config)) << refusal_of(check_rules(config));
  const std::vector<std::vector<bool>> takes = preempting_levels(config);
  const auto takes_from = [&](const char* taker, const char* loser) {
    return takes[level_position(config, taker)][level_position(config, loser)];
  };
  EXPECT_TRUE(takes_from("expedite", "night"));
  EXPECT_TRUE(takes_from("expedite", "standby"));
  EXPECT_FALSE(takes_from("expedite", "normal"));
  EXPECT_FALSE(takes_from("standby", "expedite"));
  EXPECT_NE(level_position(config, "normal"), level_position(config, "standby"));
  config.qos[1].preempts = {"standby"};
  const std::vector<std::uint32_t> ranks = level_ranks(config);
  EXPECT_EQ(ranks[level_position(config, "expedite")], 2U);
  EXPECT_EQ(ranks[level_position(config, "night")], 1U);
  EXPECT_EQ(ranks[level_position(config, "normal")], 0U);
  EXPECT_EQ(ranks[level_position(config, "standby")], 0U);
}

TEST(PolicyRules, LevelsDoNotTakeFromEachOtherInTurn) {
  PolicyConfig config = site();
  config.qos[0].preempts = {"gold"};
  EXPECT_EQ(refusal_of(check_rules(config)),
            "qos 'expedite': preempts 'gold', which is no level (name levels of [[policy.qos]])");
  config.qos[0].preempts = {"expedite"};
  EXPECT_EQ(refusal_of(check_rules(config)),
            "qos 'expedite': would preempt itself (leave one of them out of preempts: jobs would take slots from each "
            "other for ever)");
  config.qos.push_back({.name = "day", .preempts = {"expedite", "standby"}});
  config.qos[0].preempts = {"night", "standby"};
  EXPECT_TRUE(check_rules(config)) << "two ways to one level are no circle";
  config.qos[1].preempts = {"day"};
  EXPECT_EQ(refusal_of(check_rules(config)),
            "qos 'expedite': would preempt itself by way of 'day' (leave one of them out of preempts: jobs would take "
            "slots from each other for ever)");
}

}  // namespace
}  // namespace penstock
