// The list of what operators have ordered.
#include <gtest/gtest.h>

#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

JobSpec named(const std::string& name) {
  JobSpec spec;
  spec.name = name;
  return spec;
}

AdminRequest order(const std::string& command, std::vector<std::string> arguments) {
  return {1, command, std::move(arguments), "ada@desk"};
}

/// `author: order: outcome` of each entry.
Lines list(SupervisorHarness& cluster, std::vector<std::string> arguments = {}) {
  const Result<Value> answer = cluster.ask("audit", std::move(arguments));
  EXPECT_TRUE(answer.has_value()) << to_string(answer.error());
  Lines lines;
  if (answer)
    for (const Value& row : *answer->list())
      lines.push_back(*row["who"].text() + ": " + *row["order"].text() + ": " + *row["outcome"].text());
  return lines;
}

TEST(Audit, TellsWhoHasOrderedWhatAndWhatCameOfItAlsoInTheNextLife) {
  JournalHarness cluster;
  cluster->submit(GraphBuilder{}.sources(1).build(), named("one"));
  cluster.write_all();
  cluster->client_says(order("priority", {"one", "7"}));
  cluster->client_says(order("cancel", {"two"}));
  cluster->client_says(AdminRequest{1, "jobs", {}, "eve"});
  cluster.write_all();
  cluster->ignore();
  for (int life = 0; life < 2; ++life) {
    const Lines found = list(cluster.life());
    ASSERT_EQ(found.size(), 2U) << "questions are no orders";
    EXPECT_EQ(found[0], "ada@desk: priority one 7: done; it was 0");
    EXPECT_TRUE(found[1].starts_with("ada@desk: cancel two: ")) << found[1];
    EXPECT_NE(found[1].find("is not known"), std::string::npos) << found[1];
    cluster.restart();
  }
}

TEST(Audit, AnOrderIsAnsweredWhenItIsWritten) {
  JournalHarness cluster;
  cluster->join();
  cluster.write_all();
  cluster->client_says(order("drain", {"worker-1"}));
  EXPECT_TRUE(cluster->take_for<AdminAnswer>().empty());
  cluster.write_all();
  EXPECT_EQ(cluster->take_for<AdminAnswer>().size(), 1U);
  cluster->ignore();
}

TEST(Audit, HasTimesOfTheWallClock) {
  SupervisorHarness cluster;
  cluster.handle(supervisor_event::StateRecovered{{}, 1'795'284'000'123});
  cluster.client_says(order("drain", {"nobody"}));
  cluster.ignore();
  const Result<Value> answer = cluster.ask("audit");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(*answer->list()->at(0)["time"].text(), "2026-11-21T18:00:00Z");
}

TEST(Audit, TheOldestAreForgottenWhenThereAreTooManyAndNumbersGoOn) {
  JournalHarness cluster{SupervisorConfig{.audit_entries_max = 2}};
  for (const char* worker : {"a", "b", "c"}) cluster->client_says(order("drain", {worker}));
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  const Lines found = list(cluster.life());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].starts_with("ada@desk: drain b")) << found[0];
  const Result<Value> answer = cluster->ask("audit");
  EXPECT_EQ(*answer->list()->at(1)["number"].integer(), 3);
}

// Policy decides far more often than operators order.
TEST(Audit, WhatPolicyDecidesPushesNoOrdersOutWhileItIsMoreThanHalf) {
  JournalHarness cluster{SupervisorConfig{.audit_entries_max = 4}};
  const auto say = [&](const char* who, const char* worker) {
    cluster->client_says(AdminRequest{1, "drain", {worker}, who});
  };
  const auto whose = [&] {
    const Result<Value> answer = cluster->ask("audit");
    Lines lines;
    for (const Value& row : *answer->list())
      lines.push_back(std::to_string(*row["number"].integer()) + " " + *row["who"].text());
    return lines;
  };
  for (const char* worker : {"a", "b"}) say("ada", worker);
  for (const char* worker : {"c", "d", "e", "f", "g", "h"}) say("policy", worker);
  cluster.write_all();
  cluster->ignore();
  const Lines kept{"1 ada", "2 ada", "7 policy", "8 policy"};
  EXPECT_EQ(whose(), kept);
  cluster.restart();
  EXPECT_EQ(whose(), kept);
  EXPECT_EQ(list(cluster.life(), {"--limit=3"}).size(), 3U);
  say("ada", "i");  // Policy has no more than half: the oldest goes.
  EXPECT_EQ(whose(), (Lines{"2 ada", "7 policy", "8 policy", "9 ada"}));
  say("policy", "j");
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  EXPECT_EQ(whose(), (Lines{"2 ada", "8 policy", "9 ada", "10 policy"}));
  cluster->ignore();
}

