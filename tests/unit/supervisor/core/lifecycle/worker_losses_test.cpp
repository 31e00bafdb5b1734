// SupervisorCore: workers that come, drain and vanish.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

TEST(WorkerLost, ItsAttemptsRunElsewhereWithHigherNumbers) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(4).build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w1", "2 to w2", "3 to w2"}));
  cluster.succeed(1, 0);
  cluster.lose(1, "silent for 10 s");
  EXPECT_EQ(cluster.assigned(), Lines{"1#2 to w2"});
  const std::vector<Error> alerts = cluster.alerts();
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_EQ(alerts[0].subject, "worker-1");
  EXPECT_NE(alerts[0].message.find("silent for 10 s"), std::string::npos);
  for (const std::uint32_t i : {1U, 2U, 3U}) cluster.succeed(2, i);
  EXPECT_EQ(cluster.state(), JobState::Succeeded);
}

TEST(WorkerLost, WithoutAnotherOneTheWorkWaits) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.chain(3).build());
  cluster.assigned();
  cluster.lose(1);
  EXPECT_EQ(cluster.assigned(), Lines{});
  cluster.alerts();
  PENSTOCK_EXPECT_COVERAGE_MARK("an unschedulable subtask found a band", cluster.join());
  EXPECT_EQ(cluster.assigned(), (Lines{"0#2 to w2", "1#2 to w2, cached", "2#2 to w2, cached"}));
}

TEST(WorkerJoined, WithAnImpossibleDescriptionIsSentAway) {
  SupervisorHarness cluster;
  Register description;
  description.name = "evil\x07";
  cluster.handle(supervisor_event::WorkerJoined{WorkerId{9}, Incarnation{9}, description});
  const std::vector<Error> alerts = cluster.alerts();
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_EQ(alerts[0].subject, "worker name 'evil?'");
  EXPECT_FALSE(cluster.core().workers().find(WorkerId{9}).valid());
  cluster.ignore();
}

TEST(WorkerLost, ALinkIsReleasedOnce) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.handle(supervisor_event::WorkerLost{WorkerId{1}, "silent"});
  cluster.handle(supervisor_event::WorkerLost{WorkerId{1}, "silent"});
  EXPECT_EQ(cluster.alerts().size(), 1U);
  EXPECT_EQ(cluster.core().counters().workers_lost, 1U);
  cluster.ignore();
}

TEST(WorkerLost, TooManyLossesFailTheSubtask) {
  SupervisorConfig config;
  config.lost_workers_max = 2;
  SupervisorHarness cluster{config};
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.lose(1);
  cluster.join();
  EXPECT_EQ(cluster.state(), JobState::Running);
  cluster.lose(2);
  EXPECT_EQ(cluster.state(), JobState::Failed);
  cluster.ignore();
}

TEST(WorkerLost, ItsPlaceIsTakenByAnotherWithoutConfusion) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(2).build());
  cluster.assigned();
  cluster.lose(1);
  cluster.alerts();
  cluster.join();
  EXPECT_EQ(cluster.assigned(), (Lines{"0#2 to w2", "1#2 to w2"}));
  // The new worker occupies the slot of the old one; what the old one said of attempt 1 is not believed from it.
  JobReports late{JobId{1}, {}, {}, {}, {}};
  late.attempts.push_back(
      {SubtaskIndex{0}, 1, Attempt{1}, 0, Outcome::Succeeded, ForwardResult::NotCached, BandIndex{0}});
  cluster.report(2, late);
  EXPECT_EQ(cluster.phase(0), SubtaskPhase::Assigned);
  EXPECT_EQ(cluster.core().counters().stale_reports, 1U);
}

// A subtask that was ready there and had too few free slots was offered again as the attempts left, for good.
TEST(WorkerLost, NothingOfItIsOfferedToOthersAnyMore) {
  SupervisorHarness cluster;
  cluster.join({.slots = 4});
  cluster.submit(GraphBuilder{}.sources(2).build());
  cluster.assigned();
  cluster.report_load(1, {.band = BandIndex{0}, .ready = 1, .running = 1});
  EXPECT_TRUE(cluster.core().workers()[BandSlot{0}].offers);
  cluster.lose(1);
  EXPECT_FALSE(cluster.core().workers()[BandSlot{0}].offers);
  cluster.ignore();
}

TEST(WorkerLost, TemplatesAndNamesAreToldAnewToItsSuccessor) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.ignore();
  cluster.lose(1);
  cluster.alerts();
  cluster.join();
  const auto batches = cluster.take<AssignBatch>();
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].second.job_name, "job-1");
  EXPECT_EQ(batches[0].second.templates.size(), 1U);
}

