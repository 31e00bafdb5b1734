#include "supervisor/core/driver/policy_membership.hpp"

#include <gtest/gtest.h>

#include "supervisor/core/pool_parts.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using namespace std::chrono_literals;

/// The rooms below the driver, two workers of one band each, and a job of ada's with three subtasks. The first worker
/// is in a pool of its own, and has heard of the job.
class PolicyMembershipTest : public ::testing::Test {
 protected:
  PolicyMembershipTest() {
    event.out = &out;
    event.now = instant_at(100s);
    policy.config.pools = {{.name = "first", .workers = {"worker-1"}}, {.name = "rest"}};
    policy.config.projects = {{.name = "sound"}, {.name = "vision", .pools = {"first", "rest"}}};
    policy.config.accounts = {{.name = "lab"}, {.name = "ada"}};
    policy.config.users = {{.name = "ada", .limits = {.slots_max = 8}}};
    policy.config.settle = 5ms;
    policy.tree = project_tree(policy.config);
    policy.parts = parts_in_force(policy.config);
    policy.contended.assign(policy.config.pools.size() * kBandKinds, true);
    for (const std::uint32_t number : {1U, 2U}) {
      Register description;
      description.name = "worker-" + std::to_string(number);
      description.bands.emplace_back().capacity.slots = kOneSlot * 4;
      membership.note_pools_of(fleet.workers.add(WorkerId{number}, Incarnation{number}, description));
    }
    policy.due = kNever;
    job.id = JobId{1};
    job.spec.owner = "ada";
    job.spec.policy.project = "vision";
    job.graph.shape = shape.get();
    job.hot.resize(shape->size());
    job.audience.known_of = {JobAudience::kHeardOf};
  }
  /// A subtask of the job is assigned to the band.
  void assign(std::uint32_t subtask, BandSlot band) {
    SubtaskHot& hot = job.hot[subtask];
    hot.phase = SubtaskPhase::Assigned;
    hot.band = band;
    hot.attempt = 10 + subtask;
    ++job.tally.in_flight;
    fleet.workers[band].assigned.push_back({job.id, subtask, hot.attempt});
  }
  /// The slots that each worker was told of since the last call.
  std::vector<std::pair<WorkerId, MilliSlots>> told() {
    fleet.mail.flush();
    std::vector<std::pair<WorkerId, MilliSlots>> all;
    for (const SupervisorAction& action : out)
      if (const auto* order = std::get_if<supervisor_action::SendToWorker>(&action))
        for (const Entitlement& each : std::get<EntitlementBatch>(order->message).entitlements)
          all.emplace_back(order->worker, each.slots);
    out.clear();
    return all;
  }
  bool in_agenda() const { return !policy.agenda.in_sight().empty(); }
  /// Jobs that are counted against ada's limit.
  std::int64_t limited() const { return tables.indices.limited.count("user 'ada'"); }

  static constexpr BandSlot kInFirst{0};
  static constexpr BandSlot kInRest{1};

  Actions<SupervisorAction> out;
  EventContext event;
  SupervisorConfig config;
  Ledger ledger{config, event, Durability::None};
  Fleet fleet{config, event, ledger};
  JobTables tables{config, Rng{1}};
  Outputs outputs{config, event, ledger, fleet, tables};
  PolicyBase base{config, event, ledger, fleet, tables};
  Placement placement{config, event, ledger, fleet, tables, outputs, base};
  PolicyDriver driver{event, ledger, fleet, tables, base, placement};
  PolicyState& policy = base.state;
  PolicyMembership& membership = driver.membership;
  std::unique_ptr<GraphShape> shape = shape_of(GraphBuilder{}.chain(3).build());
  Job& job = tables.jobs.add(JobId{1});
};

TEST_F(PolicyMembershipTest, AWorkersBandsAreOfThePoolThatNamesIt) {
  EXPECT_EQ(policy.pool_of_band, (std::vector<std::uint32_t>{0, 1}));
  policy.config.pools[0].workers = {"worker-2"};
  membership.note_pools_of(WorkerSlot{1});
  EXPECT_EQ(policy.pool_of_band[kInRest.value()], 0U);
  EXPECT_EQ(policy.due, event.now + 5ms);
}

TEST_F(PolicyMembershipTest, OnlyAJobWithAGraphEntersAPolicyInForce) {
  job.graph.shape = nullptr;
  membership.open_shares(job);
  EXPECT_EQ(job.shares, nullptr) << "it has ended";
  job.graph.shape = shape.get();
  policy.config.pools.clear();
  membership.open_shares(job);
  EXPECT_EQ(job.shares, nullptr);
  EXPECT_EQ(policy.due, kNever);
}

