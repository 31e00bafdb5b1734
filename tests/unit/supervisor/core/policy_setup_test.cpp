// SupervisorCore: which policy is in force, and where a job stands in it.
#include <gtest/gtest.h>

#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

using namespace std::chrono_literals;

JobSpec of(JobPolicy policy) {
  JobSpec spec;
  spec.policy = std::move(policy);
  return spec;
}

SupervisorConfig two_pools() {
  SupervisorConfig config;
  config.policy.pools = {{.name = "first", .workers = {"worker-1"}}, {.name = "rest"}};
  config.policy.projects = {{.name = "science", .is_department = true},
                            {.name = "vision", .department = "science", .pools = {"first"}}};
  config.policy.accounts = {{.name = "ann"}};
  return config;
}

TEST(PolicySetup, WhatAJobSaysOfItsOwnerMustBeKnown) {
  PolicedSupervisor supervisor{two_pools()};
  supervisor.join();
  supervisor.join();
  const auto refused = [&](JobPolicy policy) {
    supervisor.submit(GraphBuilder{}.sources(1).build(), of(std::move(policy)));
    const Error& refusal = supervisor.refusal();
    return refusal.subject + " " + refusal.message + ", " + refusal.remedy;
  };
  EXPECT_NE(refused({.project = "visions"}).find("project 'visions' is not known"), std::string::npos);
  EXPECT_NE(refused({.project = "science"}).find("is a department"), std::string::npos);
  EXPECT_NE(refused({.account = "bob"}).find("account 'bob' is not known"), std::string::npos);
  EXPECT_NE(refused({.pools = {"frist"}}).find("did you mean 'first'"), std::string::npos);
  EXPECT_NE(refused({.gang = 2}).find("is larger than pool 'rest', which has 1 cpu slots"), std::string::npos);
  supervisor.ignore();
}

TEST(PolicySetup, WithoutAPolicyNothingIsAskedAndNothingLimited) {
  SupervisorHarness supervisor;
  supervisor.join();
  supervisor.submit(GraphBuilder{}.sources(1).build(), of({.project = "whatever", .gang = 7}));
  EXPECT_EQ(supervisor.assigned(), Lines{"0 to w1"});
  EXPECT_EQ(supervisor.take_passes().size(), 0U);
  EXPECT_EQ(supervisor.ask("queue").error().code, ErrorCode::WrongState);
}

TEST(PolicySetup, AJobMayAskForAsMuchGraceAsTheSiteAllowsAndNoMore) {
  SupervisorConfig config;
  config.policy.grace_max = 20s;
  SupervisorHarness supervisor{config};
  supervisor.join();
  JobSpec asks;
  asks.grace = config.policy.grace_max;
  EXPECT_TRUE(supervisor.submit(GraphBuilder{}.sources(1).build(), asks).valid());
  asks.grace += 1ms;
  EXPECT_FALSE(supervisor.submit(GraphBuilder{}.sources(1).build(), asks).valid());
  EXPECT_EQ(to_string(supervisor.refusal()).find("grace of 20.001 s: is above `policy.grace_max`, which is 20 s"), 0U)
      << to_string(supervisor.refusal());
  supervisor.ignore();
}

// A policy may come later, and then the list counts.
TEST(PolicySetup, AListOfPoolsThatIsNoneIsRefusedWithoutAPolicyToo) {
  SupervisorHarness supervisor;
  supervisor.join();
  EXPECT_FALSE(supervisor.submit(GraphBuilder{}.sources(1).build(), of({.pools = {"a", "a"}})).valid());
  EXPECT_NE(to_string(supervisor.refusal()).find("lists pool 'a' twice"), std::string::npos);
  EXPECT_TRUE(supervisor.submit(GraphBuilder{}.sources(1).build(), of({.pools = {"a"}})).valid());
  supervisor.ignore();
}

TEST(PolicySetup, AJobRunsInItsPoolOnly) {
  PolicedSupervisor supervisor{two_pools()};
  supervisor.join({.slots = 2});
  supervisor.join({.slots = 2});
  supervisor.submit(GraphBuilder{}.sources(4).build(), of({.project = "vision"}));
  supervisor.settle(2);
  EXPECT_EQ(supervisor.assigned(), (Lines{"0 to w1", "1 to w1", "2 to w1", "3 to w1"}));
  supervisor.submit(GraphBuilder{}.sources(1).build(), of({}));
  supervisor.settle(2);
  EXPECT_EQ(supervisor.assigned(), Lines{"2:0 to w2"});
  supervisor.ignore();
}

TEST(PolicySetup, AReloadIsAppliedWholeOrNotAtAll) {
  PolicedSupervisor supervisor{policed("fair_share_max_min")};
  supervisor.join({.slots = 4});
  for (const char* name : {"a", "b"}) {
    JobSpec spec;
    spec.name = name;
    supervisor.submit(GraphBuilder{}.sources(40).build(), spec);
  }
  supervisor.settle(3);
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:2"});

  supervisor.client_says(AdminRequest{9, "reload", {}, "ann@home"});
  auto reloads = supervisor.take_actions<supervisor_action::ReloadPolicy>();
  ASSERT_EQ(reloads.size(), 1U);
  const Error wrong{ErrorCode::InvalidArgument, "penstock.toml:3:1", "is wrong", {}};
  supervisor.handle(supervisor_event::PolicyRead{reloads[0].client, reloads[0].request, wrong});
  std::vector<AdminAnswer> answers = supervisor.take_for<AdminAnswer>();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].refusal, wrong);
  supervisor.settle(1);
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:2"}) << "the one in force stays";

  supervisor.handle(supervisor_event::PolicyRead{ClientId{1}, reloads[0].request, PolicyConfig{}});
  EXPECT_EQ(supervisor.take_for<AdminAnswer>().size(), 1U);
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:all"}) << "without a pool nothing is limited";
  EXPECT_EQ(supervisor.entitlements(2), Lines{"w1:all"});

  PolicyConfig capped = policed("fair_share_max_min").policy;
  supervisor.handle(supervisor_event::PolicyRead{ClientId{1}, reloads[0].request, capped});
  supervisor.take_for<AdminAnswer>();
  supervisor.settle(3);
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:2"});
  supervisor.ignore();
}

TEST(PolicySetup, TheSupervisorNamesWhatAttemptsOfCommandsSave) {
  PolicedSupervisor supervisor{policed("fair_share")};
  supervisor.join({.slots = 4});
  GraphBuilder graph;
  graph.template_at(0).runner = RunnerKind::Command;
  graph.template_at(0).environment = {"PENSTOCK_CHECKPOINT_KEY=job-5.17", "A=b"};
  supervisor.submit(graph.add().build());
  supervisor.settle(2);
  const auto batches = supervisor.take<AssignBatch>();
  ASSERT_EQ(batches.size(), 1U);
  ASSERT_EQ(batches[0].second.templates.size(), 1U);
  const Lines& environment = batches[0].second.templates[0].content.environment;
  ASSERT_EQ(environment.size(), 2U);
  EXPECT_EQ(environment[0], "A=b");
  EXPECT_TRUE(environment[1].starts_with("PENSTOCK_CHECKPOINT_KEY=job-1.")) << environment[1];
  supervisor.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
