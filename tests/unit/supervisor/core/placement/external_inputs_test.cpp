// Outputs of one job as inputs of another.
#include <gtest/gtest.h>

#include "common/protocol/external_input.hpp"
#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

JobSpec named(const std::string& name, Keep keep = Keep::Sinks) {
  JobSpec spec;
  spec.name = name;
  spec.keep = keep;
  return spec;
}

/// Subtask 0 borrows, subtask 1 reads it.
Graph consumer(std::uint32_t producer_job = 1, std::uint32_t subtask = 0, std::uint16_t output = 0) {
  GraphBuilder graph;
  graph.template_at(1).program = kAliasOperator;
  return graph.add({}, 1)
      .add({0})
      .payloads({external_datum_payload({{JobId{producer_job}, SubtaskIndex{subtask}}, output}), ""})
      .build();
}

/// Two workers, the second of which has made and holds the output of the one subtask of job 1.
void keep_output(SupervisorHarness& supervisor, const std::string& owner = {}) {
  GraphBuilder graph;
  graph.template_at(0).required.worker = "worker-2";
  supervisor.join();
  supervisor.join();
  JobSpec spec;
  spec.owner = owner;
  supervisor.submit(graph.add().build(), spec);
  supervisor.succeed(2, 0, {{0, 100}});
  supervisor.ignore();
}

std::string why_it_failed(SupervisorHarness& supervisor) {
  for (const JobProgress& news : supervisor.news())
    for (const SubtaskFailure& failure : news.failures)
      if (failure.last.failure == FailureClass::InputLost) return failure.last.message;
  return "it has not";
}

// Issue 21, point 2.
TEST(ExternalInputs, AnotherJobOfThatNumberDoesNotLend) {
  SupervisorHarness supervisor;
  supervisor.next_identity = {1, 2};
  keep_output(supervisor);
  for (const JobIdentity meant : {JobIdentity{3, 4}, JobIdentity{1, 2}}) {
    GraphBuilder graph;
    graph.template_at(1).program = kAliasOperator;
    supervisor.submit(graph.add({}, 1)
                          .add({0})
                          .payloads({external_datum_payload({{JobId{1}, SubtaskIndex{0}}, 0, meant}), ""})
                          .build());
    EXPECT_EQ(supervisor.refusal().code == ErrorCode::NotFound, meant.high == 3) << to_string(supervisor.refusal());
  }
  supervisor.ignore();
}

TEST(ExternalInputs, ASubtaskThatBorrowsIsRunWhereTheDatumIs) {
  for (int i = 0; i < 8; ++i) {
    SupervisorHarness supervisor;
    keep_output(supervisor);
    // So that the other one would be preferred.
    GraphBuilder busy;
    busy.template_at(0).required.worker = "worker-2";
    for (int k = 0; k < i; ++k) supervisor.submit(busy.add().build());
    supervisor.ignore();
    const JobId job = supervisor.submit(consumer());
    const Lines assigned = supervisor.assigned();
    ASSERT_FALSE(assigned.empty());
    EXPECT_EQ(assigned[0], to_string(SubtaskId{job, SubtaskIndex{0}}) + " to w2");
    supervisor.ignore();
  }
}

TEST(ExternalInputs, AJobIsNotReleasedBeforeThoseThatBorrowFromItHaveEnded) {
  SupervisorHarness supervisor;
  keep_output(supervisor);
  supervisor.submit(consumer(), named("reader", Keep::Nothing));
  supervisor.ignore();
  supervisor.client_says(ReleaseJob{JobId{1}});
  EXPECT_TRUE(supervisor.take<ForgetJob>().empty());
  supervisor.succeed(2, 0, {{0, 100}}, 2);
  supervisor.ignore();
  PENSTOCK_EXPECT_COVERAGE_MARK("a producer job was released after its last reference",
                                supervisor.succeed(2, 1, {}, 2));
  const auto forgotten = supervisor.take<ForgetJob>();
  EXPECT_EQ(
      std::count_if(forgotten.begin(), forgotten.end(), [](const auto& told) { return told.second.job == JobId{1}; }),
      1);
  supervisor.ignore();
}