TEST_F(PolicyMembershipTest, AJobEntersWithItsPoolsItsOwnersAndItsLimits) {
  membership.open_shares(job);
  ASSERT_NE(job.shares, nullptr);
  EXPECT_EQ(job.shares->pool.fallback.pools(), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(job.shares->pool.position, 0U);
  EXPECT_EQ(job.shares->project, 1U);
  EXPECT_EQ(job.shares->account, 1U) << "that of its owner, as it names none";
  EXPECT_EQ(job.shares->position, (std::int64_t{1} << 40U) + (std::int64_t{job.id.value()} << 20U));
  EXPECT_EQ(job.shares->kinds[0].unit_milli, 1000U);
  EXPECT_EQ(job.shares->of(kInFirst).entitled, MilliSlots::max()) << "its worker was told of no limit yet";
  EXPECT_EQ(job.shares->of(kInRest).entitled, MilliSlots{0});
  EXPECT_TRUE(in_agenda());
  EXPECT_EQ(limited(), 1);
  EXPECT_EQ(policy.due, event.now + 5ms);
}

TEST_F(PolicyMembershipTest, AttemptsThatAJobHasAreCountedAgain) {
  assign(0, kInFirst);
  assign(1, kInFirst);
  assign(2, kInFirst);
  job.hot[0].flags = SubtaskFlag::kStarted;
  job.hot[1].missing = 1;
  job.hot[2].attempt = 99;  // The band has an older attempt.
  for (int i = 0; i < 2; ++i) {
    membership.open_shares(job);
    const BandShare share = job.shares->of(kInFirst);
    EXPECT_EQ(share.in_flight, 2U);
    EXPECT_EQ(share.runnable, 1U);
    EXPECT_EQ(share.started, 1U);
    EXPECT_EQ(job.shares->use->started_rate, base.usage.rate_of(job, 0)) << "not that of one more";
  }
}

TEST_F(PolicyMembershipTest, TheLastPlanStaysInForceWhereTheJobMayStillBe) {
  membership.open_shares(job);
  job.shares->position = 12345;
  for (const BandSlot band : {kInFirst, kInRest}) {
    BandShare& share = job.shares->at(band);
    share.planned = 2000;
    share.entitled = MilliSlots{2000};
  }
  job.audience.known_of = {JobAudience::kHeardOf, JobAudience::kHeardOf};
  job.spec.policy.project.clear();
  membership.open_shares(job);
  EXPECT_EQ(job.shares->pool.position, 1U) << "a job without a project is in the default pool";
  EXPECT_EQ(job.shares->project, policy.config.projects.size());
  EXPECT_EQ(job.shares->of(kInFirst).planned, 0U);
  EXPECT_EQ(job.shares->of(kInRest).planned, 2000U);
  EXPECT_EQ(job.shares->of(kInFirst).entitled, MilliSlots{2000}) << "until its worker is told another number";
  EXPECT_EQ(job.shares->of(kInRest).entitled, MilliSlots{2000});
  EXPECT_EQ(job.shares->position, 12345) << "an operator's order stands";
  EXPECT_EQ(limited(), 1) << "it is counted once";
}

TEST_F(PolicyMembershipTest, WithoutAPolicyAnyMoreWorkersAreToldThatNothingIsLimited) {
  membership.open_shares(job);
  job.shares->at(kInFirst).entitled = MilliSlots{1000};
  policy.config.pools.clear();
  membership.close_shares(job);
  EXPECT_EQ(told(), (std::vector{std::pair{WorkerId{1}, MilliSlots::max()}})) << "the other one has not heard of it";
  EXPECT_EQ(job.shares, nullptr);
  EXPECT_FALSE(in_agenda());
  EXPECT_EQ(limited(), 0);
  for (const BandSlot band : {kInFirst, kInRest}) EXPECT_TRUE(fleet.workers[band].dirty) << "more may start there";
}

TEST_F(PolicyMembershipTest, AJobThatLeavesIsNotCountedAndNobodyIsTold) {
  membership.open_shares(job);
  membership.leave_policy(job);
  EXPECT_EQ(job.shares, nullptr);
  EXPECT_FALSE(in_agenda());
  EXPECT_EQ(limited(), 0);
  membership.leave_policy(job);
  membership.close_shares(job);
  EXPECT_TRUE(told().empty());
}

}  // namespace
}  // namespace penstock::supervisor
