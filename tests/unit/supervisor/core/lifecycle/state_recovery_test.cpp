// A new life goes on from what the last one has written.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

JobSpec named(const std::string& name, Keep keep = Keep::Nothing) {
  JobSpec spec;
  spec.name = name;
  spec.keep = keep;
  return spec;
}

/// Everything that a client hears when it attaches by name.
JobProgress attach(SupervisorHarness& cluster, const std::string& name, ClientId client = ClientId{9}) {
  cluster.client_says(AttachJob{1, JobSelector{JobId::none(), name}}, client);
  const auto replies = cluster.take_for<AttachReply>(client);
  EXPECT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies.empty() ? "" : to_string(replies[0].refusal), "");
  const auto news = cluster.news(client);
  return news.empty() ? JobProgress{} : news.back();
}

std::uint64_t count_of(const std::vector<SubtaskRange>& ranges) {
  std::uint64_t count = 0;
  for (const SubtaskRange& range : ranges) count += range.last.value() - range.first.value() + 1;
  return count;
}

// Fault F05.
TEST(Recovery, GoesOnBehindWhatHadEnded) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.chain(3).build(), named("one"));
  cluster.write_all();
  cluster->succeed(1, 0);
  cluster.write_all();
  cluster.restart();
  EXPECT_EQ(cluster->phase(0), SubtaskPhase::Succeeded);
  cluster->join();
  cluster.write_all();
  EXPECT_EQ(cluster->assigned(), (Lines{"1 to w1", "2 to w1, cached"}));
  EXPECT_EQ(count_of(attach(cluster.life(), "one").succeeded), 1U);
  cluster->succeed(1, 1);
  cluster->succeed(1, 2);
  cluster.write_all();
  std::uint64_t told = 0;
  for (const JobProgress& news : cluster->news(ClientId{9})) told += count_of(news.succeeded);
  EXPECT_EQ(told, 2U) << "nothing is told twice";
  EXPECT_EQ(cluster->state(), JobState::Succeeded);
}

TEST(Recovery, WhatWasNotWrittenWasNotTold) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.chain(2).build(), named("one"));
  cluster.write_all();
  cluster->news();
  cluster->succeed(1, 0);
  EXPECT_TRUE(cluster->news().empty());
  cluster.restart();
  EXPECT_EQ(cluster->phase(0), SubtaskPhase::Placeable);
}

// Fault F06: the reply was lost, the client asks again.
TEST(Recovery, ASubmitThatIsRepeatedIsTheSameJob) {
  JournalHarness cluster;
  const Graph graph = GraphBuilder{}.chain(2).build();
  cluster->submit(graph, named("one"));
  cluster.write_all();
  cluster.restart();
  EXPECT_EQ(cluster->submit(graph, named("one")), JobId{1});
  EXPECT_TRUE(cluster->last_reply().existed);
}

TEST(Recovery, WhoHasSubmittedAJobIsKnownWhileItRunsAndWhenItHasEnded) {
  JournalHarness cluster;
  const Graph graph = GraphBuilder{}.add().build();
  JobSpec spec = named("one");
  spec.submitter = 8;
  cluster->join();
  cluster->submit(graph, spec);
  cluster.write_all();
  cluster.restart();
  cluster->submit(graph, spec);
  EXPECT_TRUE(cluster->last_reply().ours);
  cluster->join();
  cluster.write_all();
  cluster->assigned();
  cluster->succeed(1, 0, {{0, 100}});
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  cluster->submit(graph, spec);
  EXPECT_TRUE(cluster->last_reply().ours);
  spec.submitter = 9;
  cluster->submit(graph, spec);
  EXPECT_FALSE(cluster->last_reply().ours);
  cluster->ignore();
}

// Its outputs stayed: the wish was forgotten with the life that had heard it.
TEST(Recovery, AJobThatWasReleasedWhileItRanIsReleasedAtItsEnd) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.chain(2).build());
  cluster.write_all();
  cluster->client_says(ReleaseJob{JobId{1}});
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  cluster->join();
  cluster.write_all();
  cluster->assigned();
  cluster->succeed(1, 0, {{0, 100}});
  PENSTOCK_EXPECT_COVERAGE_MARK("a job that was released while it ran was released at its end",
                                cluster->succeed(1, 1, {{0, 100}}));
  cluster.write_all();
  EXPECT_TRUE(cluster->job().outputs.locations.empty());
  cluster->ignore();
}

