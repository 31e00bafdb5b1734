// SupervisorCore: the subtasks that are sent now, how far ahead, and help for bands without work.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using GB = GraphBuilder;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Lookahead, UnknownDurationsHaveTheInitialCredit) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 10}};
  cluster.join();
  cluster.submit(GraphBuilder{}.chain(50).build());
  const Lines lines = cluster.assigned();
  ASSERT_EQ(lines.size(), 10U);
  EXPECT_EQ(lines[0], "0 to w1");
  EXPECT_EQ(lines[9], "9 to w1, cached");
}

TEST(Lookahead, ExpectedDurationsMakeTheCredit) {
  SupervisorHarness cluster{{.lookahead = milliseconds{20}}};
  cluster.join({.slots = 2});
  GraphBuilder graph;
  graph.template_at(0).expected_duration = milliseconds{4};
  cluster.submit(graph.chain(50).build());
  EXPECT_EQ(cluster.assigned().size(), 10U);
}

TEST(Lookahead, MeasuredDurationsReplaceIt) {
  SupervisorHarness cluster{{.lookahead = milliseconds{20}, .lookahead_subtasks_initial = 3}};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(100).build());
  EXPECT_EQ(cluster.assigned().size(), 3U);
  cluster.succeed(1, 0);  // The first ran for 1 ms: 20 fit.
  EXPECT_EQ(cluster.assigned().size(), 18U);
  EXPECT_EQ(cluster.core().workers()[BandSlot{0}].in_flight, 20U);
}

// Each of them waits for one that would not be sent before it ends.
TEST(Lookahead, RunsThatHaveLentTheirSlotLeaveRoomForOthers) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).expected_duration = std::chrono::hours{1};
  cluster.submit(graph.sources(10).build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w1", "2 to w1"})) << "one runs, two are prepared meanwhile";
  cluster.report_load(1, {.band = BandIndex{0}, .running = 1, .yielded = 2});
  EXPECT_EQ(cluster.assigned(), (Lines{"3 to w1", "4 to w1"}));
  cluster.report_load(1, {.band = BandIndex{0}, .running = 1});
  EXPECT_EQ(cluster.assigned(), Lines{});
  cluster.ignore();
}

TEST(Lookahead, IsBoundedAndNeverBelowTheSlots) {
  SupervisorHarness cluster{{.lookahead_subtasks_max = 7, .lookahead_subtasks_initial = 1}};
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).expected_duration = Duration{1};
  cluster.submit(graph.sources(100).build());
  EXPECT_EQ(cluster.assigned().size(), 7U);
  GraphBuilder slow;
  slow.template_at(0).expected_duration = std::chrono::hours{1};
  cluster.join({.slots = 4});
  slow.template_at(0).required = {"worker-2", ""};
  cluster.submit(slow.sources(100).build(), {.priority = 5});
  // Four slots and two that are prepared meanwhile.
  EXPECT_GE(cluster.core().workers()[BandSlot{1}].in_flight, 6U);
  cluster.ignore();
}

TEST(Lookahead, ProducersStandBeforeTheirSuccessorsInABatch) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add({2}).add().add({1}).build());  // 1 -> 2 -> 0
  EXPECT_EQ(cluster.assigned(), (Lines{"1 to w1", "2 to w1, cached", "0 to w1, cached"}));
}

TEST(Dispatch, ABatchIsCutAtItsLimit) {
  SupervisorHarness cluster{{.assign_batch_max = 4}};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(10).build());
  const auto batches = cluster.take<AssignBatch>();
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_EQ(batches[0].second.assignments.size(), 4U);
  EXPECT_EQ(batches[2].second.assignments.size(), 2U);
  // The name of the job and the template are said once.
  EXPECT_EQ(batches[0].second.job_name, "job-1");
  EXPECT_EQ(batches[0].second.templates.size(), 1U);
  EXPECT_EQ(batches[1].second.job_name, "");
  EXPECT_EQ(batches[1].second.templates.size(), 0U);
}

TEST(Dispatch, PayloadsAndPrioritiesTravelAlong) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().add().priority(3).payloads({"abc", "de"}).build(),
                 {.priority = 2, .trace = true});
  const auto batches = cluster.take<AssignBatch>();
  ASSERT_EQ(batches.size(), 1U);
  const AssignBatch& batch = batches[0].second;
  EXPECT_EQ(batch.job_priority, 2);
  EXPECT_TRUE(batch.trace);
  ASSERT_EQ(batch.assignments.size(), 2U);
  EXPECT_EQ(batch.assignments[0].subtask, SubtaskIndex{1});
  EXPECT_GT(batch.assignments[0].priority, batch.assignments[1].priority);
  EXPECT_EQ(batch.payloads, "deabc");
  EXPECT_EQ(batch.assignments[0].payload_bytes, 2U);
}

