// Outputs that go before their whole job is released.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/protocol/external_input.hpp"
#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

using Ranges = std::vector<SubtaskRange>;

SubtaskRange range(std::uint32_t first, std::uint32_t last) { return {SubtaskIndex{first}, SubtaskIndex{last}}; }
ReleaseOutputs release_of(const Ranges& ranges, std::uint32_t job = 1) { return {JobId{job}, {}, ranges}; }

/// Subtask 0 borrows the output of a subtask of job 1, and subtask 1 reads it.
Graph borrower_of(std::uint32_t subtask) {
  GraphBuilder graph;
  graph.template_at(1).program = kAliasOperator;
  return graph.add({}, 1)
      .add({0})
      .payloads({external_datum_payload({{JobId{1}, SubtaskIndex{subtask}}, 0}), ""})
      .build();
}

JobSpec named(const std::string& name, Keep keep = Keep::Nothing) {
  JobSpec spec;
  spec.name = name;
  spec.keep = keep;
  return spec;
}

class OutputReleases : public ::testing::Test {
 protected:
  /// One worker; job 1 has so many independent subtasks, and those of `made` have succeeded.
  void begin(std::uint32_t subtasks, std::uint32_t made) {
    cluster->join({.slots = subtasks + 2});
    cluster.write_all();
    cluster->submit(GraphBuilder{}.sources(subtasks).build());
    cluster.write_all();
    for (std::uint32_t i = 0; i < made; ++i) cluster->succeed(1, i, {{0, 100}});
    cluster.write_all();
    cluster->ignore();
  }
  void release(const Ranges& ranges) {
    cluster->client_says(release_of(ranges));
    cluster.write_all();
  }
  std::size_t places() { return cluster->job().outputs.locations.size(); }
  bool forgotten() { return !cluster->take<ForgetJob>().empty(); }
  Value missing(std::uint32_t subtask) {
    return (*cluster->ask("kept", {"1", "0", std::to_string(subtask) + "-" + std::to_string(subtask)}))["missing"];
  }

  JournalHarness cluster;
};

using Lines = std::vector<std::string>;

TEST_F(OutputReleases, WhatWasMadeIsDroppedAndTheRestStays) {
  begin(3, 2);
  release({range(0, 0)});
  EXPECT_EQ(cluster->drops(), Lines{"0 at w1"});
  EXPECT_EQ(places(), 1U);
  EXPECT_EQ(missing(0), Value{0});
  EXPECT_EQ(missing(1), Value{});
  release({range(0, 0)});
  EXPECT_EQ(cluster->drops(), Lines{}) << "released twice";
  cluster->succeed(1, 2, {{0, 100}});
  cluster.write_all();
  EXPECT_EQ(places(), 2U);
  cluster->ignore();
}

TEST_F(OutputReleases, WhatIsNotMadeYetIsMadeAndDropped) {
  begin(2, 0);
  release({range(0, 0)});
  cluster->succeed(1, 0, {{0, 100}});
  EXPECT_EQ(cluster->drops(), Lines{"0 at w1"});
  EXPECT_EQ(places(), 0U);
  cluster->ignore();
}

TEST_F(OutputReleases, OfAJobThatHasEndedTheLastOneReleasesIt) {
  begin(3, 3);
  PENSTOCK_EXPECT_COVERAGE_MARK("outputs of a job that has ended were released one by one",
                                release({range(0, 0), range(2, 2)}));
  EXPECT_EQ(cluster->drops(), (Lines{"0 at w1", "2 at w1"}));
  EXPECT_FALSE(forgotten());
  release({range(1, 1)});
  EXPECT_TRUE(forgotten());
  EXPECT_EQ(places(), 0U);
  cluster->ignore();
}

TEST_F(OutputReleases, WhatASubtaskOfTheJobHasStillToReadGoesAfterThat) {
  cluster->join({.slots = 2});
  cluster.write_all();
  JobSpec spec;
  spec.keep = Keep::Wanted;
  Graph graph = GraphBuilder{}.chain(2).build();
  graph.wanted = {0, 1};
  cluster->submit(graph, spec);
  cluster.write_all();
  cluster->succeed(1, 0, {{0, 100}});
  cluster->ignore();
  release({range(0, 0)});
  EXPECT_EQ(cluster->drops(), Lines{});
  EXPECT_EQ(places(), 0U);
  cluster->succeed(1, 1, {{0, 100}});
  EXPECT_EQ(cluster->drops(), Lines{"0 at w1"});
  cluster->ignore();
}

