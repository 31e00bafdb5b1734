#include "supervisor/core/admin/cluster_answers.hpp"

#include <gtest/gtest.h>

#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using namespace std::chrono_literals;

Graph one() { return GraphBuilder{}.add().build(); }

/// The text of that field in each row.
Lines column(const Value& table, const std::string& field) {
  Lines texts;
  for (const Value& row : *table.list()) texts.push_back(*row[field].text());
  return texts;
}

/// The rooms of a supervisor without its core, and workers of one band of two slots each.
class ClusterAnswersTest : public ::testing::Test {
 protected:
  ClusterAnswersTest() {
    event.now = instant_at(1000s);
    event.out = &out;
  }
  void join(std::uint32_t number) {
    Register description;
    description.name = "worker-" + std::to_string(number);
    BandDescription& band = description.bands.emplace_back();
    band.name = "numa-0";
    band.capacity.slots = kOneSlot * 2;
    fleet.workers.add(WorkerId{number}, Incarnation{number}, description);
  }
  WorkerEntry& worker(std::uint32_t number) { return fleet.workers[fleet.workers.find(WorkerId{number})]; }
  Job& submit(const Graph& graph, JobSpec spec = {}) {
    supervisor_event::GraphChecked checked{ClientId{1}, 1, std::move(spec), shape_of(graph), {}};
    const JobId id = tables.jobs.next();
    lifecycle.acceptance.submit(checked);
    return tables.jobs[id];
  }
  /// Cancels a job of which no worker has heard: it ends at once.
  void cancel(Job& job) {
    runs.ends.cancel_job(job, Error{ErrorCode::Cancelled, job.spec.name, "was cancelled", {}}, kDefaultGrace);
    lifecycle.releases.finish_if_done(job);
  }
  Result<Value> list(std::vector<std::string> arguments) {
    return answers.list_jobs(AdminRequest{1, "jobs", std::move(arguments), {}});
  }
  Lines names(std::vector<std::string> arguments) { return column(list(std::move(arguments)).value(), "name"); }

  SupervisorConfig config;
  EventContext event;
  Actions<SupervisorAction> out;
  Ledger ledger{config, event, Durability::None};
  Fleet fleet{config, event, ledger};
  JobTables tables{config, Rng{1}};
  Outputs outputs{config, event, ledger, fleet, tables};
  PolicyBase policy_base{config, event, ledger, fleet, tables};
  Placement placement{config, event, ledger, fleet, tables, outputs, policy_base};
  PolicyDriver driver{event, ledger, fleet, tables, policy_base, placement};
  Runs runs{config, event, fleet, tables, outputs, policy_base, placement, driver};
  Lifecycle lifecycle{config, event, ledger, fleet, tables, outputs, policy_base, placement, driver, runs};
  Admin admin{config, event, ledger, fleet, tables, policy_base, placement, driver, runs};
  ClusterAnswers& answers = admin.cluster_answers;
};

TEST_F(ClusterAnswersTest, RunningJobsComeBestFirstAndEndedOnesAfterThemLastFirst) {
  cancel(submit(one(), {.name = "first"}));
  cancel(submit(one(), {.name = "second"}));
  submit(one(), {.name = "low"});
  submit(one(), {.name = "high", .priority = 3});
  EXPECT_EQ(names({}), (Lines{"high", "low"}));
  EXPECT_EQ(names({"--all"}), (Lines{"high", "low", "second", "first"}));
  EXPECT_EQ(names({"--all", "--limit=3"}), (Lines{"high", "low", "second"}));
}

TEST_F(ClusterAnswersTest, AFilterSelectsJobsByStateOwnerNameAndTimeSinceTheirEnd) {
  cancel(submit(one(), {.name = "night-1", .owner = "ada"}));
  event.now += 10min;
  cancel(submit(one(), {.name = "night-2", .owner = "bob"}));
  submit(one(), {.name = "day", .owner = "ada"});
  EXPECT_EQ(names({"--state=cancelled"}), (Lines{"night-2", "night-1"}));
  EXPECT_EQ(names({"--state=running"}), Lines{"day"});
  EXPECT_EQ(names({"--all", "--owner=ada"}), (Lines{"day", "night-1"}));
  EXPECT_EQ(names({"--all", "--name=night-*"}), (Lines{"night-2", "night-1"}));
  EXPECT_EQ(names({"--all", "--since=5min"}), (Lines{"day", "night-2"}));
  for (const char* wrong : {"--state=asleep", "--since=soon", "--limit=many"}) {
    const Result<Value> refused = list({wrong});
    ASSERT_FALSE(refused.has_value()) << wrong;
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument) << wrong;
  }
}