// A user's could name the directory of another job, which is removed when this one has ended.
TEST(Dispatch, NobodyElseNamesWhatAttemptsHaveSaved) {
  SupervisorHarness cluster;
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).environment = {"PENSTOCK_CHECKPOINT_KEY=job-5.17", "A=b", "PENSTOCK_CHECKPOINT_KEYS=c",
                                      "PENSTOCK_CHECKPOINT_KEY=x"};
  cluster.submit(graph.add().build());
  const auto batches = cluster.take<AssignBatch>();
  ASSERT_EQ(batches.size(), 1U);
  ASSERT_EQ(batches[0].second.templates.size(), 1U);
  EXPECT_EQ(batches[0].second.templates[0].content.environment, (Lines{"A=b", "PENSTOCK_CHECKPOINT_KEYS=c"}));
}

TEST(Dispatch, InputsTellWhereTheyAre) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join();
  GraphBuilder graph;
  graph.template_at(1).required = {"worker-3", ""};
  graph.sources(2).add({}, 1).add({0, 1, GB::order(0), GB::order(2)});
  cluster.submit(graph.build(), {.wait_for_resources = true});
  cluster.assigned();
  cluster.succeed(1, 0, {{0, 100}});
  cluster.succeed(2, 1, {{0, 1 << 20}});
  cluster.join();
  const auto peers = cluster.take<PeerAddressBatch>();
  ASSERT_EQ(peers.size(), 1U);
  ASSERT_EQ(peers[0].second.peers.size(), 1U);
  EXPECT_EQ(peers[0].second.peers[0], (PeerAddress{WorkerId{1}, "host-1:7000"}));
  const auto batches = cluster.take<AssignBatch>();
  ASSERT_EQ(batches.size(), 2U);
  const std::vector<AssignedInput>& inputs = batches[1].second.inputs;
  ASSERT_EQ(inputs.size(), 3U);
  EXPECT_EQ(inputs[0], (AssignedInput{SubtaskIndex{0}, 0, InputPlace::Remote, WorkerId{1}, 100}));
  EXPECT_EQ(inputs[1], (AssignedInput{SubtaskIndex{1}, 0, InputPlace::Here, WorkerId{2}, 1 << 20}));
  EXPECT_EQ(inputs[2].place, InputPlace::Missing);
  EXPECT_EQ(inputs[2].producer, SubtaskIndex{2});
}

// Found by a worker process that was stopped: the worker took connections and never answered, and its readers waited
// for ever.
TEST(Dispatch, WhoFetchesFromALostWorkerIsToldSo) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join();
  GraphBuilder graph;
  graph.template_at(1).required = {"worker-3", ""};
  graph.sources(2).add({0, 1}, 1);
  cluster.submit(graph.build(), {.wait_for_resources = true});
  cluster.assigned();
  cluster.succeed(1, 0, {{0, 100}});
  cluster.succeed(2, 1, {{0, 1 << 20}});
  cluster.join();
  cluster.ignore();
  cluster.lose(1);
  const auto peers = cluster.take<PeerAddressBatch>();
  ASSERT_EQ(peers.size(), 1U);
  EXPECT_EQ(peers[0].second.peers, (std::vector<PeerAddress>{{WorkerId{1}, ""}}));
  cluster.ignore();
}

