#include "supervisor/core/runs/job_priorities.hpp"

#include <gtest/gtest.h>

#include <array>

#include "supervisor/core/pool_parts.hpp"
#include "supervisor/core/rooms.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using Batches = std::vector<std::pair<WorkerId, PriorityBatch>>;

/// The rooms in which jobs are placed and change their priorities, over one band of two slots; with a policy, one pool.
class JobPrioritiesTest : public ::testing::Test {
 protected:
  JobPrioritiesTest() {
    event.now = instant_at(std::chrono::seconds{1000});
    event.out = &out;
  }
  void set_policy() {
    policy_base.state.config.pools = {{.name = "all", .preset = "priority"}};
    policy_base.state.parts = parts_in_force(policy_base.state.config);
    policy_base.state.contended.assign(kBandKinds, true);
  }
  void join(std::uint32_t number) {
    Register description;
    description.name = "worker-" + std::to_string(number);
    description.bands.emplace_back().capacity.slots = kOneSlot * 2;
    driver.membership.note_pools_of(fleet.workers.add(WorkerId{number}, Incarnation{number}, description));
  }
  /// All of its subtasks are sources, and kept for a band.
  Job& add_job(std::uint32_t subtasks) {
    SharedGraph& graph = tables.graphs.add(shape_of(GraphBuilder{}.sources(subtasks).build()));
    Job& job = tables.jobs.add(tables.jobs.next());
    job.graph.shared = &graph;
    job.graph.shape = graph.shape.get();
    job.hot.resize(job.graph.shape->size());
    job.graph.templates.resize(1);
    SubtaskMachine::open(job);
    tables.indices.active.insert(job.id, job.spec.priority);
    driver.membership.open_shares(job);
    for (std::uint32_t i = 0; i < subtasks; ++i) placement.placer.become_placeable(job, i);
    return job;
  }
  /// New priorities that workers were told since the last call.
  Batches told() {
    fleet.mail.flush();
    Batches batches;
    for (const SupervisorAction& action : out)
      if (const auto* sent = std::get_if<supervisor_action::SendToWorker>(&action))
        if (const auto* batch = std::get_if<PriorityBatch>(&sent->message)) batches.emplace_back(sent->worker, *batch);
    out.clear();
    return batches;
  }
  /// Records of that kind since the last call.
  template <class Wanted>
  std::vector<Wanted> written() {
    ledger.gate.commit(true);
    std::vector<Wanted> found;
    for (const SupervisorAction& action : out)
      if (const auto* persist = std::get_if<supervisor_action::Persist>(&action))
        for (const Record& record : persist->records)
          if (const auto* wanted = std::get_if<Wanted>(&record)) found.push_back(*wanted);
    out.clear();
    return found;
  }
  /// The best of the subtasks that are kept for the band.
  std::uint32_t best_of(Job& job) {
    return job.graph.shape->at_rank(static_cast<std::uint32_t>(kept(job).best_ready()));
  }
  LocalSet& kept(Job& job) { return job.place.locals.at(BandSlot{0}); }

  SupervisorConfig config;
  EventContext event;
  Actions<SupervisorAction> out;
  Ledger ledger{config, event, Durability::Journal};
  Fleet fleet{config, event, ledger};
  JobTables tables{config, Rng{1}};
  Outputs outputs{config, event, ledger, fleet, tables};
  PolicyBase policy_base{config, event, ledger, fleet, tables};
  Placement placement{config, event, ledger, fleet, tables, outputs, policy_base};
  PolicyDriver driver{event, ledger, fleet, tables, policy_base, placement};
  Runs runs{config, event, fleet, tables, outputs, policy_base, placement, driver};
};

TEST_F(JobPrioritiesTest, AJobOfANewPriorityGoesFirstHereAndOnWorkersThatHaveHeardOfIt) {
  join(1);
  Job& first = add_job(1);
  Job& second = add_job(1);
  join(2);
  second.audience.workers = {WorkerId{1}, WorkerId{9}};  // The last one is gone.
  EXPECT_EQ(placement.queues.first_waiting(BandSlot{0}), &first);
  runs.priorities.change_priority(second, 5);
  EXPECT_EQ(placement.queues.first_waiting(BandSlot{0}), &second);
  EXPECT_EQ(tables.indices.active.all(), (std::vector{second.id, first.id}));
  EXPECT_EQ(told(), (Batches{{WorkerId{1}, PriorityBatch{second.id, true, 5, {}}}}));
  const auto records = written<record::JobChanged>();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].job, second.id);
  EXPECT_EQ(records[0].priority, 5);
}