// The rest of its work was forgotten with it.
TEST(ExternalInputs, AJobThatIsReleasedWhileItRunsOutlivesThoseThatBorrowFromIt) {
  SupervisorHarness supervisor;
  supervisor.join();
  supervisor.join();
  supervisor.submit(GraphBuilder{}.sources(2).build());
  supervisor.submit(consumer(), named("reader", Keep::Nothing));
  const std::uint32_t first = supervisor.job(1).hot[0].band.value() + 1;
  const std::uint32_t second = supervisor.job(1).hot[1].band.value() + 1;
  supervisor.succeed(first, 0, {{0, 100}});
  supervisor.client_says(ReleaseJob{JobId{1}});
  supervisor.succeed(first, 0, {{0, 100}}, 2);
  supervisor.succeed(first, 1, {}, 2);
  EXPECT_EQ(supervisor.state(2), JobState::Succeeded);
  EXPECT_EQ(supervisor.state(1), JobState::Running);
  supervisor.succeed(second, 1, {{0, 100}});
  EXPECT_EQ(supervisor.state(1), JobState::Succeeded);
  const auto forgotten = supervisor.take<ForgetJob>();
  EXPECT_TRUE(
      std::any_of(forgotten.begin(), forgotten.end(), [](const auto& told) { return told.second.job == JobId{1}; }));
  supervisor.ignore();
}

TEST(ExternalInputs, WhatNobodyWantsAnyMoreIsNotForgottenWhileItIsLent) {
  SupervisorConfig config;
  config.results_keep = std::chrono::seconds{1};
  config.finished_jobs_age_max = std::chrono::seconds{2};
  SupervisorHarness supervisor{config};
  keep_output(supervisor);
  supervisor.submit(consumer(), named("reader", Keep::Nothing), ClientId{2});
  supervisor.handle(supervisor_event::ClientGone{ClientId{1}});
  supervisor.ignore();
  supervisor.tick_after(std::chrono::seconds{10});
  EXPECT_EQ(supervisor.job(1).outputs.locations.size(), 1U);
  const std::optional<Instant> next = supervisor.core().next_deadline();
  EXPECT_TRUE(!next || *next > supervisor.now()) << "it would be looked at again and again";
  supervisor.succeed(2, 0, {{0, 100}}, 2);
  supervisor.succeed(2, 1, {}, 2);
  supervisor.tick_after(std::chrono::seconds{10});
  EXPECT_EQ(supervisor.core().find_job(JobId{1}), nullptr);
  supervisor.ignore();
}

TEST(ExternalInputs, ALenderKeepsNobodyElseFromBeingForgotten) {
  SupervisorConfig config;
  config.finished_jobs_age_max = std::chrono::seconds{2};
  SupervisorHarness supervisor{config};
  keep_output(supervisor);
  supervisor.submit(consumer(), named("reader", Keep::Nothing));
  GraphBuilder other;
  other.template_at(0).required.worker = "worker-1";
  supervisor.submit(other.add().build(), named("other", Keep::Nothing));
  supervisor.ignore();
  supervisor.succeed(1, 0, {}, 3);
  ASSERT_EQ(supervisor.job(3).status.state, JobState::Succeeded);
  supervisor.ignore();
  supervisor.tick_after(std::chrono::seconds{10});
  EXPECT_EQ(supervisor.core().find_job(JobId{3}), nullptr);
  EXPECT_NE(supervisor.core().find_job(JobId{1}), nullptr);
  supervisor.ignore();
}