// Found by the simulator (seed 10, without any fault): a worker that had fetched one of two outputs was told that both
// were there, and the producer ran again.
TEST(Dispatch, ACopyOfOneOutputIsNoCopyOfTheOther) {
  for (const std::uint16_t outputs : {std::uint16_t{1}, std::uint16_t{2}}) {
    SupervisorHarness cluster;
    cluster.join();
    cluster.join();
    GraphBuilder graph;
    graph.template_at(0).output_count = outputs;
    graph.template_at(0).required = {"worker-1", ""};
    graph.template_at(1).required = {"worker-3", ""};
    graph.template_at(2).required = {"worker-2", ""};
    // 0 on the first; 2 reads its last output on the second, when the gate is assigned.
    graph.add().add({}, 1).add({{0, static_cast<std::uint16_t>(outputs - 1)}, GB::order(1)}, 2);
    cluster.submit(graph.build(), {.wait_for_resources = true});
    cluster.succeed(1, 0,
                    outputs == 1 ? std::vector<OutputReport>{{0, 10}} : std::vector<OutputReport>{{0, 10}, {1, 20}});
    cluster.report_replica(2, 0);  // Of output 0.
    cluster.ignore();
    cluster.join();
    bool seen = false;
    for (const auto& [worker, batch] : cluster.take<AssignBatch>())
      for (const AssignedInput& input : batch.inputs) {
        if (input.producer != SubtaskIndex{0}) continue;
        seen = true;
        EXPECT_EQ(input.place, outputs == 1 ? InputPlace::Here : InputPlace::Remote);
      }
    EXPECT_TRUE(seen);
    cluster.ignore();
  }
}

TEST(Dispatch, FinishedInputsThatAreAllEmptyAreOnlyCounted) {
  SupervisorHarness cluster;
  cluster.join();
  GraphBuilder graph;
  graph.template_at(1).required = {"worker-2", ""};
  graph.sources(2).add({}, 1).add({0, 1, GB::order(0), GB::order(2)});
  cluster.submit(graph.build(), {.wait_for_resources = true});
  cluster.assigned();
  cluster.succeed(1, 0);
  cluster.succeed(1, 1);
  cluster.join();
  const auto batches = cluster.take<AssignBatch>();
  ASSERT_FALSE(batches.empty());
  for (const auto& [worker, batch] : batches)
    for (const Assignment& assignment : batch.assignments) {
      if (assignment.subtask != SubtaskIndex{3}) continue;
      EXPECT_EQ(assignment.input_count, 1U);
      EXPECT_EQ(assignment.omitted_inputs, 2U);
    }
}

// Their number has 16 bits in an assignment: one more are listed, so that a run has as many inputs as its graph says.
TEST(Dispatch, MoreEmptyInputsThanCanBeCountedAreListed) {
  for (const std::uint32_t inputs : {65'535U, 65'536U}) {
    SupervisorHarness cluster;
    cluster.join();
    GraphBuilder graph;
    graph.template_at(1).required = {"worker-2", ""};
    cluster.submit(graph.add().add(std::vector<GB::Input>(inputs, GB::Input{0}), 1).build(),
                   {.wait_for_resources = true});
    cluster.assigned();
    cluster.succeed(1, 0);
    cluster.join();
    const auto batches = cluster.take<AssignBatch>();
    ASSERT_EQ(batches.size(), 1U);
    const Assignment& assignment = batches[0].second.assignments.at(0);
    EXPECT_EQ(assignment.omitted_inputs, inputs == 65'535U ? inputs : 0U);
    EXPECT_EQ(assignment.input_count, inputs == 65'535U ? 0U : inputs);
  }
}

TEST(Dispatch, ASuccessorThatIsCachedElsewhereIsNoticed) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.join();
  // 2 reads 0 and 1 and is cached on one of their workers.
  cluster.submit(GraphBuilder{}.sources(2).add({0, 1}).build());
  const Lines lines = cluster.assigned();
  ASSERT_EQ(lines.size(), 3U);
  const bool on_first = std::find(lines.begin(), lines.end(), "2 to w1, cached") != lines.end();
  const std::uint32_t other = on_first ? 2 : 1;
  const std::uint32_t own = on_first ? 1 : 2;
  cluster.succeed(own, own - 1);
  EXPECT_EQ(cluster.take<InputNoticeBatch>().size(), 0U);
  cluster.succeed(other, other - 1, {{0, 77}});
  const auto notices = cluster.take<InputNoticeBatch>();
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].first, WorkerId{own});
  EXPECT_EQ(notices[0].second.notices, (std::vector<InputNotice>{{SubtaskIndex{other - 1}, 0, WorkerId{other}, 77}}));
  EXPECT_EQ(cluster.take<PeerAddressBatch>().size(), 1U);
  cluster.succeed(own, 2);
  cluster.drops();
}