TEST_F(OutputReleases, WhatAnotherJobHasStillToReadGoesAfterThat) {
  begin(2, 2);
  cluster->submit(borrower_of(0), named("reader"));
  cluster.write_all();
  cluster->ignore();
  PENSTOCK_EXPECT_COVERAGE_MARK("outputs were released while another job had still to read them",
                                release({range(0, 0)}));
  EXPECT_EQ(cluster->drops(), Lines{});
  EXPECT_EQ(places(), 2U);
  EXPECT_EQ(missing(0), Value{0});
  cluster->submit(borrower_of(0), named("late"));
  EXPECT_EQ(cluster->last_reply().refusal.code, ErrorCode::InputLost) << "nobody borrows what was released";
  cluster->ignore();
  cluster->succeed(1, 0, {{0, 100}}, 2);
  cluster->ignore();
  cluster->succeed(1, 1, {}, 2);
  cluster.write_all();
  const Lines drops = cluster->drops();
  EXPECT_EQ(std::count(drops.begin(), drops.end(), "0 at w1"), 1);
  EXPECT_EQ(places(), 1U);
  cluster->ignore();
}

// An order from a peer is checked before it is carried out.
TEST_F(OutputReleases, RangesOutsideTheJobOrOutOfOrderAreIgnored) {
  begin(3, 3);
  release({range(2, 1), range(0, 2)});
  release({range(0, 3)});
  EXPECT_EQ(places(), 3U);
  release({range(1, 1), range(0, 0)});
  EXPECT_EQ(places(), 2U);
  cluster->client_says(release_of({range(0, 0)}, 77));
  cluster->ignore();
}

TEST_F(OutputReleases, AreNotMadeAgainAfterARestart) {
  begin(3, 2);
  release({range(0, 0)});
  cluster->ignore();
  cluster.restart();
  cluster->join({.slots = 3});
  cluster.write_all();
  EXPECT_EQ(cluster->assigned().size(), 2U) << "that which was lost, and that which had not run";
  EXPECT_EQ(cluster->phase(0), SubtaskPhase::Succeeded);
  EXPECT_EQ(missing(0), Value{0});
  cluster->ignore();
}

TEST_F(OutputReleases, StayReleasedWhenTheirJobHasEndedBeforeARestart) {
  begin(3, 3);
  release({range(0, 0)});
  cluster->ignore();
  for (int life = 0; life < 2; ++life) {
    cluster.restart();
    EXPECT_EQ(places(), 2U);
    EXPECT_EQ(missing(0), Value{0});
    EXPECT_EQ(missing(1), Value{});
    cluster->ignore();
  }
  release({range(1, 2)});
  EXPECT_EQ(places(), 0U);
  cluster.restart();
  EXPECT_EQ(places(), 0U);
  EXPECT_EQ(missing(2), Value{2});
  cluster->ignore();
}

TEST_F(OutputReleases, AWorkerThatIsBackDropsWhatWasReleasedMeanwhile) {
  begin(3, 3);
  release({range(0, 0)});
  cluster->ignore();
  cluster.restart_for_claims();
  const auto holds = [](std::uint32_t subtask) { return ClaimedDatum{SubtaskIndex{subtask}, 0, 100}; };
  const ClaimedJob claimed{JobId{1}, {}, {holds(0), holds(1), holds(2)}};
  cluster->come_back(1, {.jobs = {claimed}});
  EXPECT_EQ(cluster->drops(), Lines{"0 at w1"});
  release({range(1, 1)});
  EXPECT_EQ(cluster->drops(), Lines{"1 at w1"}) << "only its address is known";
  cluster->ignore();
}

/// A supervisor of two workers with one slot each that is started anew while the first has subtask 0.
class Leftovers : public ::testing::Test {
 protected:
  Leftovers() {
    cluster->join();
    cluster->submit(GraphBuilder{}.sources(1).build(), named("one", Keep::Sinks));
    cluster.write_all();
    cluster->join();
    cluster.write_all();
  }
  static ClaimedJob claim(bool runs, bool holds) {
    ClaimedJob job{JobId{1}, {}, {}};
    if (runs) job.attempts.push_back({SubtaskIndex{0}, Attempt{1}, BandIndex{0}, ClaimedStage::Running});
    if (holds) job.data.push_back({SubtaskIndex{0}, 0, 100});
    return job;
  }
  void report_success(std::uint32_t worker) {
    AttemptReport report;
    report.subtask = SubtaskIndex{0};
    report.attempt = Attempt{1};
    report.band = BandIndex{0};
    report.outcome = Outcome::Succeeded;
    report.output_count = 1;
    cluster->report(worker, JobReports{JobId{1}, {report}, {{0, 100}}, {}, {}});
  }

  JournalHarness cluster;
};