TEST(ExternalInputs, WhatIsNotKeptForItIsRefusedByName) {
  SupervisorHarness supervisor;
  keep_output(supervisor, "bob");
  GraphBuilder open;
  open.template_at(0).required.worker = "worker-1";
  supervisor.submit(open.add().add({0}).build(), named("open"));
  supervisor.submit(GraphBuilder{}.add().build(), named("released"));
  supervisor.succeed(
      supervisor.phase(0, 3) == SubtaskPhase::Assigned && supervisor.job(3).hot[0].band == BandSlot{0} ? 1 : 2, 0,
      {{0, 9}}, 3);
  supervisor.client_says(ReleaseJob{JobId{3}});
  supervisor.ignore();
  struct Case {
    Graph graph;
    std::string owner;
    ErrorCode code;
    std::string what;
  };
  const std::vector<Case> cases{
      {consumer(77), "bob", ErrorCode::NotFound, "output 0 of subtask 0 of job-77, and there is no such job"},
      {consumer(1), "ann", ErrorCode::NotFound, "and there is no such job (any more)"},
      {consumer(1, 5), "bob", ErrorCode::UnknownKey, "subtask 5 of job-1, which has only 1"},
      {consumer(1, 0, 1), "bob", ErrorCode::InputLost, "nothing is kept"},
      {consumer(2, 0), "bob", ErrorCode::WrongState, "which is not kept"},
      {consumer(2, 1, 3), "bob", ErrorCode::UnknownKey, "which makes only 1"},
      {consumer(3), "bob", ErrorCode::InputLost, "nothing is kept"},
  };
  for (const Case& entry : cases) {
    JobSpec spec;
    spec.owner = entry.owner;
    EXPECT_FALSE(supervisor.submit(entry.graph, spec).valid()) << entry.what;
    EXPECT_EQ(supervisor.refusal().code, entry.code) << entry.what;
    EXPECT_EQ(supervisor.refusal().subject, "subtask '0'");
    EXPECT_NE(supervisor.refusal().message.find(entry.what), std::string::npos) << supervisor.refusal().message;
    supervisor.ignore();
  }
}

TEST(ExternalInputs, WhatIsNotMadeYetIsWaitedFor) {
  SupervisorHarness supervisor;
  supervisor.join();
  supervisor.join();
  GraphBuilder graph;
  graph.template_at(0).required.worker = "worker-2";
  supervisor.submit(graph.add().build());
  supervisor.submit(consumer());
  EXPECT_EQ(supervisor.assigned(), (Lines{"0 to w2"}));
  const Result<Value> why = supervisor.ask("explain", {"job-2", "0"});
  ASSERT_TRUE(why.has_value());
  EXPECT_NE((*(*why)["reason"].text()).find("waits to borrow output 0 of subtask 0 of job-1"), std::string::npos);
  supervisor.succeed(2, 0, {{0, 100}});
  EXPECT_EQ(supervisor.assigned(), (Lines{"2:0 to w2", "2:1 to w2, cached"}));
  supervisor.ignore();
}

TEST(ExternalInputs, WhatFailsOrIsCancelledOrEmptyIsNotWaitedFor) {
  for (const std::string how : {"fails", "is cancelled", "is empty"}) {
    SupervisorHarness supervisor;
    supervisor.join();
    GraphBuilder graph;
    graph.template_at(0).on_failure = OnFailure::Continue;
    graph.template_at(0).attempts_max = 1;
    supervisor.submit(graph.add().build());
    supervisor.submit(consumer());
    supervisor.ignore();
    if (how == "fails") supervisor.fail(1, 0, FailureClass::UserError);
    if (how == "is cancelled") {
      ASSERT_TRUE(supervisor.ask("cancel", {"job-1"}).has_value());
      supervisor.say(1, 0, Outcome::Cancelled);
    }
    if (how == "is empty") supervisor.succeed(1, 0);
    const std::string why = why_it_failed(supervisor);
    EXPECT_NE(why.find(how == "fails"      ? "it has failed"
                       : how == "is empty" ? "it is empty"
                                           : "cancelled"),
              std::string::npos)
        << how << ": " << why;
    EXPECT_EQ(supervisor.state(2), JobState::Failed) << how;
    supervisor.ignore();
  }
}