TEST(WorkerLost, WithABandBeingFilledInTheSameEventNothingIsSentToIt) {
  SupervisorHarness cluster;
  cluster.join({.bands = 3});
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(40).build());
  cluster.ignore();
  cluster.lose(1);
  for (const auto& [worker, batch] : cluster.take<AssignBatch>()) EXPECT_EQ(worker, WorkerId{2});
  cluster.alerts();
}

// Fault F02: between the first silence and the loss nothing is given to a worker that is likely to be gone.
TEST(Suspicion, ASuspectedWorkerGetsNothingNewUntilItIsHeard) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.join();
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(10).build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w1", "2 to w1", "5 to w2", "6 to w2", "7 to w2"}));
  const auto state_of_first = [&] {
    const Result<Value> workers = cluster.ask("workers");
    return *(*workers->list())[0]["state"].text();
  };
  PENSTOCK_EXPECT_COVERAGE_MARK("a worker was suspected",
                                cluster.handle(supervisor_event::WorkerSuspected{WorkerId{1}, true}));
  EXPECT_EQ(cluster.alerts().size(), 1U);
  EXPECT_EQ(state_of_first(), "suspected");
  // Work that its last reports make room for goes to the other one.
  for (const std::uint32_t i : {0U, 1U, 2U}) cluster.succeed(1, i);
  EXPECT_EQ(cluster.assigned(), Lines{});
  cluster.handle(supervisor_event::WorkerSuspected{WorkerId{1}, true});
  EXPECT_EQ(cluster.alerts().size(), 0U) << "it is said once";
  cluster.handle(supervisor_event::WorkerSuspected{WorkerId{1}, false});
  EXPECT_EQ(state_of_first(), "ready");
  const Lines given = cluster.assigned();
  ASSERT_FALSE(given.empty());
  for (const std::string& line : given) EXPECT_TRUE(line.ends_with(" to w1")) << line;
}

TEST(Suspicion, ADrainingWorkerStaysClosedWhenItIsHeardAgain) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(10).build());
  EXPECT_EQ(cluster.assigned().size(), 3U);
  cluster.handle(supervisor_event::WorkerSuspected{WorkerId{1}, true});
  cluster.alerts();
  ASSERT_TRUE(cluster.ask("drain", {"worker-1"}).has_value());
  cluster.take<Drain>();
  cluster.handle(supervisor_event::WorkerSuspected{WorkerId{1}, false});
  cluster.succeed(1, 0);
  EXPECT_EQ(cluster.assigned(), Lines{});
}

TEST(Drain, TakesNothingNewAndLosesNothing) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.join();
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(10).build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w1", "2 to w1", "5 to w2", "6 to w2", "7 to w2"}));
  ASSERT_TRUE(cluster.ask("drain", {"worker-1"}).has_value());
  const auto orders = cluster.take<Drain>();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].first, WorkerId{1});
  EXPECT_TRUE(orders[0].second.enabled);
  cluster.worker_says(1, DrainState{true, false});
  cluster.say(1, 2, Outcome::Returned);
  cluster.say(1, 1, Outcome::Returned);
  cluster.succeed(1, 0);
  EXPECT_EQ(cluster.assigned(), Lines{});
  cluster.worker_says(1, DrainState{true, true});
  const Result<Value> workers = cluster.ask("workers");
  ASSERT_TRUE(workers.has_value());
  EXPECT_EQ(*(*workers->list())[0]["state"].text(), "drained");
  for (const std::uint32_t i : {5U, 6U, 7U}) cluster.succeed(2, i);
  for (std::uint32_t rounds = 0; rounds < 10 && cluster.state() == JobState::Running; ++rounds)
    for (const std::uint32_t i : {1U, 2U, 3U, 4U, 8U, 9U})
      if (cluster.phase(i) == SubtaskPhase::Assigned) cluster.succeed(2, i);
  EXPECT_EQ(cluster.state(), JobState::Succeeded);
  for (const auto& [worker, batch] : cluster.take<AssignBatch>()) EXPECT_EQ(worker, WorkerId{2});
  cluster.ignore();
}