// After a restart its results would have been taken for empty.
TEST(Recovery, WhatWasReleasedIsNotTakenForEmpty) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.add().build(), named("one", Keep::Sinks));
  cluster->submit(GraphBuilder{}.add().build(), named("empty", Keep::Sinks));
  cluster.write_all();
  cluster->succeed(1, 0, {{0, 100}});
  cluster->succeed(1, 0, {}, 2);
  cluster->client_says(ReleaseJob{JobId{1}});
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  EXPECT_EQ((*cluster->ask("kept", {"one", "0", "0-0"}))["missing"], Value{0});
  EXPECT_EQ((*cluster->ask("kept", {"empty", "0", "0-0"}))["missing"], Value{});
  cluster->client_says(ReleaseJob{JobId{1}});
  EXPECT_EQ((*cluster->ask("kept", {"one", "0", "0-0"}))["missing"], Value{0}) << "released twice";
  cluster->ignore();
}

TEST(Recovery, AJobThatWasReleasedAndIsKeptForOthersStaysKept) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.add().build());
  cluster.write_all();
  cluster->client_says(ReleaseJob{JobId{1}});
  cluster->client_says(AttachJob{1, {JobId{1}, ""}}, ClientId{2});
  cluster->assigned();
  cluster->succeed(1, 0, {{0, 100}});
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  EXPECT_EQ(cluster->job().outputs.locations.size(), 1U);
}

TEST(Recovery, AnAcceptanceThatWasNotWrittenNeverWas) {
  JournalHarness cluster;
  cluster->submit(GraphBuilder{}.chain(2).build(), named("one"));
  cluster.restart();
  EXPECT_EQ(cluster->core().find_job(JobId{1}), nullptr);
}

TEST(Recovery, LostInputsAreMadeAgainAndAreNotToldAgain) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.chain(3).build(), named("one"));
  cluster.write_all();
  cluster->succeed(1, 0, {{0, 100}});
  cluster->succeed(1, 1, {{0, 100}});
  cluster.write_all();
  cluster.restart();
  cluster->join();
  cluster.write_all();
  EXPECT_EQ(cluster->assigned(), (Lines{"0 to w1", "1 to w1, cached", "2 to w1, cached"}));
  EXPECT_EQ(count_of(attach(cluster.life(), "one").succeeded), 2U);
  for (const std::uint32_t subtask : {0U, 1U, 2U}) cluster->succeed(1, subtask, {{0, 100}});
  cluster.write_all();
  std::uint64_t told = 0;
  for (const JobProgress& news : cluster->news(ClientId{9})) told += count_of(news.succeeded);
  EXPECT_EQ(told, 1U);
  cluster->ignore();
}

TEST(Recovery, OutputsThatNobodyReadsAnyMoreAreNotMadeAgain) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.chain(2).chain(1).build(), named("one"));
  cluster.write_all();
  cluster->succeed(1, 0, {{0, 100}});
  cluster->succeed(1, 1, {});
  cluster.write_all();
  cluster.restart();
  cluster->join();
  EXPECT_EQ(cluster->assigned(), Lines{"2 to w1"});
}

TEST(Recovery, AJobThatWasBeingCancelledEndsCancelled) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.chain(2).build(), named("one"));
  cluster.write_all();
  cluster->client_says(AdminRequest{1, "cancel", {"one"}});
  cluster.write_one();
  PENSTOCK_EXPECT_COVERAGE_MARK("a job that was being cancelled came back", cluster.restart());
  cluster.write_all();
  EXPECT_EQ(cluster->state(), JobState::Cancelled);
  cluster->ignore();
}

TEST(Recovery, APriorityThatWasChangedStays) {
  JournalHarness cluster;
  cluster->submit(GraphBuilder{}.chain(2).build(), named("one"));
  cluster.write_all();
  cluster->client_says(AdminRequest{1, "priority", {"one", "7"}});
  cluster.write_all();
  cluster.restart();
  EXPECT_EQ(cluster->job().spec.priority, 7);
}