TEST(ExternalInputs, WhatARunningJobLosesIsMadeAgainAndThenLent) {
  SupervisorHarness supervisor;
  supervisor.join();
  supervisor.join();
  GraphBuilder graph;
  graph.template_at(1).required.worker = "worker-1";
  supervisor.submit(graph.add().add({}, 1).wanted({0}).build(), named("one", Keep::Wanted));
  const std::uint32_t holder = supervisor.job(1).hot[0].band == BandSlot{0} ? 1 : 2;
  supervisor.succeed(holder, 0, {{0, 100}});
  supervisor.submit(consumer());
  supervisor.ignore();
  supervisor.lose(holder);
  supervisor.take<AssignBatch>();
  supervisor.ignore();
  ASSERT_NE(supervisor.phase(0), SubtaskPhase::Succeeded) << "it runs again";
  EXPECT_EQ(supervisor.state(2), JobState::Running);
  EXPECT_EQ(supervisor.phase(0, 2), SubtaskPhase::Placeable);
}

TEST(ExternalInputs, WhatAnEndedJobLosesFailsThoseThatBorrowIt) {
  SupervisorHarness supervisor;
  keep_output(supervisor);
  supervisor.submit(consumer());
  supervisor.ignore();
  PENSTOCK_EXPECT_COVERAGE_MARK("an external input is lost", supervisor.lose(2));
  EXPECT_EQ(why_it_failed(supervisor),
            "subtask '0' borrows output 0 of subtask 0 of job-1: the worker that held it is "
            "lost (run that again, or keep replicas of it)");
  EXPECT_EQ(supervisor.state(2), JobState::Failed);
  supervisor.ignore();
}

TEST(ExternalInputs, WhoWasToReadWhatWasLostAfterItWasBorrowedIsToldWhy) {
  for (const bool reads_elsewhere : {true, false}) {
    SupervisorHarness supervisor;
    keep_output(supervisor);
    Graph graph = consumer();
    graph.templates[1].on_failure = OnFailure::Continue;
    if (reads_elsewhere) graph.templates[0].required.worker = "worker-1";
    supervisor.submit(graph);
    supervisor.succeed(2, 0, {{0, 100}}, 2);
    supervisor.ignore();
    PENSTOCK_EXPECT_COVERAGE_MARK("an external input was lost before it was read", {
      supervisor.lose(2);
      if (reads_elsewhere) supervisor.say(1, 1, Outcome::Cancelled, 2);
    });
    std::vector<std::uint32_t> failed;
    for (const JobProgress& news : supervisor.news())
      for (const SubtaskFailure& failure : news.failures) {
        failed.push_back(failure.subtask.value());
        EXPECT_NE(failure.last.message.find("subtask '0' borrows"), std::string::npos) << failure.last.message;
      }
    EXPECT_EQ(failed, std::vector<std::uint32_t>{1}) << "that of 0 was told as a success";
    EXPECT_EQ(supervisor.state(2), JobState::Failed);
    supervisor.ignore();
  }
}

TEST(ExternalInputs, AWorkerThatHasItNotAnyMoreLosesIt) {
  SupervisorHarness supervisor;
  keep_output(supervisor);
  supervisor.submit(consumer());
  supervisor.ignore();
  PENSTOCK_EXPECT_COVERAGE_MARK("an external datum was not there", supervisor.fail(2, 0, FailureClass::InputLost, 2));
  EXPECT_NE(why_it_failed(supervisor).find("nothing of it is kept"), std::string::npos);
  supervisor.ignore();
}