TEST_F(ClusterAnswersTest, WorkersAndBandsAreShownWithTheirStateAndTheWorkThatTheyHold) {
  join(1);
  GraphBuilder builder;
  builder.template_at(0).expected_duration = 1s;  // So long that a band holds only two beyond its slots.
  submit(builder.sources(6).build());
  placement.dispatcher.fill_dirty_bands();
  for (const std::uint32_t number : {2U, 3U, 4U}) join(number);
  worker(2).draining = true;
  worker(3).suspected = true;
  worker(4).draining = worker(4).drained = true;
  const Value workers = answers.describe_workers();
  EXPECT_EQ(column(workers, "state"), (Lines{"ready", "draining", "suspected", "drained"}));
  EXPECT_EQ((*workers.list())[0]["slots"], Value{2});
  EXPECT_EQ((*workers.list())[0]["assigned"], Value{4});
  const Value queues = answers.describe_queues();
  EXPECT_EQ((*queues.list())[0]["assigned"], Value{4});
  EXPECT_EQ((*queues.list())[0]["kept_here"], Value{2});
  fleet.workers.remove(fleet.workers.find(WorkerId{3}));
  EXPECT_EQ(column(answers.describe_bands(), "worker"), (Lines{"worker-1", "worker-2", "worker-4"}));
}

TEST_F(ClusterAnswersTest, AJobIsExplainedByTheBestOfItsSubtasksThatDoNotRun) {
  Job& job = submit(GraphBuilder{}.chain(2).keys({"load", "join"}).build());
  EXPECT_EQ(answers.explain_job(job, false)["reason"], Value{"no worker is connected"});
  EXPECT_EQ(answers.explain_subtask(job, 1)["reason"],
            Value{"waits for 1 predecessors: load (kept at the supervisor)"});
  join(1);
  lifecycle.waits.place_all_unschedulable();
  placement.dispatcher.fill_dirty_bands();
  EXPECT_EQ(answers.explain_job(job, false)["next"], Value{"load"});
  EXPECT_EQ(answers.explain_job(job, false)["assigned"], Value{2});
  job.hot[0].flags |= SubtaskFlag::kStarted;
  EXPECT_EQ(answers.explain_subtask(job, 0)["reason"], Value{"assigned to worker-1/numa-0, where it runs"});
  const Value why = answers.explain_job(job, false);
  EXPECT_EQ(why["next"], Value{"join"});
  EXPECT_EQ(why["reason"], Value{"assigned to worker-1/numa-0, where it waits for 1 producers"});
}

TEST_F(ClusterAnswersTest, ASubtaskBeforeARetryIsExplainedWithTheRestOfItsWait) {
  Job& job = submit(one());
  placement.machine.transition(job, 0, SubtaskPhase::Backoff);
  tables.timers.add(RetryTimer{event.now + 250ms, job.id, 0, job.hot[0].attempt});
  event.now += 100ms;
  EXPECT_EQ(answers.explain_subtask(job, 0)["reason"], Value{"failed and runs again in 150 ms"});
  SubtaskHistory& history = job.extras.histories.edit()[SubtaskIndex{0}];
  history.transfers = 2;
  history.last.message = "worker-2 cannot be reached";
  history.lines = {"attempt 1"};
  const Value why = answers.explain_subtask(job, 0);
  EXPECT_EQ(why["reason"], Value{"worker-2 cannot be reached, 2 times in a row; it is tried again in 150 ms"});
  EXPECT_EQ(why["history"], (Value{Value::List{"attempt 1"}}));
}

TEST_F(ClusterAnswersTest, WordsForCompletionAreNamesOfWorkersOrNumbersAndNamesOfJobs) {
  join(7);
  submit(one(), {.name = "nightly"});
  const AdminRequest of_workers{1, "words", {"workers"}, {}};
  const AdminRequest of_jobs{2, "words", {"jobs"}, {}};
  EXPECT_EQ(answers.complete_words(of_workers).value(), (Value{Value::List{"worker-7"}}));
  EXPECT_EQ(answers.complete_words(of_jobs).value(), (Value{Value::List{"job-1", "nightly"}}));
}

}  // namespace
}  // namespace penstock::supervisor
