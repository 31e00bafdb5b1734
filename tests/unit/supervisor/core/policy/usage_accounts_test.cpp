// SupervisorCore: what of policy a next life finds as it was.
#include <gtest/gtest.h>

#include "tests/support/journal_harness.hpp"
#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

using namespace std::chrono_literals;

class PolicyKeeping : public testing::Test {
 protected:
  ~PolicyKeeping() override { cluster->ignore(); }

  static SupervisorConfig config() {
    SupervisorConfig config = policed("priority", {{.name = "a"}, {.name = "b"}});
    config.policy.accounts = {{.name = "ann"}, {.name = "bob"}};
    config.policy.usage_half_life = 1h;
    return config;
  }
  void order(const std::string& command, std::vector<std::string> arguments) {
    cluster->client_says(AdminRequest{1, command, std::move(arguments), "ada@desk"});
    cluster.write_all();
  }
  void submit(const std::string& name, std::uint32_t subtasks) {
    JobSpec spec;
    spec.name = name;
    spec.owner = "ann";
    cluster->submit(GraphBuilder{}.sources(subtasks).build(), spec);
    cluster.write_all();
  }
  /// A job of ann's runs to its end.
  void use_something() {
    cluster->join({.slots = 4});
    submit("job", 4);
    for (const supervisor_action::RunPass& pass : cluster->take_passes()) cluster->handle(PolicedSupervisor::run(pass));
    ASSERT_EQ(cluster->assigned().size(), 4U);
    for (std::uint32_t i = 0; i < 4; ++i) cluster->succeed(1, i);
    cluster.write_all();
  }
  Value row(const std::string& question, std::size_t index) {
    const Result<Value> answer = cluster->ask(question);
    EXPECT_TRUE(answer.has_value()) << to_string(answer.error());
    return answer && index < answer->list()->size() ? (*answer->list())[index] : Value{};
  }

  double use_of(std::size_t account) {
    const Value use = row("shares", account)["usage_slot_s"];
    return use.number() == nullptr ? -1 : *use.number();
  }

  JournalHarness cluster{config()};
};

// A reload and a restart are the same to a job that waits.
TEST(PolicyKeepingOfScales, PrioritiesFollowTheirScaleThroughReloadAndRestart) {
  const auto with = [](const char* priorities) {
    SupervisorConfig made = policed("priority");
    made.policy.pools[0].priorities = priorities;
    return made;
  };
  for (const bool reloaded : {true, false}) {
    JournalHarness cluster{with("1-99")};
    const auto submit = [&](std::int32_t priority) {
      JobSpec spec;
      spec.name = "job of " + std::to_string(priority);
      spec.priority = priority;
      cluster->submit(GraphBuilder{}.sources(1).build(), spec);
      cluster.write_all();
    };
    submit(0), submit(30);
    cluster->client_says(AdminRequest{1, "set", {"priority", "job-2", "20"}, "ada@desk"});
    cluster.write_all();
    if (reloaded) {
      cluster->handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, with("any").policy});
      cluster.write_all();
    }
    SupervisorHarness next{with("any"), Durability::Journal};
    next.handle(supervisor_event::StateRecovered{cluster.log().state(), 1'800'000'100'000});
    EXPECT_EQ((*next.ask("job", {"job-1"}))["priority"], Value{0});
    EXPECT_EQ((*next.ask("job", {"job-2"}))["priority"], Value{22});
    next.ignore();
    cluster->ignore();
  }
}

// A priority that did not fit the scale of a while is what it was made then.
TEST(PolicyKeepingOfScales, APriorityThatWasChangedByAReloadIsWrittenDown) {
  SupervisorConfig config = policed("priority");
  JournalHarness cluster{config};
  JobSpec spec;
  spec.priority = -1000;
  cluster->submit(GraphBuilder{}.sources(1).build(), spec);
  cluster.write_all();
  for (const char* priorities : {"1-99", "any"}) {
    config.policy.pools[0].priorities = priorities;
    cluster->handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, config.policy});
    cluster.write_all();
  }
  cluster.restart();
  EXPECT_EQ((*cluster->ask("job", {"job-1"}))["priority"], Value{-57});
  cluster->ignore();
}

// Found by an acceptance test: where no job was there it stood still.
TEST_F(PolicyKeeping, UseFadesAlsoWhereNoPassRuns) {
  use_something();
  const double before = use_of(0);
  cluster->tick_after(1h);
  EXPECT_NEAR(use_of(0), before / 2, 1e-6);
}

TEST_F(PolicyKeeping, UseComesBackAndHasFadedMeanwhile) {
  use_something();
  ASSERT_NEAR(use_of(0), 0.004, 1e-6);
  cluster.restart(1h);
  EXPECT_NEAR(use_of(0), 0.002, 1e-6);
  EXPECT_EQ(use_of(1), 0);
}

// As an earlier version wrote it, of accounts only.
TEST_F(PolicyKeeping, UseOfNobodyIsThatOfTheUserOfTheAccountsName) {
  record::PolicyKept kept;
  kept.at_ms = 1'700'000'000'000;
  kept.usage = {{config().policy.accounts[0].name, "", {7, 0, 0, 0}}};
  RecoveredState state;
  state.policy = kept;
  PolicedSupervisor again{config()};
  again.handle(supervisor_event::StateRecovered{state, kept.at_ms});
  JobSpec spec;
  spec.owner = config().policy.accounts[0].name;
  again.submit(GraphBuilder{}.sources(2).build(), spec);
  const Result<Value> shares = again.ask("shares");
  ASSERT_TRUE(shares.has_value());
  EXPECT_NEAR(*(*shares->list())[0]["usage_slot_s"].number(), 7, 1e-9);
  EXPECT_EQ(shares->list()->size(), config().policy.accounts.size()) << "nobody stands beside him";
  again.ignore();
}