TEST(Recovery, FailuresThatWereChargedStayCharged) {
  JournalHarness cluster{SupervisorConfig{.attempts_max = 3}};
  cluster->join();
  cluster->submit(GraphBuilder{}.sources(1).build(), named("one"));
  cluster.write_all();
  for (int failed = 0; failed < 2; ++failed) {
    EXPECT_EQ(cluster->assigned(), Lines{"0 to w1"});
    cluster->fail(1, 0, FailureClass::UserError);
    cluster.write_all();
    cluster.restart();
    cluster->join();
    cluster.write_all();
  }
  EXPECT_EQ(cluster->assigned(), Lines{"0 to w1"});
  EXPECT_EQ(to_string(Attempt{cluster->job().hot[0].attempt}), "3.1") << "larger than those of the terms before";
  cluster->fail(1, 0, FailureClass::UserError);
  cluster.write_all();
  EXPECT_EQ(cluster->state(), JobState::Failed);
  ASSERT_EQ(cluster->job().outbox.failures().size(), 1U);
  EXPECT_EQ(cluster->job().outbox.failures()[0].history.size(), 3U) << "the story goes back to before the restarts";
  cluster->ignore();
}

// Found by seed 65 of level 3.
TEST(Recovery, WhatRunsAgainForItsLostOutputsHasItsFailuresStill) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.chain(2).build(), named("one"));
  cluster.write_all();
  cluster->fail(1, 0, FailureClass::UserError);
  cluster->tick_after(std::chrono::seconds{1});
  cluster->succeed(1, 0, {{0, 100}});
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  cluster->join();
  cluster.write_all();
  EXPECT_EQ(cluster->assigned(), (Lines{"0 to w1", "1 to w1, cached"}));
  ASSERT_NE(cluster->job().extras.histories->find(SubtaskIndex{0}), nullptr);
  EXPECT_EQ(cluster->job().extras.histories->find(SubtaskIndex{0})->charged, 1U);
}

TEST(Recovery, AWorkerThatDiedUnderASubtaskIsRemembered) {
  JournalHarness cluster{SupervisorConfig{.lost_workers_max = 2}};
  cluster->join();
  cluster->submit(GraphBuilder{}.sources(1).build(), named("one"));
  cluster.write_all();
  cluster->lose(1);
  cluster->alerts();
  cluster.write_all();
  cluster.restart();
  cluster->join();
  cluster.write_all();
  cluster->lose(1);
  cluster->alerts();
  cluster.write_all();
  EXPECT_EQ(cluster->state(), JobState::Failed);
  cluster->ignore();
}

TEST(Recovery, ASubtaskThatAnOperatorHasCancelledStaysSo) {
  JournalHarness cluster;
  cluster->join({.slots = 2});
  cluster->submit(GraphBuilder{}.chain(2).sources(1).build(), named("one"));
  cluster.write_all();
  cluster->ignore();
  cluster->client_says(AdminRequest{1, "cancel", {"one", "0"}});
  for (const auto& [worker, question] : cluster->take<ExplainQuestion>())
    cluster->worker_says(worker.value(), ExplainAnswer{question.question, false, {}, {}});
  EXPECT_TRUE(cluster->take_for<AdminAnswer>().empty()) << "not before it is written";
  cluster.write_one();
  EXPECT_EQ(cluster->take_for<AdminAnswer>().size(), 1U);
  PENSTOCK_EXPECT_COVERAGE_MARK("a subtask that was being cancelled came back", cluster.restart());
  cluster->join();
  cluster.write_all();
  EXPECT_EQ(cluster->assigned(), Lines{"2 to w1"});
  EXPECT_EQ(count_of(attach(cluster.life(), "one").cancelled), 2U);
  cluster->ignore();
}

// Seed 400777980: the operator is told that it has ended, and a crash undoes that end.
TEST(Recovery, ASubtaskThatAnOperatorCancelsBehindAnEndThatIsNotWrittenStaysCancelled) {
  JournalHarness cluster;
  cluster->join({.slots = 2});
  GraphBuilder builder;
  builder.chain(2).sources(2);
  builder.template_at(0).on_failure = OnFailure::Continue;
  builder.template_at(0).attempts_max = 1;
  cluster->submit(builder.build(), named("one"));
  cluster.write_all();
  cluster->ignore();
  cluster->succeed(1, 2);  // While this is being written other news wait.
  cluster->fail(1, 0, FailureClass::UserError);
  cluster->say(1, 1, Outcome::Cancelled);
  EXPECT_EQ(cluster->job().hot[1].phase, SubtaskPhase::Cancelled);
  PENSTOCK_EXPECT_COVERAGE_MARK("a subtask that had ended without success was cancelled",
                                cluster->client_says(AdminRequest{1, "cancel", {"one", "1"}}));
  for (const auto& [worker, question] : cluster->take<ExplainQuestion>())
    cluster->worker_says(worker.value(), ExplainAnswer{question.question, false, {}, {}});
  for (std::size_t commits = cluster.waiting(); commits > 0; --commits) cluster.write_one();
  EXPECT_EQ(cluster->take_for<AdminAnswer>().size(), 1U);
  cluster.restart();
  cluster->join();
  cluster.write_all();
  EXPECT_EQ(cluster->assigned(), (Lines{"0 to w1", "3 to w1"}));
  EXPECT_EQ(count_of(attach(cluster.life(), "one").cancelled), 1U);
  cluster->succeed(1, 0);
  cluster->succeed(1, 3);
  cluster.write_all();
  EXPECT_EQ(cluster->assigned(), Lines{});
  EXPECT_EQ(cluster->state(), JobState::Cancelled);
  cluster->ignore();
}

