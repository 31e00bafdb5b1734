// SupervisorCore: why something waits, and the alarm when everything does (spec worker 11). One case for each cause.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::seconds;

constexpr ClientId kOperator{99};

std::string text_of(const Value& value, const std::string& field) {
  const std::string* text = value[field].text();
  return text == nullptr ? "" : *text;
}

std::string reason(SupervisorHarness& cluster, std::vector<std::string> arguments) {
  const Result<Value> answer = cluster.ask("explain", std::move(arguments));
  EXPECT_TRUE(answer.has_value()) << to_string(answer.error());
  return answer ? text_of(*answer, "reason") : "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Explain, WaitingNamesThePredecessors) {
  SupervisorHarness cluster;
  cluster.submit(GraphBuilder{}.sources(2).add({0, 1}).keys({"a", "b", "sum"}).build());
  EXPECT_EQ(reason(cluster, {"1", "sum"}),
            "waits for 2 predecessors: a (kept at the supervisor) b (kept at the supervisor)");
}

TEST(Explain, ManyPredecessorsAreShortened) {
  SupervisorHarness cluster;
  cluster.submit(GraphBuilder{}.sources(9).join().build());
  EXPECT_TRUE(reason(cluster, {"1", "9"}).ends_with(" ..."));
}

TEST(Explain, WithoutAWorkerThatIsTheReason) {
  SupervisorHarness cluster;
  cluster.submit(GraphBuilder{}.add().build());
  EXPECT_EQ(reason(cluster, {"1", "0"}), "no worker is connected");
  EXPECT_EQ(reason(cluster, {"1:0"}), "no worker is connected") << "a subtask as it is printed";
}

TEST(Explain, ANameWithAColonIsAName) {
  SupervisorHarness cluster;
  JobSpec spec;
  spec.name = "team:night";
  cluster.submit(GraphBuilder{}.add().build(), spec);
  EXPECT_EQ(reason(cluster, {"team:night", "0"}), "no worker is connected");
  const Result<Value> job = cluster.ask("explain", {"team:night"});
  ASSERT_TRUE(job.has_value()) << to_string(job.error());
  EXPECT_EQ(text_of(*job, "job"), "job-1");
}

TEST(Explain, ARequestThatNoBandHoldsIsToldWithTheNearest) {
  SupervisorHarness cluster;
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).request.slots = kOneSlot * 64;
  cluster.submit(graph.add().build(), {.wait_for_resources = true});
  const std::string text = reason(cluster, {"1", "0"});
  EXPECT_TRUE(contains(text, "infeasible: requests more than any band has")) << text;
  EXPECT_TRUE(contains(text, "milli-slots 64000 > 1000")) << text;
}

TEST(Explain, WhatIsKeptForABandTellsItsCredit) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(5).build());
  cluster.assigned();
  EXPECT_EQ(reason(cluster, {"1", "4"}),
            "kept for worker-1/numa-0, which holds 3 attempts, 3 of them runnable, on 1 slots; its credit is 3, and 2 "
            "runnable subtasks are kept for it");
}

TEST(Explain, ABackOffTellsTheRest) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  cluster.fail(1, 0, FailureClass::UserError);
  const Result<Value> answer = cluster.ask("explain", {"1", "0"});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(text_of(*answer, "reason"), "failed and runs again in 100 ms");
  ASSERT_NE((*answer)["history"].list(), nullptr);
  EXPECT_EQ((*answer)["history"].list()->size(), 1U);
}

TEST(Explain, OnAWorkerOnlyTheWorkerKnows) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.chain(2).build());
  cluster.assigned();
  cluster.client_says(AdminRequest{7, "explain", {"1", "1"}}, kOperator);
  EXPECT_EQ(cluster.take_for<AdminAnswer>(kOperator).size(), 0U);
  const auto questions = cluster.take<ExplainQuestion>();
  ASSERT_EQ(questions.size(), 1U);
  EXPECT_EQ(questions[0].second.subtask, (SubtaskId{JobId{1}, SubtaskIndex{1}}));
  cluster.worker_says(1, ExplainAnswer{questions[0].second.question, true, "Cached", "waits for 1 input"});
  const std::vector<AdminAnswer> answers = cluster.take_for<AdminAnswer>(kOperator);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].request, 7U);
  EXPECT_TRUE(contains(text_of(answers[0].value, "reason"), "where it waits for 1 producers"));
  EXPECT_EQ(text_of(answers[0].value, "worker_state"), "Cached");
  EXPECT_EQ(text_of(answers[0].value, "worker_reason"), "waits for 1 input");
  // A second answer to the same question answers nobody.
  cluster.worker_says(1, ExplainAnswer{questions[0].second.question, true, "Cached", ""});
}

// The question went with the worker, and the operator waited for ever.
TEST(Explain, AQuestionToAWorkerThatIsLostIsAnsweredAllTheSame) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  cluster.client_says(AdminRequest{7, "explain", {"1", "0"}}, kOperator);
  EXPECT_EQ(cluster.take<ExplainQuestion>().size(), 1U);
  cluster.lose(1);
  cluster.alerts();
  const std::vector<AdminAnswer> answers = cluster.take_for<AdminAnswer>(kOperator);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(text_of(answers[0].value, "worker_state"), "lost");
}