TEST(Audit, TellsOfLostWorkersAndOfADiskInTroubleAlsoInTheNextLife) {
  JournalHarness cluster{SupervisorConfig{.audit_entries_max = 4}};
  cluster->client_says(order("drain", {"nobody"}));
  const WorkerId worker = cluster->join();
  cluster.write_all();
  cluster->lose(worker.value(), "silent for 10 s");
  cluster.write_all();
  cluster.fail(ErrorCode::StorageFull);
  cluster.fail(ErrorCode::StorageFull);  // Once is enough.
  cluster->client_says(order("drain", {"anybody"}));
  cluster.write_all();
  cluster->alerts();
  cluster->ignore();
  Lines found = list(cluster.life());
  ASSERT_EQ(found.size(), 4U);
  EXPECT_TRUE(found[0].starts_with("ada@desk: drain nobody")) << "none of these push orders out";
  EXPECT_TRUE(found[1].starts_with("supervisor: hold back replies: disk: is in trouble")) << found[1];
  EXPECT_TRUE(found[2].starts_with("ada@desk: drain anybody")) << found[2];
  EXPECT_EQ(found[3], "supervisor: release replies: all deferred records are written");
  cluster.restart();
  EXPECT_EQ(list(cluster.life()), found);
  cluster->ignore();
}

TEST(Audit, ALostWorkerIsNamedWithItsReason) {
  JournalHarness cluster;
  const WorkerId worker = cluster->join();
  cluster.write_all();
  cluster->lose(worker.value(), "silent for 10 s");
  cluster.write_all();
  cluster->alerts();
  cluster->ignore();
  for (int life = 0; life < 2; ++life) {
    const Lines found = list(cluster.life());
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].starts_with("supervisor: give up worker-")) << found[0];
    EXPECT_TRUE(found[0].ends_with(": silent for 10 s")) << found[0];
    cluster.restart();
  }
  cluster->ignore();
}

TEST(Audit, TheOldestAreForgottenWhenTheyAreTooOld) {
  JournalHarness cluster{SupervisorConfig{.audit_age_max = std::chrono::hours{24}}};
  cluster->client_says(order("drain", {"a"}));
  cluster->tick_after(std::chrono::hours{23});
  cluster->client_says(order("drain", {"b"}));
  cluster.write_all();
  cluster->ignore();
  EXPECT_EQ(list(cluster.life()).size(), 2U);
  cluster.restart(std::chrono::hours{2});
  EXPECT_EQ(list(cluster.life()).size(), 1U);
  cluster->ignore();
}

TEST(Audit, LimitAndSinceNarrowIt) {
  SupervisorHarness cluster;
  cluster.handle(supervisor_event::StateRecovered{{}, 1'800'000'000'000});
  for (const char* worker : {"a", "b", "c"}) {
    cluster.tick_after(std::chrono::hours{1});
    cluster.client_says(order("drain", {worker}));
  }
  cluster.ignore();
  EXPECT_EQ(list(cluster, {"--limit=2"}).size(), 2U);
  EXPECT_EQ(list(cluster, {"--since=30min"}).size(), 1U);
  EXPECT_FALSE(cluster.ask("audit", {"--since=often"}).has_value());
  EXPECT_FALSE(cluster.ask("audit", {"--limit=x"}).has_value());
}

TEST(Audit, WhatIsTooLongIsCut) {
  SupervisorHarness cluster;
  cluster.client_says(AdminRequest{1, "drain", {std::string(100'000, 'x')}, std::string(100'000, 'y')});
  cluster.ignore();
  const Lines found = list(cluster);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_LT(found[0].size(), 4096U);
}

}  // namespace
}  // namespace penstock::supervisor
