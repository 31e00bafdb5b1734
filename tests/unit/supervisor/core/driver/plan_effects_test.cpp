#include "supervisor/core/driver/plan_effects.hpp"

#include <gtest/gtest.h>

#include "supervisor/core/pool_parts.hpp"
#include "supervisor/policy/plan.hpp"
#include "tests/support/coverage_marks.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using policy::Hold;

std::vector<PoolConfig> one_pool() { return {{.name = "all", .preset = "priority"}}; }

/// The rooms that carry out plans, with a policy in force and passes that a test writes by hand.
struct PlanRooms {
  explicit PlanRooms(std::vector<PoolConfig> pools) {
    event.now = instant_at(std::chrono::seconds{1000});
    event.out = &out;
    policy_base.state.config.pools = std::move(pools);
    policy_base.state.parts = parts_in_force(policy_base.state.config);
    policy_base.state.contended.assign(policy_base.state.config.pools.size() * kBandKinds, true);
  }
  void join(std::uint32_t number, std::int64_t slots) {
    Register description;
    description.name = "worker-" + std::to_string(number);
    description.bands.emplace_back().capacity.slots = kOneSlot * slots;
    driver.membership.note_pools_of(fleet.workers.add(WorkerId{number}, Incarnation{number}, description));
  }
  /// A job of which the first worker has heard.
  Job& add_job(JobPolicy wishes = {}) {
    SharedGraph& graph = tables.graphs.add(shape_of(GraphBuilder{}.sources(4).build()));
    Job& job = tables.jobs.add(tables.jobs.next());
    job.spec.policy = std::move(wishes);
    job.graph.shared = &graph;
    job.graph.shape = graph.shape.get();
    job.hot.resize(job.graph.shape->size());
    SubtaskMachine::open(job);
    tables.indices.active.insert(job.id, job.spec.priority);
    driver.membership.open_shares(job);
    job.audience.known_of = {JobAudience::kHeardOf};
    return job;
  }
  /// A pass that has seen all bands, and one waiting member of one slot for each of these jobs.
  PassUnderWay pass_over(const std::vector<const Job*>& jobs) const {
    PassUnderWay pass;
    pass.number = 1;
    pass.begun = event.now;
    for (std::uint32_t i = 0; i < fleet.workers.band_slots(); ++i) {
      pass.bands.push_back(BandSlot{i});
      pass.band_ids.push_back(fleet.workers[BandSlot{i}].id);
      pass.devices.emplace_back();
    }
    pass.domains.assign(policy_base.state.config.pools.size() * kBandKinds, DomainView{.granularity = 1000});
    for (const Job* job : jobs) {
      const bool gang = job->spec.policy.gang > 0;
      pass.members.push_back({static_cast<std::uint32_t>(pass.subjects.size()), 1000, {}});
      pass.subjects.push_back({job->id, BandKind::Cpu, gang, domain_of(job->shares->pool.position, BandKind::Cpu)});
    }
    return pass;
  }
  /// The slots that the worker in front was told by the plan: `job-1: 3000`, or `job-1: all`.
  Lines told_by(PassUnderWay pass, const policy::Plan& plan) {
    driver.plan_effects.apply_plan(pass, plan);
    fleet.mail.flush();
    Lines lines;
    for (const SupervisorAction& action : out)
      if (const auto* sent = std::get_if<supervisor_action::SendToWorker>(&action))
        for (const Entitlement& each : std::get<EntitlementBatch>(sent->message).entitlements)
          lines.push_back(to_string(each.job) + ": " +
                          (each.slots == MilliSlots::max() ? "all" : std::to_string(each.slots.value())));
    out.clear();
    return lines;
  }

  SupervisorConfig config{};
  EventContext event{};
  Actions<SupervisorAction> out{};
  Ledger ledger{config, event, Durability::None};
  Fleet fleet{config, event, ledger};
  JobTables tables{config, Rng{1}};
  Outputs outputs{config, event, ledger, fleet, tables};
  PolicyBase policy_base{config, event, ledger, fleet, tables};
  Placement placement{config, event, ledger, fleet, tables, outputs, policy_base};
  PolicyDriver driver{event, ledger, fleet, tables, policy_base, placement};
};

TEST(PlanEffects, ThePlanLimitsJobsWhereOneOfThemWaitsAndWorkersAreTold) {
  PlanRooms rooms{one_pool()};
  rooms.join(1, 4);
  const Job& first = rooms.add_job();
  const Job& second = rooms.add_job();
  PassUnderWay pass = rooms.pass_over({&first, &second});
  pass.members[0].milli = 3000;
  policy::Plan plan;
  plan.starts = {{.member = 0, .places = {{0, 3}}}, {.member = 1, .places = {{0, 1}}}};
  EXPECT_EQ(rooms.told_by(pass, plan), (Lines{"job-1: 3000", "job-2: 1000"})) << "where the plan says";
  EXPECT_EQ(rooms.told_by(pass, plan), (Lines{"job-1: all", "job-2: all"})) << "nothing limits the jobs";
  plan.explanations = {{.workload = 1, .hold = Hold::NoRoom, .need = 1, .have = 0}};
  EXPECT_EQ(rooms.told_by(pass, plan), (Lines{"job-1: 3000", "job-2: 1000"}));
  EXPECT_EQ(first.shares->of(BandSlot{0}).planned, 3000U);
  EXPECT_EQ(second.shares->of(BandSlot{0}).planned, 1000U);
  EXPECT_EQ(rooms.told_by(pass, plan), Lines{}) << "nothing has changed";
}

