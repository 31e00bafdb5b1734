// SupervisorCore: the cluster as a pass of the policy sees it.
#include <gtest/gtest.h>

#include "supervisor/policy/snapshot.hpp"
#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

TEST(PolicySnapshot, ShowsBandsOwnersAndWhatEachJobCouldUse) {
  SupervisorConfig config = policed("quota", {{.name = "science", .is_department = true, .guaranteed_slots = 3},
                                              {.name = "vision", .department = "science", .guaranteed_slots = 2}});
  config.policy.accounts = {{.name = "all"}, {.name = "ann", .parent = "all", .shares = 3}};
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 4});
  JobSpec spec;
  spec.priority = 5;
  spec.policy = {.project = "vision", .account = "ann", .slots_max = 3};
  supervisor.submit(GraphBuilder{}.sources(40).build(), spec);
  supervisor.tick_after(std::chrono::milliseconds{5});
  const std::vector<supervisor_action::RunPass> passes = supervisor.take_passes();
  ASSERT_EQ(passes.size(), 1U);
  const policy::Snapshot& seen = passes[0].snapshot;
  ASSERT_EQ(seen.bands.size(), 1U);
  EXPECT_EQ(seen.bands[0].slots, 4000) << "where quotas count, in thousandths";
  ASSERT_EQ(seen.projects.size(), 6U) << "two and none, for each kind of band";
  EXPECT_EQ(seen.projects[1].parent, 0U);
  EXPECT_EQ(seen.projects[1].shares[2].guaranteed, 2000);
  EXPECT_EQ(seen.projects[4].parent, 3U);
  EXPECT_EQ(seen.projects[4].shares[2].guaranteed, 0) << "of device bands nothing is guaranteed";
  ASSERT_EQ(seen.accounts.size(), 2U);
  EXPECT_FALSE(seen.accounts[0].user);
  EXPECT_TRUE(seen.accounts[1].user);
  ASSERT_EQ(seen.workloads.size(), 1U);
  EXPECT_EQ(seen.workloads[0].project, 1U);
  EXPECT_EQ(seen.workloads[0].account, 1U);
  EXPECT_EQ(seen.workloads[0].priority, 5);
  EXPECT_EQ(seen.members.size(), 3U) << "its cap";
  supervisor.ignore();
}

TEST(PolicySnapshot, NoMoreMembersThanConfigured) {
  SupervisorConfig config = policed("fair_share");
  config.policy.members_max = 16;
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 30});
  supervisor.submit(GraphBuilder{}.sources(40).build());
  supervisor.tick_after(std::chrono::milliseconds{5});
  const std::vector<supervisor_action::RunPass> passes = supervisor.take_passes();
  ASSERT_EQ(passes.size(), 1U);
  EXPECT_EQ(passes[0].snapshot.members.size(), 16U);
  supervisor.ignore();
}

// Found by the simulator (seed 4442): a part of a gang waited for its rest, which nobody was told of.
TEST(PolicySnapshot, AGangIsShownWholeOrNotAtAll) {
  SupervisorConfig config = policed("quota");
  config.policy.members_max = 16;
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 30});
  JobSpec spec;
  spec.policy.gang = 20;
  supervisor.submit(GraphBuilder{}.sources(40).build(), spec);
  supervisor.submit(GraphBuilder{}.sources(40).build());
  supervisor.tick_after(std::chrono::milliseconds{5});
  const std::vector<supervisor_action::RunPass> passes = supervisor.take_passes();
  ASSERT_EQ(passes.size(), 1U);
  EXPECT_EQ(passes[0].snapshot.members.size(), 20U);
  supervisor.ignore();
}

// What attempts have run is charged to the account of their job, and fades.
TEST(PolicySnapshot, UseIsChargedAndFadesByHalves) {
  SupervisorConfig config = policed("multifactor");
  config.policy.accounts = {{.name = "ann"}};
  config.policy.usage_half_life = std::chrono::seconds{100};
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 2});
  JobSpec spec;
  spec.owner = "ann";
  supervisor.submit(GraphBuilder{}.sources(9).build(), spec);
  supervisor.settle(2);
  JobReports reports;
  reports.job = JobId{1};
  AttemptReport done;
  done.subtask = SubtaskIndex{0};
  done.attempt = Attempt{1};
  done.outcome = Outcome::Succeeded;
  done.run_us = 8'000'000;
  reports.attempts = {done};
  supervisor.report(1, reports);
  supervisor.settle(1);
  supervisor.tick_after(std::chrono::milliseconds{300});
  const auto usage = [&] { return *(*supervisor.ask("shares")->list())[0]["usage_slot_s"].number(); };
  EXPECT_NEAR(usage(), 8, 0.1);
  supervisor.take_passes();
  supervisor.tick_after(std::chrono::seconds{100});
  supervisor.settle(1);
  EXPECT_NEAR(usage(), 4, 0.2);
  supervisor.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