// Found by seeds: an attempt of a job that had ended meanwhile went on, and what it made stayed with the kept outputs.
TEST_F(Leftovers, OfAJobThatHasEndedNothingGoesOnAndNothingStaysButWhatIsKeptThere) {
  cluster->succeed(1, 0, {{0, 100}});
  cluster.write_all();
  cluster.restart_for_claims();
  PENSTOCK_EXPECT_COVERAGE_MARK("an attempt of a job that has ended is claimed",
                                cluster->come_back(2, {.jobs = {claim(true, true)}}));
  EXPECT_EQ(cluster->cancels(), Lines{"0 at w2"});
  EXPECT_EQ(cluster->drops(), Lines{"0 at w2"});
  cluster->come_back(1, {.jobs = {claim(false, true)}});
  EXPECT_EQ(cluster->drops(), Lines{});
  report_success(2);
  EXPECT_EQ(cluster->drops(), Lines{"0 at w2"}) << "it had succeeded before it heard of the cancel";
  report_success(1);
  EXPECT_EQ(cluster->drops(), Lines{}) << "the report of what is kept is repeated";
  cluster->ignore();
}

// Of a job that was cancelled nothing is made again: the only copy was dropped when its holder came back late.
TEST(KeptOutputs, OfACancelledJobAHolderThatComesLateKeepsThemUntilTheyAreReleased) {
  JournalHarness cluster;
  cluster->join({.slots = 2});
  cluster->submit(GraphBuilder{}.sources(2).build(), named("one", Keep::Sinks));
  cluster.write_all();
  cluster->succeed(1, 0, {{0, 100}});
  cluster.write_all();
  cluster->client_says(AdminRequest{1, "cancel", {"1"}, "ann@host"});
  cluster.write_all();
  ASSERT_EQ(cluster->state(), JobState::Running) << "its worker has not answered";
  cluster->ignore();
  cluster.restart();
  ASSERT_EQ(cluster->state(), JobState::Cancelled);
  ASSERT_EQ(cluster->job().outputs.locations.size(), 1U);
  const ClaimedJob claimed{JobId{1}, {}, {{SubtaskIndex{0}, 0, 100}}};
  cluster->come_back(1, {.jobs = {claimed}});
  EXPECT_EQ(cluster->drops(), Lines{}) << "the client was sent there";
  cluster->client_says(release_of({range(0, 0)}));
  EXPECT_TRUE(cluster->job().outputs.locations.empty());
  EXPECT_FALSE(cluster->take<ForgetJob>().empty());
  cluster->ignore();
}

// Found by seeds: a subtask that was to run again when its job was cancelled has ended without outputs, but the client
// was told of the first ones, and their holder came back with them.
TEST(KeptOutputs, OfACancelledJobSingleOnesAreDroppedAtAHolderThatCameLate) {
  JournalHarness cluster;
  cluster->join({.slots = 3});
  cluster->submit(GraphBuilder{}.sources(3).build(), named("two", Keep::Sinks));
  cluster.write_all();
  cluster->succeed(1, 0, {{0, 100}});
  cluster->succeed(1, 1, {{0, 100}});
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  cluster->client_says(AdminRequest{1, "cancel", {"1"}, "ann@host"});
  cluster.write_all();
  ASSERT_EQ(cluster->state(), JobState::Cancelled);
  ASSERT_EQ(cluster->job().outputs.locations.size(), 2U);
  ASSERT_EQ(cluster->job().hot[0].phase, SubtaskPhase::Cancelled);
  cluster->come_back(1, {.jobs = {ClaimedJob{JobId{1}, {}, {{SubtaskIndex{0}, 0, 100}, {SubtaskIndex{1}, 0, 100}}}}});
  EXPECT_EQ(cluster->drops(), Lines{}) << "the client was sent there";
  cluster->client_says(release_of({range(0, 0)}));
  EXPECT_EQ(cluster->drops(), Lines{"0 at w1"});
  EXPECT_EQ(cluster->job().outputs.locations.size(), 1U);
  cluster->ignore();
}

TEST_F(Leftovers, DataOfASubtaskThatRunsElsewhereGoAtTheEndOfTheJob) {
  cluster.restart_for_claims();
  cluster->come_back(1, {.jobs = {claim(true, false)}});
  cluster->come_back(2, {.jobs = {claim(false, true)}});
  EXPECT_EQ(cluster->drops(), Lines{}) << "what waits there may read them";
  PENSTOCK_EXPECT_COVERAGE_MARK("a datum from before a restart is dropped at the end of its job",
                                cluster->succeed(1, 0, {{0, 100}}));
  EXPECT_EQ(cluster->drops(), Lines{"0 at w2"});
  cluster->ignore();
}

}  // namespace
}  // namespace penstock::supervisor
