#include "supervisor/core/invariants.hpp"

#include <gtest/gtest.h>

#include "supervisor/core/pool_parts.hpp"
#include "supervisor/core/rooms.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

/// The rooms that the invariants look at, with two workers of one band each and a job on the first of them: subtasks 0
/// to 3 are assigned, 4 and 5 are kept and can run, and 6, which reads the output of 0, is kept ahead of its input.
/// Under a policy nothing is assigned before the first pass.
struct InvariantRooms {
  explicit InvariantRooms(const std::string& preset = {}) {
    event.now = instant_at(std::chrono::seconds{1000});
    event.out = &out;
    if (!preset.empty()) policy_base.state.config.pools = {{.name = "all", .preset = preset}};
    policy_base.state.parts = parts_in_force(policy_base.state.config);
    policy_base.state.contended.assign(policy_base.state.config.pools.size() * kBandKinds, true);
    join(1);
    GraphBuilder builder;
    builder.template_at(0).expected_duration = std::chrono::seconds{1};  // A band holds two beyond its slots.
    add_job(builder.sources(6).add({0}).build());
    placement.dispatcher.fill_dirty_bands();
    join(2);
    check();
  }
  void join(std::uint32_t number) {
    Register description;
    description.name = "worker-" + std::to_string(number);
    description.bands.emplace_back().capacity.slots = kOneSlot * 2;
    driver.membership.note_pools_of(fleet.workers.add(WorkerId{number}, Incarnation{number}, description));
  }
  void add_job(const Graph& graph) {
    SharedGraph& shared = tables.graphs.add(shape_of(graph));
    Job& added = tables.jobs.add(JobId{1});
    added.graph.shared = &shared;
    added.graph.shape = shared.shape.get();
    added.hot.resize(added.graph.shape->size());
    added.graph.templates.resize(1);
    SubtaskMachine::open(added);
    tables.indices.active.insert(added.id, added.spec.priority);
    driver.membership.open_shares(added);
    for (std::uint32_t i = 0; i < added.total(); ++i)
      if (added.hot[i].missing == 0) placement.placer.become_placeable(added, i);
  }
  void check() const { Invariants{fleet, tables, outputs, policy_base, placement}.check(); }
  Job& job() { return tables.jobs[JobId{1}]; }
  BandEntry& band() { return fleet.workers[BandSlot{0}]; }

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

TEST(InvariantsDeathTest, AWrongCountOfASubtaskIsFound) {
  InvariantRooms rooms;
  EXPECT_DEATH((++rooms.job().hot[6].missing, rooms.check()), "missing == hot.missing 1:6");
  EXPECT_DEATH((++rooms.job().hot[6].unplaced, rooms.check()), "unplaced == hot.unplaced 1:6");
  EXPECT_DEATH((++rooms.job().tally.open, rooms.check()), "open == job->tally.open .* job-1");
  EXPECT_DEATH((--rooms.job().tally.in_flight, rooms.check()), "assigned == job->tally.in_flight job-1");
}

TEST(InvariantsDeathTest, AWrongCountOfABandIsFound) {
  InvariantRooms rooms;
  EXPECT_DEATH((++rooms.band().in_flight, rooms.check()), "band.in_flight == .* w1/0");
  EXPECT_DEATH((--rooms.band().runnable, rooms.check()), "band.runnable == .* w1/0");
  EXPECT_DEATH((++rooms.band().ready_here, rooms.check()), "band.ready_here == .* w1/0");
  EXPECT_DEATH((rooms.band().alive = false, rooms.check()), "alive 1:0");
}

TEST(InvariantsDeathTest, ASubtaskThatNoBandWouldEverGetIsFound) {
  InvariantRooms rooms;
  EXPECT_DEATH((rooms.job().hot[4].band = BandSlot{1}, rooms.check()), "found.* 1:4")
      << "no entry of the band has the subtask";
  EXPECT_DEATH((rooms.band().waiting = {}, rooms.check()), "is_waiting.* job-1")
      << "the job does not wait for the band";
  EXPECT_DEATH((rooms.placement.machine.transition(rooms.job(), 0, SubtaskPhase::Cancelled), rooms.check()),
               "doomed .* 1:6")
      << "the input will never be there";
}

TEST(InvariantsDeathTest, CountsOverAllWorkersAndJobsAreCompared) {
  InvariantRooms rooms;
  EXPECT_DEATH((rooms.fleet.workers[WorkerSlot{1}].claiming = true, rooms.check()), "claims == ");
  EXPECT_DEATH((rooms.tables.indices.limited.add({{.whom = "user 'ada'"}}), rooms.check()), "limited == ");
}

TEST(InvariantsDeathTest, TheCountsForPolicyAreThoseOfTheSubtasks) {
  InvariantRooms rooms{"priority"};
  const auto change = [&](auto change_it) {
    rooms.job().shares->change(BandSlot{0}, BandKind::Cpu, change_it);
    rooms.check();
  };
  EXPECT_DEATH(change([](BandShare& share) { ++share.in_flight; }), "share.in_flight == .* job-1");
  EXPECT_DEATH(change([](BandShare& share) { ++share.runnable; }), "share.runnable == .* job-1");
  EXPECT_DEATH(change([](BandShare& share) { ++share.started; }), "share.started == .* job-1");
  EXPECT_DEATH((++rooms.job().shares->use.edit().started_rate[0], rooms.check()), "started_rate == .* job-1");
  EXPECT_DEATH((rooms.job().shares->at(BandSlot{0}).runs = 1, rooms.check()), "short_bands.* job-1");
}

}  // namespace
}  // namespace penstock::supervisor