TEST(PlanEffects, TheRuleThatHoldsAJobIsKnownUntilTheNextPlan) {
  PlanRooms rooms{one_pool()};
  rooms.join(1, 4);
  const Job& first = rooms.add_job();
  const Job& second = rooms.add_job();
  PassUnderWay pass = rooms.pass_over({&first, &second});
  policy::Plan plan;
  plan.explanations = {{.workload = 0, .hold = Hold::NoRoom, .need = 2, .have = 1},
                       {.workload = 1, .hold = Hold::HigherPriority, .other = 0}};
  rooms.told_by(pass, plan);
  EXPECT_EQ(first.shares->kinds[0].why.hold, "no room: it needs 2, and the roomiest place has 1");
  ASSERT_TRUE(first.shares->kinds[0].why.waits.has_value());
  EXPECT_EQ(first.shares->kinds[0].why.waits->need, 2000);
  EXPECT_EQ(first.shares->kinds[0].why.waits->have, 1000);
  EXPECT_EQ(second.shares->kinds[0].why.hold, "priority: job-1 of higher priority waits");
  EXPECT_EQ(second.shares->kinds[0].why.waits->other, first.id);
  rooms.told_by(pass, {});
  for (const Job* job : {&first, &second}) {
    EXPECT_EQ(job->shares->kinds[0].why.hold, "");
    EXPECT_FALSE(job->shares->kinds[0].why.waits.has_value());
  }
}

TEST(PlanEffects, APromisedPlaceIsNotHeldAndAPreemptedOneNoLonger) {
  PlanRooms rooms{one_pool()};
  rooms.join(1, 4);
  const Job& first = rooms.add_job();
  const Job& second = rooms.add_job();
  PassUnderWay pass = rooms.pass_over({&first, &second});
  pass.members[0].places = {{BandSlot{0}, 1000}};
  pass.members[1].milli = 2000;
  const Instant start = rooms.event.now + std::chrono::minutes{1};
  policy::Plan plan;
  plan.preemptions = {{.member = 0, .beneficiary = 1}};
  plan.reservations = {{.member = 1, .places = {{0, 2}}, .starts_by = start}};
  rooms.told_by(pass, plan);
  EXPECT_EQ(first.shares->of(BandSlot{0}).planned, 0U);
  EXPECT_EQ(second.shares->of(BandSlot{0}).planned, 0U);
  const KindShare& promised = second.shares->kinds[0];
  ASSERT_EQ(promised.promised.size(), 1U);
  ASSERT_EQ(promised.promised[0].size(), 1U);
  EXPECT_EQ(promised.promised[0][0].milli, 2000U);
  EXPECT_EQ(promised.why.starts_by, start);
  rooms.told_by(pass, {});
  EXPECT_EQ(first.shares->of(BandSlot{0}).planned, 1000U) << "a member that is not preempted keeps its place";
  EXPECT_TRUE(second.shares->kinds[0].promised.empty());
  EXPECT_EQ(second.shares->kinds[0].why.starts_by, kNever);
}

TEST(PlanEffects, AGangHoldsTheSlotsThatItTakesOfEachBand) {
  PlanRooms rooms{one_pool()};
  rooms.join(1, 4);
  rooms.join(2, 1);
  const Job& job = rooms.add_job({.gang = 5});
  PassUnderWay pass = rooms.pass_over({&job});
  pass.members[0].milli = 5000;
  policy::Plan plan;
  plan.starts = {{.member = 0, .places = {{0, 4}, {1, 1}}}};
  EXPECT_EQ(rooms.told_by(pass, plan), Lines{"job-1: 4000"});
  EXPECT_EQ(job.shares->of(BandSlot{0}).planned, 4000U);
  EXPECT_EQ(job.shares->of(BandSlot{1}).planned, 1000U);
}

TEST(PlanEffects, ABandThatIsAnotherByNowGivesNothing) {
  PlanRooms rooms{one_pool()};
  rooms.join(1, 4);
  const Job& job = rooms.add_job();
  PassUnderWay pass = rooms.pass_over({&job});
  policy::Plan plan;
  plan.starts = {{.member = 0, .places = {{0, 1}}}};
  rooms.fleet.workers.remove(WorkerSlot{0});
  rooms.join(2, 4);
  ASSERT_EQ(rooms.fleet.workers.find(WorkerId{2}), WorkerSlot{0}) << "the slot is used again";
  rooms.told_by(pass, plan);
  EXPECT_EQ(job.shares->of(BandSlot{0}).planned, 0U);
  rooms.told_by(rooms.pass_over({&job}), plan);
  EXPECT_EQ(job.shares->of(BandSlot{0}).planned, 1000U);
}

TEST(PlanEffects, APoolThatTheJobHasLeftMeanwhileGivesNothing) {
  std::vector<PoolConfig> pools = one_pool();
  pools.insert(pools.begin(), {.name = "first", .preset = "priority", .workers = {"worker-1"}});
  PlanRooms rooms{pools};
  rooms.join(1, 4);
  const Job& job = rooms.add_job({.pools = {"first", "all"}});
  PassUnderWay pass = rooms.pass_over({&job});
  policy::Plan plan;
  plan.starts = {{.member = 0, .places = {{0, 1}}}};
  rooms.told_by(pass, plan);
  EXPECT_EQ(job.shares->of(BandSlot{0}).planned, 1000U);
  job.shares->pool.position = 1;
  job.shares->pool.spreads = false;
  PENSTOCK_EXPECT_COVERAGE_MARK("a plan gives slots in a pool that the job has left meanwhile",
                                rooms.told_by(pass, plan));
  EXPECT_EQ(job.shares->of(BandSlot{0}).planned, 0U);
}

}  // namespace
}  // namespace penstock::supervisor