// Found by an acceptance test: a file that lacked an account for a moment freed its users of all that they had used.
TEST_F(PolicyKeeping, UseOfAnAccountThatIsNotConfiguredForAWhileIsThereWhenItIsAgain) {
  use_something();
  const double used = use_of(0);
  ASSERT_GT(used, 0);
  const auto read = [&](const PolicyConfig& policy) {
    cluster->handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, policy});
    cluster.write_all();
  };
  PolicyConfig without = config().policy;
  without.accounts = {{.name = "bob"}};
  read(without);
  EXPECT_EQ(use_of(0), 0) << "bob's";
  read(config().policy);
  EXPECT_NEAR(use_of(0), used, used / 100);
}

TEST_F(PolicyKeeping, UseOfAnAccountThatIsNotConfiguredAtTheStartIsThereWhenItIs) {
  record::PolicyKept kept;
  kept.at_ms = 1'700'000'000'000;
  kept.usage = {{"ann", "ann", {7, 0, 0, 0}}};
  RecoveredState state;
  state.policy = kept;
  SupervisorConfig without = config();
  without.policy.accounts = {{.name = "bob"}};
  PolicedSupervisor again{without};
  again.handle(supervisor_event::StateRecovered{state, kept.at_ms});
  again.handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, config().policy});
  const Result<Value> shares = again.ask("shares");
  ASSERT_TRUE(shares.has_value());
  EXPECT_NEAR(*(*shares->list())[0]["usage_slot_s"].number(), 7, 1e-9);
  again.ignore();
}

TEST_F(PolicyKeeping, SharesOfAnAccountHoldUntilTheConfigurationIsReadAgain) {
  order("set", {"shares", "bob", "3"});
  for (int life = 0; life < 3; ++life) {
    EXPECT_EQ(row("shares", 1)["shares"], Value{3});
    EXPECT_EQ(row("shares", 1)["share_part"], Value{0.75});
    cluster.restart();
  }
  EXPECT_TRUE(row("audit", 0)["outcome"].text()->starts_with("done; it was 1"));
  cluster->handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, config().policy});
  cluster.write_all();
  cluster.restart();
  EXPECT_EQ(row("shares", 1)["shares"], Value{1});
}

// The configuration may have lost the account meanwhile.
TEST_F(PolicyKeeping, SharesOfAnAccountThatIsGoneAreToldOf) {
  RecoveredState state;
  state.policy = record::PolicyKept{1, {}, {}, {{"eve", 2}, {"bob", 5}}};
  PolicedSupervisor again{config()};
  again.handle(supervisor_event::StateRecovered{state, 1});
  const std::vector<Error> alerts = again.alerts();
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_EQ(alerts[0].subject, "account 'eve'");
  const Result<Value> shares = again.ask("shares");
  ASSERT_TRUE(shares.has_value());
  EXPECT_EQ((*shares->list())[1]["shares"], Value{5});
  again.ignore();
}

TEST_F(PolicyKeeping, AQuotaHoldsUntilTheConfigurationIsReadAgain) {
  order("set", {"quota", "a", "3"});
  for (int life = 0; life < 3; ++life) {
    EXPECT_EQ(row("projects", 0)["guaranteed_slots"], Value{3});
    cluster.restart();
  }
  cluster->handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, config().policy});
  cluster.write_all();
  EXPECT_EQ(row("projects", 0)["guaranteed_slots"], Value{0});
  cluster.restart();
  EXPECT_EQ(row("projects", 0)["guaranteed_slots"], Value{0});
  EXPECT_EQ(row("audit", 1)["who"], Value{"SIGHUP"});
}

TEST_F(PolicyKeeping, WhateverIsSetOfAProjectComesBack) {
  order("set", {"gpu-quota", "a", "3"});
  order("set", {"memory-quota", "a", "1GiB"});
  order("set", {"project-weight", "b", "2.5"});
  for (int life = 0; life < 3; ++life) {
    EXPECT_EQ(row("projects", 0)["guaranteed_gpu_slots"], Value{3});
    EXPECT_EQ(row("projects", 0)["guaranteed_memory"], Value{std::int64_t{1} << 30});
    EXPECT_EQ(row("projects", 1)["weight"], Value{2.5});
    cluster.restart();
  }
}

TEST_F(PolicyKeeping, AJobStaysWithTheAccountThatItWasSetTo) {
  cluster->join({.slots = 1});
  submit("first", 40);
  submit("second", 40);
  order("hold", {"second"});
  const Value accounts = cluster->ask("shares").value();
  order("set", {"account", "second", "bob"});
  for (int life = 0; life < 3; ++life) {
    EXPECT_EQ(cluster->job(2).spec.policy.account, "bob") << "in life " << life;
    EXPECT_EQ(cluster->job(2).shares->account, 1U) << "in life " << life;
    cluster.restart();
  }
}

TEST_F(PolicyKeeping, AMovedJobStaysWhereItWasMovedTo) {
  cluster->join({.slots = 4});
  submit("first", 40);
  submit("second", 40);
  ASSERT_EQ(row("queue", 0)["name"], Value{"first"});
  order("move", {"second", "ahead-of", "first"});
  order("set", {"weight", "second", "2.5"});
  for (int life = 0; life < 3; ++life) {
    EXPECT_EQ(row("queue", 0)["name"], Value{"second"}) << "in life " << life;
    EXPECT_EQ(row("queue", 0)["weight"], Value{2.5});
    cluster.restart();
  }
}

}  // namespace
}  // namespace penstock::supervisor