// Reference case: bands with 9, 8 and 1 queued; the band that goes idle gets what others hold.
TEST(Stealing, QueuedWorkIsAskedBackFromItsLowEndAndRunsOnce) {
  SupervisorHarness cluster{{.steal_after = Duration{0}}};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(9).build());
  EXPECT_EQ(cluster.assigned().size(), 9U);
  cluster.join();
  EXPECT_EQ(cluster.steals(), (Lines{"8 at w1", "7 at w1", "6 at w1"}));
  cluster.say(1, 8, Outcome::Returned);
  EXPECT_EQ(cluster.assigned(), Lines{"8#2 to w2"});
  cluster.succeed(1, 7);  // Too late: it stays.
  cluster.say(1, 6, Outcome::Returned);
  EXPECT_EQ(cluster.assigned(), Lines{"6#2 to w2"});
  cluster.ignore();
  // The word of the first attempt counts no more.
  JobReports late{JobId{1}, {}, {}, {}, {}};
  late.attempts.push_back(
      {SubtaskIndex{8}, 1, Attempt{1}, 0, Outcome::Succeeded, ForwardResult::NotCached, BandIndex{0}});
  cluster.report(1, late);
  EXPECT_EQ(cluster.phase(8), SubtaskPhase::Assigned);
  EXPECT_EQ(cluster.core().counters().stale_reports, 1U);
  cluster.ignore();
}

// By the costs alone it would go to whichever idle band a hash names, and often back to where it came from.
TEST(Stealing, WhatComesBackGoesToTheBandItWasAskedFor) {
  SupervisorHarness cluster{{.steal_after = Duration{0}}};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(9).build());
  EXPECT_EQ(cluster.assigned().size(), 9U);
  cluster.join({.slots = 4});
  EXPECT_EQ(cluster.steals(), (Lines{"8 at w1", "7 at w1", "6 at w1", "5 at w1"}));
  for (int others = 0; others < 5; ++others) cluster.join();
  cluster.ignore();
  for (const std::uint32_t subtask : {8U, 7U, 6U, 5U}) {
    cluster.say(1, subtask, Outcome::Returned);
    EXPECT_EQ(cluster.assigned(), Lines{std::to_string(subtask) + "#2 to w2"});
    cluster.ignore();
  }
}

// In a stencil everyone waits for neighbours now and then; work that moved for that would tear the graph apart.
// 930 assignments a second of one subtask, which its own band and an idle one took from each other.
TEST(Stealing, WhatComesBackDoesNotReturnToThePreferredBandItCameFrom) {
  SupervisorHarness cluster{{.steal_after = Duration{0}}};
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).preferred = {"worker-1", ""};
  cluster.submit(graph.sources(9).build());
  EXPECT_EQ(cluster.assigned().size(), 9U);
  cluster.join();
  EXPECT_EQ(cluster.steals(), (Lines{"8 at w1", "7 at w1", "6 at w1"}));
  for (const std::uint32_t subtask : {8U, 7U, 6U}) {
    cluster.say(1, subtask, Outcome::Returned);
    EXPECT_EQ(cluster.assigned(), Lines{std::to_string(subtask) + "#2 to w2"});
    cluster.ignore();
  }
}

TEST(Stealing, ABandThatHoldsSuccessorsAsksOnlyWhenItStaysIdle) {
  SupervisorHarness cluster{{.lookahead = std::chrono::seconds{100}, .steal_after = milliseconds{10}}};
  cluster.join();
  GraphBuilder filler;
  filler.template_at(0).expected_duration = std::chrono::seconds{1};
  cluster.submit(filler.sources(9).build());
  GraphBuilder pair;
  pair.template_at(0).required = {"worker-1", ""};
  pair.template_at(1).required = {"worker-2", ""};
  JobSpec spec;
  spec.wait_for_resources = true;
  cluster.submit(pair.add({}, 0).add({0}, 1).build(), spec);
  cluster.ignore();
  cluster.join();
  EXPECT_EQ(cluster.assigned(), Lines{"2:1 to w2, cached"});
  EXPECT_EQ(cluster.steals(), Lines{});
  cluster.tick_after(milliseconds{9});
  EXPECT_EQ(cluster.steals(), Lines{});
  cluster.tick_at_deadline();
  EXPECT_FALSE(cluster.steals().empty());
}

// Each event would let it ask another band, and at the end of a wide graph what is left would never come to rest.
TEST(Stealing, NobodyAsksAgainWhileTheAnswerMayBeOnItsWay) {
  SupervisorHarness cluster{{.lookahead = std::chrono::seconds{100}, .steal_after = milliseconds{10}}};
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).expected_duration = std::chrono::seconds{1};
  cluster.submit(graph.sources(20).build());
  cluster.ignore();
  cluster.join();
  EXPECT_EQ(cluster.steals(), (Lines{"19 at w1", "18 at w1", "17 at w1"}));
  const JobReports nothing_new{JobId{1}, {}, {}, {}, {}};
  cluster.report(1, nothing_new);
  EXPECT_EQ(cluster.steals(), Lines{});
  cluster.tick_after(milliseconds{9});
  cluster.report(1, nothing_new);
  EXPECT_EQ(cluster.steals(), Lines{});
  cluster.tick_at_deadline();
  EXPECT_EQ(cluster.steals(), (Lines{"16 at w1", "15 at w1", "14 at w1"}));
}