// Spec: policy-determined 9.3: what runs on a worker that is taken out at once is queued again and charged with
// nothing.
TEST(Drain, AtOnceWhatMayRunAgainIsAskedToLeaveAndGoesElsewhere) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.join();
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).preferred = {"worker-1", ""};
  graph.template_at(1).preferred = {"worker-1", ""};
  graph.template_at(1).retryable = false;
  graph.add({}, 0);
  graph.add({}, 1);
  cluster.submit(graph.build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w1"}));
  cluster.say(1, 0, Outcome::Started);
  Result<Value> answer = Value{};
  PENSTOCK_EXPECT_COVERAGE_MARK("a worker was drained at once", answer = cluster.ask("drain", {"worker-1", "--now"}));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ((*answer)["told_to_leave"], Value{1}) << "the other must not run twice";
  const auto orders = cluster.take<CancelBatch>();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_TRUE(orders[0].second.preempt);
  EXPECT_EQ(orders[0].second.kill_after, PolicyConfig{}.grace);
  EXPECT_EQ(orders[0].second.attempts, (std::vector<AttemptRef>{{SubtaskIndex{0}, Attempt{1}}}));
  cluster.say(1, 0, Outcome::Returned);
  EXPECT_EQ(cluster.assigned(), Lines{"0#2 to w2"});
  cluster.succeed(2, 0);
  cluster.succeed(1, 1);
  EXPECT_EQ(cluster.state(), JobState::Succeeded);
  const Result<Value> undrained = cluster.ask("undrain", {"worker-1", "--now"});
  ASSERT_TRUE(undrained.has_value());
  EXPECT_EQ((*undrained)["told_to_leave"], Value{});
  cluster.ignore();
}

// Reference case: queues of 9, 8 and 1, and the middle band drains: its 8 move, all 18 run, none twice.
TEST(Drain, ItsQueuedItemsMoveAndEachRunsOnce) {
  SupervisorHarness cluster;
  for (int i = 0; i < 3; ++i) cluster.join();
  GraphBuilder graph;
  const std::vector<std::uint32_t> lengths{9, 8, 1};
  for (std::uint32_t band = 0; band < 3; ++band) {
    graph.template_at(band).preferred = {"worker-" + std::to_string(band + 1), ""};
    for (std::uint32_t i = 0; i < lengths[band]; ++i) graph.add({}, band);
  }
  cluster.submit(graph.build());
  EXPECT_EQ(cluster.assigned().size(), 18U);
  for (std::uint32_t band = 0; band < 3; ++band)
    EXPECT_EQ(cluster.core().workers()[BandSlot{band}].in_flight, lengths[band]);
  ASSERT_TRUE(cluster.ask("drain", {"worker-2"}).has_value());
  for (std::uint32_t i = 9; i < 17; ++i) cluster.say(2, i, Outcome::Returned);
  EXPECT_EQ(cluster.assigned().size(), 8U);
  EXPECT_EQ(cluster.core().workers()[BandSlot{1}].in_flight, 0U);
  for (std::uint32_t i = 0; i < 18; ++i)
    cluster.succeed(cluster.core().workers()[cluster.job().hot[i].band].id.worker.value(), i);
  EXPECT_EQ(cluster.state(), JobState::Succeeded);
  EXPECT_EQ(cluster.core().counters().succeeded, 18U);
  EXPECT_EQ(cluster.core().counters().stale_reports, 0U);
  cluster.ignore();
}

TEST(Drain, TheLastWorkerMayBeDrainedAndTakenBack) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(5).build());
  EXPECT_EQ(cluster.assigned().size(), 3U);
  ASSERT_TRUE(cluster.ask("drain", {"w1"}).has_value());
  cluster.take<Drain>();
  for (const std::uint32_t i : {0U, 1U, 2U}) cluster.succeed(1, i);
  EXPECT_EQ(cluster.assigned(), Lines{});
  ASSERT_TRUE(cluster.ask("undrain", {"w1"}).has_value());
  const auto orders = cluster.take<Drain>();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_FALSE(orders[0].second.enabled);
  EXPECT_EQ(cluster.assigned(), (Lines{"3 to w1", "4 to w1"}));
}

TEST(Drain, AWorkerThatIsNotThereIsNamed) {
  SupervisorHarness cluster;
  const Result<Value> refused = cluster.ask("drain", {"worker-7"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::NotFound);
  EXPECT_EQ(cluster.ask("undrain").error().code, ErrorCode::NotFound);
}

TEST(WorkerJoined, HelpsAtOnce) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.submit(GraphBuilder{}.sources(4).build());
  cluster.join();
  EXPECT_EQ(cluster.assigned().size(), 3U);
  cluster.join();
  EXPECT_EQ(cluster.assigned(), Lines{"3 to w2"});
}

TEST(WorkerJoined, WithoutBandsItIsOfNoUseAndNoHarm) {
  SupervisorHarness cluster;
  cluster.join({.bands = 0});
  cluster.submit(GraphBuilder{}.add().build());
  EXPECT_EQ(cluster.assigned(), Lines{});
  cluster.join();
  EXPECT_EQ(cluster.assigned(), Lines{"0 to w2"});
  cluster.lose(1);
  cluster.alerts();
}

}  // namespace
}  // namespace penstock::supervisor