TEST(Explain, WhatEndedHasEnded) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(2).build());
  cluster.assigned();
  cluster.succeed(1, 0);
  EXPECT_EQ(reason(cluster, {"1", "0"}), "has ended");
}

TEST(Explain, AJobTellsWhatHoldsIt) {
  SupervisorHarness cluster;
  cluster.submit(GraphBuilder{}.chain(3).keys({"load", "map", "reduce"}).build(), {.name = "nightly"});
  const Result<Value> answer = cluster.ask("explain", {"nightly"});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(text_of(*answer, "next"), "load");
  EXPECT_EQ(text_of(*answer, "reason"), "no worker is connected");
  EXPECT_EQ((*answer)["waiting"], Value{2});
}

TEST(Explain, BadQuestionsAreRefused) {
  SupervisorHarness cluster;
  cluster.submit(GraphBuilder{}.add().build());
  EXPECT_EQ(cluster.ask("explain").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(cluster.ask("explain", {"9"}).error().code, ErrorCode::NotFound);
  EXPECT_EQ(cluster.ask("explain", {"1", "9"}).error().code, ErrorCode::NotFound);
}

TEST(Watchdog, PendingWorkThatNothingServesIsReportedOnceWithItsCause) {
  SupervisorHarness cluster{{.watchdog_after = seconds{5}}};
  cluster.submit(GraphBuilder{}.add().build());
  cluster.tick_after(seconds{4});
  EXPECT_EQ(cluster.alerts().size(), 0U);
  PENSTOCK_EXPECT_COVERAGE_MARK("the watchdog gave alarm", cluster.tick_after(seconds{2}));
  const std::vector<Error> alerts = cluster.alerts();
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_EQ(alerts[0].subject, "job-1");
  EXPECT_TRUE(contains(alerts[0].message, "no worker is connected")) << alerts[0].message;
  for (int i = 0; i < 5; ++i) cluster.tick_after(seconds{6});
  EXPECT_EQ(cluster.alerts().size(), 0U) << "logged once";
  EXPECT_EQ(cluster.core().counters().watchdog_alerts, 1U);
}

TEST(Watchdog, GivesAlarmAgainAfterThingsMoved) {
  SupervisorHarness cluster{{.watchdog_after = seconds{5}}};
  cluster.submit(GraphBuilder{}.chain(2).build());
  cluster.tick_after(seconds{6});
  EXPECT_EQ(cluster.alerts().size(), 1U);
  cluster.join();
  cluster.assigned();
  cluster.succeed(1, 0);
  cluster.tick_after(seconds{1});
  cluster.tick_after(seconds{5});
  cluster.tick_after(seconds{6});
  EXPECT_EQ(cluster.alerts().size(), 1U);
}

TEST(Watchdog, LongRunsAreNoAlarm) {
  SupervisorHarness cluster{{.watchdog_after = seconds{5}}};
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  BandLoad load;
  load.band = BandIndex{0};
  load.running = 1;
  cluster.report_load(1, load);
  for (int i = 0; i < 10; ++i) cluster.tick_after(seconds{6});
  EXPECT_EQ(cluster.alerts().size(), 0U);
}

TEST(Watchdog, RunsThatHaveLentTheirSlotAreNoAlarm) {
  SupervisorHarness cluster{{.watchdog_after = seconds{5}}};
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  BandLoad load;
  load.band = BandIndex{0};
  load.yielded = 1;
  cluster.report_load(1, load);
  for (int i = 0; i < 10; ++i) cluster.tick_after(seconds{6});
  EXPECT_EQ(cluster.alerts().size(), 0U);
}

// A worker says how full it is whatever becomes of its work.
TEST(Watchdog, WordsOfLoadAreNoProgress) {
  SupervisorHarness cluster{{.watchdog_after = seconds{5}}};
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  BandLoad load;
  load.band = BandIndex{0};
  load.ready = 1;
  for (int i = 0; i < 6; ++i) {
    cluster.report_load(1, load);
    cluster.tick_after(seconds{2});
  }
  EXPECT_EQ(cluster.alerts().size(), 1U);
}

TEST(Watchdog, OfManyJobsOnlySomeAreNamed) {
  SupervisorHarness cluster{{.watchdog_after = seconds{5}}};
  for (int i = 0; i < 50; ++i) cluster.submit(GraphBuilder{}.add().build());
  cluster.tick_after(seconds{6});
  const std::vector<Error> alerts = cluster.alerts();
  ASSERT_EQ(alerts.size(), 8U);
  EXPECT_TRUE(contains(alerts[7].message, "and 42 other jobs")) << alerts[7].message;
}

TEST(Watchdog, SleepsWithoutJobs) {
  SupervisorHarness cluster{{.watchdog_after = seconds{5}}};
  cluster.join();
  cluster.tick_after(seconds{60});
  EXPECT_FALSE(cluster.core().next_deadline().has_value());
  EXPECT_EQ(cluster.alerts().size(), 0U);
}

}  // namespace
}  // namespace penstock::supervisor