TEST(Recovery, ASuccessThatCrossedItsCancelLetsNothingRunBehindIt) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.chain(3).build(), named("one"));
  cluster.write_all();
  cluster->client_says(AdminRequest{1, "cancel", {"one", "0"}});
  cluster->succeed(1, 0);
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  cluster->join();
  cluster.write_all();
  EXPECT_EQ(cluster->assigned(), Lines{});
  EXPECT_EQ(cluster->state(), JobState::Cancelled);
  const JobProgress everything = attach(cluster.life(), "one");
  EXPECT_EQ(count_of(everything.succeeded), 1U);
  EXPECT_EQ(count_of(everything.cancelled), 2U);
  cluster->ignore();
}

TEST(Recovery, ThePriorityOfASubtaskStays) {
  JournalHarness cluster;
  cluster->submit(GraphBuilder{}.sources(3).build(), named("one"));
  cluster.write_all();
  cluster->client_says(AdminRequest{1, "priority", {"one", "7", "--subtask=2"}});
  EXPECT_TRUE(cluster->take_for<AdminAnswer>().empty()) << "not before it is written";
  cluster.write_all();
  EXPECT_EQ(cluster->take_for<AdminAnswer>().size(), 1U);
  cluster.restart();
  cluster->join();
  cluster.write_all();
  EXPECT_EQ(cluster->assigned(), (Lines{"2 to w1", "0 to w1", "1 to w1"}));
}

TEST(Recovery, AnEndedJobCanStillBeAskedAbout) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.chain(2).build(), named("one"));
  cluster.write_all();
  cluster->succeed(1, 0);
  cluster->succeed(1, 1);
  cluster.write_all();
  cluster.restart();
  const JobProgress everything = attach(cluster.life(), "one");
  EXPECT_EQ(everything.state, JobState::Succeeded);
  EXPECT_EQ(count_of(everything.succeeded), 2U);
  EXPECT_EQ(cluster->submit(GraphBuilder{}.chain(1).build(), named("two")), JobId::none());
  cluster.write_all();
  EXPECT_EQ(cluster->take_for<SubmitReply>().at(0).job, JobId{2});
  cluster->ignore();
}

// The question of `penstock result JOB KEY`.
TEST(Recovery, ResultsOfAnEndedJobAreFoundByTheirKeys) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.sources(3).chain(1).keys({"left", "empty", "read", "1"}).build(),
                  named("one", Keep::Sinks));
  cluster.write_all();
  for (const std::uint32_t subtask : {0U, 2U, 3U}) cluster->succeed(1, subtask, {{0, 30}});
  cluster->succeed(1, 1);
  cluster.write_all();
  const auto number_of = [&](const std::string& key) {
    const Result<Value> found = cluster->ask("results", {"one", key});
    EXPECT_TRUE(found.has_value()) << key << ": " << to_string(found.error());
    if (!found.has_value()) return Value{};
    const Value::List* rows = (*found)["results"].list();
    return rows->empty() ? Value{"empty"} : rows->front()["subtask"];
  };
  for (const char* life : {"first", "second", "third"}) {
    SCOPED_TRACE(life);
    EXPECT_EQ(number_of("left"), Value{0});
    EXPECT_EQ(number_of("empty"), Value{"empty"});
    EXPECT_EQ(number_of("1"), Value{3}) << "a key that is a number is a key";
    EXPECT_EQ((*cluster->ask("results", {"one"}))["results"].list()->front()["key"], Value{"left"});
    EXPECT_EQ(cluster->ask("results", {"one", "right"}).error().code, ErrorCode::NotFound);
    cluster->ignore();
    cluster.restart();
  }
  const std::uint64_t with_keys = cluster->job().status.ended_bytes;
  cluster->client_says(ReleaseJob{JobId{1}});
  EXPECT_LT(cluster->job().status.ended_bytes + 60, with_keys) << "keys count, and go with what they name";
  EXPECT_EQ(cluster->ask("results", {"one", "left"}).error().code, ErrorCode::NotFound);
  cluster->ignore();
}