// The search for idle bands in one event is limited; the others have their turn within milliseconds, and then
// nobody asks again before something changes.
TEST(Stealing, ManyIdleBandsAreLookedAfterByRotationAndThenLeftAlone) {
  SupervisorHarness cluster{{.steal_after = Duration{0}}};
  constexpr int kBands = 50;
  for (int i = 0; i < kBands; ++i) cluster.join();
  GraphBuilder graph;
  graph.template_at(0).required = {"worker-1", ""};
  cluster.submit(graph.sources(40).build());
  cluster.ignore();
  const auto due = [&] { return cluster.core().next_deadline() <= later(cluster.now(), milliseconds{1}); };
  EXPECT_TRUE(due());
  int ticks = 0;
  for (; due() && ticks < 2 * kBands; ++ticks) {
    cluster.tick_at_deadline();
    EXPECT_EQ(cluster.steals(), Lines{});
  }
  EXPECT_GT(ticks, 0);
  EXPECT_LE(ticks, kBands);
}

TEST(Stealing, ShortWaitsAreNotWorthIt) {
  SupervisorHarness cluster{{.steal_after = milliseconds{50}}};
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).expected_duration = microseconds{100};
  cluster.submit(graph.sources(20).build());
  EXPECT_EQ(cluster.assigned().size(), 20U);
  cluster.join();
  EXPECT_EQ(cluster.steals(), Lines{});
}

// Of what nothing has ended durations are guesses. The subtask waited for ever beside an idle worker.
TEST(Stealing, WhatStandsBehindSomethingLongIsMovedAtLast) {
  SupervisorHarness cluster{{.steal_after = milliseconds{50}}};
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).expected_duration = microseconds{100};
  cluster.submit(graph.sources(3).build());
  EXPECT_EQ(cluster.assigned().size(), 3U);
  for (const std::uint32_t i : {0U, 1U}) cluster.say(1, i, Outcome::Started);
  cluster.join();
  EXPECT_EQ(cluster.steals(), Lines{});
  Lines steals;
  for (int ticks = 0; ticks < 200 && steals.empty(); ++ticks) {
    cluster.tick_at_deadline();
    steals = cluster.steals();
  }
  EXPECT_EQ(steals, Lines{"2 at w1"});
}

// Here only until the last event: nothing looked again when it had waited for longer than moving it takes.
TEST(Stealing, WhatCostsMuchToMoveIsMovedWhenItHasWaitedForAsLong) {
  SupervisorHarness cluster{{.steal_after = milliseconds{50}}};
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).expected_duration = milliseconds{60};
  cluster.submit(graph.add().add().add({0}).build());
  EXPECT_EQ(cluster.assigned().size(), 3U);
  cluster.succeed(1, 0, {{0, std::int64_t{8} << 30}});
  const Instant stands_still_since = cluster.now();
  cluster.say(1, 1, Outcome::Started);
  cluster.join();
  EXPECT_EQ(cluster.steals(), Lines{});
  Lines steals;
  int ticks = 0;
  for (; ticks < 20 && steals.empty() && cluster.core().next_deadline(); ++ticks) {
    cluster.tick_at_deadline();
    steals = cluster.steals();
  }
  EXPECT_EQ(steals, Lines{"2 at w1"});
  EXPECT_GE(cluster.now(), later(stands_still_since, std::chrono::seconds{8}));
  EXPECT_LE(cluster.now(), later(stands_still_since, std::chrono::seconds{9}));
}