TEST_F(JobPrioritiesTest, AChangedSubtaskIsServedByItsNewPriorityAndKeptOnce) {
  join(1);
  Job& job = add_job(4);
  EXPECT_EQ(best_of(job), 0U);
  for (const auto& [subtask, priority, best] : {std::array{3, 7, 3}, {1, 9, 1}, {1, -1, 3}}) {
    runs.priorities.change_subtask_priority(job, static_cast<std::uint32_t>(subtask), priority);
    EXPECT_EQ(best_of(job), static_cast<std::uint32_t>(best));
    EXPECT_EQ(kept(job).ready_count(), 4U);
    EXPECT_EQ(fleet.workers[BandSlot{0}].ready_here, 4U);
  }
  EXPECT_EQ(told(), Batches{}) << "no worker has the subtask";
  EXPECT_EQ(written<record::SubtaskChanged>().size(), 3U);
}

TEST_F(JobPrioritiesTest, TheWorkerOfAnAssignedSubtaskIsToldInOneMessage) {
  join(1);
  Job& job = add_job(2);
  placement.dispatcher.fill_dirty_bands();
  ASSERT_EQ(job.tally.in_flight, 2U);
  told();
  for (const std::uint32_t subtask : {0U, 1U}) runs.priorities.change_subtask_priority(job, subtask, 7);
  const std::vector changes{PriorityChange{SubtaskIndex{0}, job.worker_priority(0)},
                            PriorityChange{SubtaskIndex{1}, job.worker_priority(1)}};
  EXPECT_EQ(told(), (Batches{{WorkerId{1}, PriorityBatch{job.id, false, 0, changes}}}));
  EXPECT_EQ(job.user_priority(1), 7);
}

TEST_F(JobPrioritiesTest, ClearedPlacementsOfAJobLeaveThoseOfOthers) {
  join(1);
  Job& job = add_job(3);
  const Job& other = add_job(2);
  runs.priorities.clear_placements(job);
  EXPECT_TRUE(kept(job).empty());
  EXPECT_EQ(fleet.workers[BandSlot{0}].ready_here, 2U);
  EXPECT_EQ(other.place.locals.find(BandSlot{0})->ready_count(), 2U);
  EXPECT_EQ(placement.queues.first_waiting(BandSlot{0}), &other);
}

TEST_F(JobPrioritiesTest, UnderAPolicyAJobOfANewPriorityBeginsAtItsFirstPositionAndAPassIsDue) {
  set_policy();
  const Job& first = add_job(1);
  Job& second = add_job(1);
  second.shares->position = 7;
  policy_base.state.due = kNever;
  runs.priorities.change_priority(second, 3);
  EXPECT_EQ(second.shares->position, policy_base.view.first_position(second));
  EXPECT_EQ(policy_base.state.due, later(event.now, policy_base.state.config.settle));
  EXPECT_EQ(policy_base.state.agenda.in_sight().all(), (std::vector{second.id, first.id}));
}

TEST_F(JobPrioritiesTest, APriorityFollowsAReloadThatWritesPrioritiesOtherwise) {
  set_policy();
  join(1);
  Job& job = add_job(1);
  job.audience.workers = {WorkerId{1}};
  runs.priorities.follow_scale(job);
  EXPECT_EQ(written<record::JobChanged>().size(), 0U) << "nothing is different";
  policy_base.state.config.pools[0].priorities = "1-99";
  for (const std::size_t changes : {1U, 0U}) {
    runs.priorities.follow_scale(job);
    EXPECT_EQ(job.scale.written(job.spec.priority), kPriorityDefault);
    EXPECT_EQ(job.spec.priority, -kPriorityDefault);
    EXPECT_EQ(told().size(), changes);
    EXPECT_EQ(written<record::JobChanged>().size(), changes);
  }
  tables.indices.active.erase(job.id, job.precedence());
  EXPECT_TRUE(tables.indices.active.empty()) << "the job has one place, that of its new priority";
}

}  // namespace
}  // namespace penstock::supervisor