TEST(Recovery, FailuresComeBackWithTheirStory) {
  JournalHarness cluster;
  cluster->join();
  GraphBuilder builder;
  builder.sources(2);
  builder.template_at(0).on_failure = OnFailure::Continue;
  builder.template_at(0).attempts_max = 1;
  cluster->submit(builder.build(), named("one"));
  cluster.write_all();
  cluster->fail(1, 0, FailureClass::UserError);
  cluster.write_all();
  cluster.restart();
  const JobProgress everything = attach(cluster.life(), "one");
  ASSERT_EQ(everything.failures.size(), 1U);
  EXPECT_EQ(everything.failures[0].history.size(), 1U);
  EXPECT_EQ(everything.counts.failed, 1U);
  cluster->join();
  cluster->assigned();
  cluster->succeed(1, 1);
  cluster.write_all();
  EXPECT_EQ(cluster->state(), JobState::Failed);
}

TEST(Recovery, ForgottenJobsStayForgottenAndTheirNumbersUnused) {
  JournalHarness cluster{SupervisorConfig{.finished_jobs_max = 1}};
  cluster->join();
  for (const char* name : {"one", "two"}) {
    cluster->submit(GraphBuilder{}.sources(1).build(), named(name));
    cluster.write_all();
    cluster->succeed(1, 0, {}, name == std::string{"one"} ? 1 : 2);
    cluster.write_all();
  }
  cluster->ignore();
  cluster.restart();
  EXPECT_EQ(cluster->core().find_job(JobId{1}), nullptr);
  EXPECT_NE(cluster->core().find_job(JobId{2}), nullptr);
  cluster->submit(GraphBuilder{}.sources(1).build(), named("three"));
  cluster.write_all();
  EXPECT_EQ(cluster->take_for<SubmitReply>().at(0).job, JobId{3});
}

TEST(Recovery, ReleasedOutputsAreNotOfferedAgain) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.sources(1).build(), named("one", Keep::Sinks));
  cluster.write_all();
  cluster->succeed(1, 0, {{0, 100}});
  cluster.write_all();
  cluster->client_says(ReleaseJob{JobId{1}});
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  EXPECT_TRUE(attach(cluster.life(), "one").outputs.empty());
}

// Formats 1 and 2 kept a graph with its job, so nobody else can rely on it.
TEST(Recovery, AGraphThatGoesWithItsJobIsWrittenAgainForTheNext) {
  const Graph graph = GraphBuilder{}.chain(2).build();
  SupervisorHarness cluster{{}, Durability::Journal};
  RecoveredState state;
  state.next_job = JobId{2};
  state.graphs.push_back({JobId{1}, true, {graph}});
  RecoveredJob& job = state.jobs.emplace_back();
  job.id = job.graph = JobId{1};
  job.spec = named("old");
  cluster.handle(supervisor_event::StateRecovered{std::move(state)});
  EXPECT_EQ(cluster.job(1).total(), 2U);
  cluster.client_says(SubmitAgain{1, {}, named("new"), content_hash(graph)});
  const auto persists = cluster.take_persists();
  ASSERT_EQ(persists.size(), 1U);
  EXPECT_EQ(std::get<record::JobAccepted>(persists[0].records.back()).graph_of, JobId{2});
  cluster.ignore();
}

TEST(Recovery, AJobWhoseGraphIsNotThereIsNamedAndTheOthersGoOn) {
  SupervisorHarness cluster{{}, Durability::Journal};
  RecoveredState state;
  state.next_job = JobId{3};
  state.graphs.push_back({JobId{2}, false, {GraphBuilder{}.chain(2).build()}});
  for (const std::uint32_t number : {1U, 2U}) {
    RecoveredJob& job = state.jobs.emplace_back();
    job.id = job.graph = JobId{number};
    job.spec = named("job " + std::to_string(number));
  }
  cluster.handle(supervisor_event::StateRecovered{std::move(state)});
  const std::vector<Error> alerts = cluster.alerts();
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_EQ(alerts[0].subject, "job 1");
  EXPECT_EQ(cluster.core().find_job(JobId{1}), nullptr);
  EXPECT_EQ(cluster.job(2).total(), 2U);
  cluster.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