// Beside something that is expected to take long, and that only one band may run.
TEST(Stealing, SoIsWhatSeemsShortBehindSomethingLongThatMayNotMove) {
  SupervisorHarness cluster{{.steal_after = milliseconds{50}}};
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).expected_duration = microseconds{100};
  graph.template_at(1).expected_duration = std::chrono::hours{1};
  graph.template_at(1).required = {"worker-1", ""};
  cluster.submit(graph.add().priority(1).add().priority(1).add({}, 1).build());
  EXPECT_EQ(cluster.assigned(), (Lines{"0 to w1", "1 to w1", "2 to w1"}));
  cluster.say(1, 0, Outcome::Started);
  cluster.join();
  EXPECT_EQ(cluster.steals(), Lines{});
  Lines steals;
  for (int ticks = 0; ticks < 200 && steals.empty() && cluster.core().next_deadline(); ++ticks) {
    cluster.tick_at_deadline();
    steals = cluster.steals();
  }
  EXPECT_EQ(steals, Lines{"1 at w1"});
}

// By their number they fit the slots of the band, by their width they do not.
TEST(Stealing, WhatIsWiderThanTheFreeSlotsIsMovedToABandThatHasNothing) {
  SupervisorHarness cluster{{.steal_after = milliseconds{50}}};
  cluster.join({.slots = 4});
  GraphBuilder graph;
  graph.template_at(1).request.slots = kOneSlot * 4;
  cluster.submit(graph.add({}, 0).add({}, 1).build());
  EXPECT_EQ(cluster.assigned().size(), 2U);
  cluster.say(1, 0, Outcome::Started);
  cluster.join({.slots = 4});
  const BandLoad load{.band = BandIndex{0}, .ready = 1, .running = 1};
  Lines steals;
  for (int ticks = 0; ticks < 200 && steals.empty(); ++ticks) {
    cluster.report_load(1, load);
    cluster.tick_at_deadline();
    steals = cluster.steals();
  }
  EXPECT_EQ(steals, Lines{"1 at w1"});
}

// One small subtask of an hour kept fifteen slots from all that takes two. `beside`: what each of those takes that run.
TEST(Stealing, WhatTakesSeveralSlotsIsMovedAsFarAsTheseAreFree) {
  for (const auto& [running, taken, beside] :
       {std::tuple{1U, kOneSlot, 7U}, {1U, kOneSlot * 15, 0U}, {5U, kOneSlot * 2, 3U}, {0U, kOneSlot, 8U}}) {
    SupervisorHarness cluster{{.lookahead_subtasks_initial = 64, .steal_after = Duration{0}}};
    cluster.join({.slots = 16});
    GraphBuilder graph;
    graph.template_at(0).request.slots = kOneSlot * 2;
    cluster.submit(graph.sources(64).build());
    EXPECT_EQ(cluster.assigned().size(), 64U);
    GraphBuilder small;
    small.template_at(0).required = {"worker-2", ""};
    small.template_at(0).request.slots = taken;
    if (running > 0) cluster.submit(small.sources(running).build(), {.wait_for_resources = true});
    cluster.join({.slots = 16});
    EXPECT_EQ(cluster.assigned().size(), running);
    cluster.tick_after(milliseconds{1});
    EXPECT_EQ(cluster.steals().size(), beside) << running << " of " << taken.value();
    cluster.ignore();
  }
}

TEST(Stealing, RunningAndCachedSubtasksAreLeftAlone) {
  SupervisorHarness cluster{{.steal_after = Duration{0}}};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(3).add({0}).build());
  cluster.assigned();
  for (const std::uint32_t i : {0U, 1U, 2U}) cluster.say(1, i, Outcome::Started);
  cluster.join();
  EXPECT_EQ(cluster.steals(), Lines{});
}

TEST(Stealing, WhatOnlyOneBandMayRunStaysThere) {
  SupervisorHarness cluster{{.steal_after = Duration{0}}};
  cluster.join();
  GraphBuilder graph;
  graph.template_at(0).required = {"worker-1", ""};
  cluster.submit(graph.sources(90).build());
  cluster.assigned();
  cluster.join();
  EXPECT_EQ(cluster.steals(), Lines{});
  EXPECT_EQ(cluster.assigned(), Lines{});
}

TEST(Stealing, AWorkerThatReturnsUnaskedIsLeftAloneForAWhile) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  cluster.say(1, 0, Outcome::Returned);
  EXPECT_EQ(cluster.assigned(), Lines{});
  EXPECT_EQ(cluster.phase(0), SubtaskPhase::Backoff);
  cluster.tick_after(milliseconds{10});
  EXPECT_EQ(cluster.assigned(), Lines{"0#2 to w1"});
  EXPECT_EQ(cluster.job().tally.counts.failed, 0U);
  cluster.succeed(1, 0);
  EXPECT_EQ(cluster.state(), JobState::Succeeded);
}

}  // namespace
}  // namespace penstock::supervisor
