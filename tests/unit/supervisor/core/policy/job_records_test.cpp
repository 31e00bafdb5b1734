#include "supervisor/core/policy/job_records.hpp"

#include <gtest/gtest.h>

#include "supervisor/core/ledger/commit_gate.hpp"
#include "supervisor/core/ledger/wall_clock.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::seconds;

constexpr Instant at(int seconds_after) { return Instant{} + seconds{seconds_after}; }

/// One job of three subtasks with keys. The wall clock shows 5000 s at the start.
class JobRecordsTest : public ::testing::Test {
 protected:
  JobRecordsTest() {
    event.out = &out;
    job.id = JobId{7};
    job.graph.shape = shape.get();
    job.hot.resize(shape->size());
    job.tally.counts.total = job.total();
  }
  /// Records that the event has ordered to be written.
  std::vector<Record> written() {
    gate.commit(true);
    std::vector<Record> all;
    for (const SupervisorAction& action : out)
      if (const auto* persist = std::get_if<supervisor_action::Persist>(&action))
        all.insert(all.end(), persist->records.begin(), persist->records.end());
    out.clear();
    return all;
  }
  /// The only record of the event.
  template <class Kind>
  Kind only() {
    const std::vector<Record> all = written();
    EXPECT_EQ(all.size(), 1U);
    const Kind* found = all.empty() ? nullptr : std::get_if<Kind>(&all.front());
    EXPECT_NE(found, nullptr);
    return found == nullptr ? Kind{} : *found;
  }

  Actions<SupervisorAction> out;
  EventContext event;
  WallClock clock{at(0), 5'000'000};
  CommitGate gate{Durability::Journal, event};
  PolicyState policy;
  JobRecords records{clock, gate, policy};
  std::unique_ptr<GraphShape> shape = shape_of(GraphBuilder{}.sources(3).keys({"a", "b", "c"}).build());
  Job job;
};

TEST_F(JobRecordsTest, AChangedJobIsSeenByTheNextPassWithOrWithoutAJournal) {
  CommitGate none{Durability::None, event};
  JobRecords of_none{clock, none, policy};
  for (const std::uint32_t number : {6U, 7U, 8U}) policy.agenda.enter(JobId{number}, 0, "alike", 1);
  ASSERT_TRUE(policy.agenda.is_hidden(job.id));
  of_none.record_change(job);
  EXPECT_FALSE(policy.agenda.is_hidden(job.id));
  job.id = JobId{8};
  records.record_change(job);
  EXPECT_FALSE(policy.agenda.is_hidden(job.id));
}

TEST_F(JobRecordsTest, AChangeOfAJobIsWrittenWholeWithItsPlaceInThePolicy) {
  job.spec.priority = -5;
  job.scale = PriorityScale{PoolConfig{.priorities = "1-99", .default_priority = 30}};
  job.spec.policy = JobPolicy{.weight = 1500, .slots_max = 4, .qos = "expedite", .queue = "night", .user_factor = 250};
  job.spec.policy.account = "lab";
  job.spec.time_limit = std::chrono::minutes{5};
  job.status.cancelling = job.status.on_hold = job.outputs.release_when_unreferenced = true;
  job.status.error.edit() = Error{ErrorCode::Cancelled, "job-7", "was cancelled", {}};
  record::JobChanged expected;
  expected.job = job.id;
  expected.priority = -5;
  expected.cancelling = expected.has_policy = expected.on_hold = expected.unneeded = true;
  expected.why = *job.status.error;
  expected.weight = 1500;
  expected.slots_max = 4;
  expected.qos = "expedite";
  expected.queue = "night";
  expected.user_factor = 250;
  expected.scale = 30;
  expected.account = "lab";
  expected.time_limit = std::chrono::minutes{5};
  records.record_change(job);
  EXPECT_EQ(only<record::JobChanged>(), expected) << "no policy is in force";

  job.shares = std::make_unique<JobShares>();
  job.shares->position = 99;
  job.shares->pool.name = "tried";
  job.shares->pool.kept_name.edit() = "placed";
  job.shares->preemptions = 3;
  expected.position = 99;
  expected.pool = "placed";
  expected.preempted = 3;
  records.record_change(job);
  EXPECT_EQ(only<record::JobChanged>(), expected);
}

TEST_F(JobRecordsTest, AChangeOfASubtaskIsWrittenWithItsTroublesAndOrders) {
  records.record_change(job, 0);
  record::SubtaskChanged expected;
  expected.job = job.id;
  expected.subtask = SubtaskIndex{0};
  EXPECT_EQ(only<record::SubtaskChanged>(), expected) << "an order was taken back";

  SubtaskHistory& history = job.extras.histories.edit()[SubtaskIndex{2}];
  history.last_attempt = 11;
  history.charged = 1;
  history.lost_workers = 2;
  history.failures = 3;
  history.lines = {"first", "second"};
  job.extras.priority_changes.edit()[SubtaskIndex{2}] = -9;
  job.extras.cancel_orders.edit()[SubtaskIndex{2}] = true;
  records.record_change(job, 2);
  EXPECT_EQ(only<record::SubtaskChanged>(),
            (record::SubtaskChanged{job.id, SubtaskIndex{2}, 11, 1, 2, 3, {"first", "second"}, -9, true}));
}

TEST_F(JobRecordsTest, TheEndOfAJobIsWrittenWithAllThatClientsMayAskFor) {
  job.spec.name = "simulation";
  job.identity = {1, 2};
  job.status.state = JobState::Succeeded;
  job.status.submitted = at(10);
  job.status.ended = at(60);
  job.tally.counts.succeeded = 3;
  for (std::uint32_t i = 0; i < 3; ++i) job.hot[i].phase = SubtaskPhase::Succeeded;
  for (const std::uint32_t kept : {0U, 2U}) {
    job.hot[kept].flags = SubtaskFlag::kWanted;
    job.outputs.locations.push_back({SubtaskIndex{kept}, 0, 100, "host:1"});
  }
  job.data.set_checkpoint(1, Incarnation{8});
  job.data.set_checkpoint(2, Incarnation{9});
  records.record_end(job);
  const auto end = only<record::JobEnded>();
  EXPECT_EQ(end.job, job.id);
  EXPECT_EQ(end.spec, job.spec);
  EXPECT_EQ(end.identity, job.identity);
  EXPECT_EQ(end.scale, job.scale.code());
  EXPECT_FALSE(end.unneeded);
  EXPECT_EQ(end.submitted_ms, 5'010'000);
  EXPECT_EQ(end.ended_ms, 5'060'000);
  EXPECT_EQ(end.everything.state, JobState::Succeeded);
  EXPECT_EQ(end.everything.counts, job.tally.counts);
  EXPECT_EQ(end.everything.outputs, job.outputs.locations);
  EXPECT_EQ(end.keys, (std::vector<KeptKey>{{SubtaskIndex{0}, "a"}, {SubtaskIndex{2}, "c"}}));
  EXPECT_EQ(end.checkpoints, (std::vector<CheckpointPlace>{{SubtaskIndex{2}, Incarnation{9}}}))
      << "only of outputs that are kept";
}

}  // namespace
}  // namespace penstock::supervisor