// Found by the simulator (seed 16168): the copy stayed with nobody to read it.
TEST(ExternalInputs, ACopyOfWhatIsLostIsDropped) {
  SupervisorHarness supervisor;
  keep_output(supervisor);
  supervisor.report_replica(1, 0);
  supervisor.submit(consumer());
  const std::uint32_t reader = supervisor.job(2).hot[0].band.value() + 1;
  supervisor.ignore();
  supervisor.fail(reader, 0, FailureClass::InputLost, 2);
  EXPECT_TRUE(supervisor.job(1).outputs.locations.empty());
  EXPECT_EQ(supervisor.drops(), (Lines{"0 at w2, lost", "0 at w1, lost"}));
  supervisor.ignore();
}

TEST(ExternalInputs, AWorkerOfARunningJobThatHasItNotAnyMoreMakesItAgain) {
  SupervisorHarness supervisor;
  supervisor.join();
  GraphBuilder graph;
  supervisor.submit(graph.add().add().wanted({0}).build(), named("one", Keep::Wanted));
  supervisor.succeed(1, 0, {{0, 100}});
  supervisor.submit(consumer());
  supervisor.ignore();
  supervisor.fail(1, 0, FailureClass::InputLost, 2);
  EXPECT_EQ(supervisor.assigned(), (Lines{"0#2 to w1"}));
  supervisor.ignore();
  supervisor.succeed(1, 0, {{0, 100}});
  EXPECT_EQ(supervisor.assigned(), (Lines{"2:0#2 to w1"}));
  supervisor.ignore();
}

TEST(ExternalInputs, AWorkerThatDrainsIsWaitedForAWhile) {
  for (const bool returns : {true, false}) {
    SupervisorConfig config;
    config.required_band_wait = std::chrono::seconds{5};
    SupervisorHarness supervisor{config};
    keep_output(supervisor);
    ASSERT_TRUE(supervisor.ask("drain", {"worker-2"}).has_value());
    supervisor.submit(consumer());
    EXPECT_EQ(supervisor.assigned(), Lines{});
    supervisor.tick_after(std::chrono::seconds{4});
    EXPECT_EQ(supervisor.state(2), JobState::Running);
    if (returns) {
      ASSERT_TRUE(supervisor.ask("undrain", {"worker-2"}).has_value());
      EXPECT_EQ(supervisor.assigned(), (Lines{"2:0 to w2", "2:1 to w2, cached"}));
    } else {
      EXPECT_EQ(supervisor.core().next_deadline(), supervisor.now() + std::chrono::seconds{1});
      PENSTOCK_EXPECT_COVERAGE_MARK("a holder of an external input drains for long",
                                    supervisor.tick_after(std::chrono::seconds{1}));
      EXPECT_NE(why_it_failed(supervisor).find("its worker drains since 5 s"), std::string::npos);
    }
    supervisor.ignore();
  }
}

TEST(ExternalInputs, EachWaitsForItsOwnTimeForAWorkerThatDrains) {
  SupervisorConfig config;
  config.required_band_wait = std::chrono::seconds{5};
  SupervisorHarness supervisor{config};
  keep_output(supervisor);
  ASSERT_TRUE(supervisor.ask("drain", {"worker-2"}).has_value());
  supervisor.submit(consumer(), named("first"));
  supervisor.tick_after(std::chrono::seconds{4});
  supervisor.submit(consumer(), named("second"));
  supervisor.tick_after(std::chrono::seconds{1});
  EXPECT_EQ(supervisor.state(2), JobState::Failed);
  EXPECT_EQ(supervisor.state(3), JobState::Running) << "it has waited for a second";
  supervisor.tick_after(std::chrono::seconds{4});
  EXPECT_EQ(supervisor.state(3), JobState::Failed);
  supervisor.ignore();
}

/// The same where it is written down.
void keep_output(JournalHarness& cluster) {
  cluster->join();
  cluster->join();
  GraphBuilder graph;
  graph.template_at(0).required.worker = "worker-2";
  cluster->submit(graph.add().build(), named("one"));
  cluster.write_all();
  cluster->ignore();
  cluster->succeed(2, 0, {{0, 100}});
  cluster.write_all();
}

// Fault F05.
TEST(ExternalInputs, AfterARestartTheJobThatEndedBeforeItStillLends) {
  JournalHarness cluster;
  keep_output(cluster);
  cluster->submit(consumer(), named("before"));
  cluster.write_all();
  cluster->ignore();
  cluster.restart_for_claims();
  cluster->submit(consumer(), named("after"));
  cluster.write_all();
  EXPECT_EQ(cluster->state(3), JobState::Running) << "its worker may come back";
  cluster->come_back(1, {});
  cluster->come_back(2, {});
  cluster.write_all();
  Lines assigned = cluster->assigned();
  EXPECT_NE(std::find(assigned.begin(), assigned.end(), "2:0 to w2"), assigned.end());
  EXPECT_NE(std::find(assigned.begin(), assigned.end(), "3:0 to w2"), assigned.end());
  // A reference from before the restart keeps its producer job, too.
  cluster->client_says(ReleaseJob{JobId{1}});
  EXPECT_EQ(cluster->job(1).outputs.locations.size(), 1U);
  cluster->ignore();
}

// Fault F05: its outputs stayed.
TEST(ExternalInputs, AfterARestartALenderThatWasReleasedBeforeItIsReleasedAfterWhatItHasLent) {
  JournalHarness cluster;
  keep_output(cluster);
  cluster->submit(consumer(), named("before"));
  cluster.write_all();
  cluster->client_says(ReleaseJob{JobId{1}});
  cluster.write_all();
  cluster->ignore();
  cluster.restart_for_claims();
  cluster->come_back(1, {});
  cluster->come_back(2, {});
  cluster.write_all();
  cluster->assigned();
  EXPECT_EQ(cluster->job(1).outputs.locations.size(), 1U);
  cluster->succeed(2, 0, {{0, 100}}, 2);
  cluster.write_all();
  PENSTOCK_EXPECT_COVERAGE_MARK("a producer job was released after its last reference", cluster->succeed(2, 1, {}, 2));
  cluster.write_all();
  EXPECT_TRUE(cluster->job(1).outputs.locations.empty());
  cluster->ignore();
}

// Fault F05.
TEST(ExternalInputs, AfterARestartAWorkerThatDoesNotComeBackHasLostWhatItLent) {
  SupervisorConfig config;
  config.reclaim_wait = std::chrono::seconds{1};
  JournalHarness cluster{config};
  keep_output(cluster);
  cluster->ignore();
  cluster.restart_for_claims();
  cluster->submit(consumer(), named("after"));
  cluster.write_all();
  cluster->come_back(1, {});
  cluster->tick_after(std::chrono::seconds{10});
  cluster.write_all();
  EXPECT_EQ(cluster->state(2), JobState::Failed);
  EXPECT_NE(why_it_failed(cluster.life()).find("the worker that held it is lost"), std::string::npos);
  cluster->ignore();
}

TEST(ExternalInputs, AGraphThatBorrowsOddlyIsRefused) {
  GraphBuilder with_inputs;
  with_inputs.template_at(1).program = kAliasOperator;
  GraphBuilder bound;
  bound.template_at(0).program = kAliasOperator;
  bound.template_at(0).required.worker = "worker-1";
  GraphBuilder silent;
  silent.template_at(0).program = kAliasOperator;
  const std::string payload = external_datum_payload({{JobId{1}, SubtaskIndex{0}}, 0});
  for (const Graph& graph :
       {with_inputs.add().add({0}, 1).payloads({"", payload}).build(), bound.add().payloads({payload}).build(),
        silent.add().build(), GraphBuilder{silent}.payloads({payload + "x"}).build()}) {
    const auto shape = check_graph(graph);
    ASSERT_FALSE(shape.has_value());
    EXPECT_EQ(shape.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(shape.error().message.find("borrows, and"), std::string::npos) << shape.error().message;
  }
}

}  // namespace
}  // namespace penstock::supervisor
