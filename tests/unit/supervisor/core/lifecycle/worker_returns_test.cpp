// Workers outlive their supervisor; the next life goes on with what they hold.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

JobSpec named(const std::string& name, Keep keep = Keep::Nothing) {
  JobSpec spec;
  spec.name = name;
  spec.keep = keep;
  return spec;
}

ClaimedAttempt held(std::uint32_t subtask, ClaimedStage stage = ClaimedStage::Running, std::uint16_t attempt = 1) {
  return {SubtaskIndex{subtask}, Attempt{attempt}, BandIndex{0}, stage};
}

JobReports ended(std::uint32_t subtask, Outcome outcome = Outcome::Succeeded, std::vector<OutputReport> outputs = {}) {
  AttemptReport report;
  report.subtask = SubtaskIndex{subtask};
  report.attempt = Attempt{1};
  report.band = BandIndex{0};
  report.outcome = outcome;
  report.output_count = static_cast<std::uint16_t>(outputs.size());
  JobReports reports{JobId{1}, {report}, std::move(outputs), {}, {}};
  if (outcome == Outcome::Failed)
    reports.failures.push_back(FailureDetail{FailureClass::RunnerCrash, -1, 11, 0, {}, "", ""});
  return reports;
}

ClaimedJob of_job_1(std::vector<ClaimedAttempt> attempts, std::vector<ClaimedDatum> data = {}) {
  return {JobId{1}, std::move(attempts), std::move(data)};
}

/// A supervisor of two workers with one slot each that dies, with a job on its disk; the first has got what could run.
class ClaimsTest : public ::testing::Test {
 protected:
  void begin(const Graph& graph, JobSpec spec = named("one")) {
    cluster->join();
    cluster->submit(graph, std::move(spec));
    cluster.write_all();
    cluster->join();
    cluster.write_all();
  }
  void die() { cluster.restart_for_claims(); }
  std::string attempt_of(std::uint32_t subtask) {
    return to_string(Attempt{cluster->core().find_job(JobId{1})->hot[subtask].attempt});
  }
  /// The worker registers, and has not claimed yet.
  void begin_to_come_back(std::uint32_t worker) {
    Register half;
    half.name = "worker-" + std::to_string(worker);
    half.bands.resize(1);
    half.bands[0].capacity.slots = kOneSlot;
    half.reclaims = true;
    cluster->handle(supervisor_event::WorkerJoined{WorkerId{worker}, Incarnation{100 + worker}, half});
  }

  JournalHarness cluster{SupervisorConfig{.lookahead_subtasks_initial = 1}};
};

// Fault F05.
TEST_F(ClaimsTest, WhatRunsIsAdoptedAndNotGivenToOthers) {
  begin(GraphBuilder{}.sources(3).build());
  die();
  EXPECT_TRUE(cluster->core().reclaiming());
  cluster->come_back(1, {.jobs = {of_job_1({held(0)})}});
  EXPECT_EQ(cluster->assigned(), Lines{}) << "the other may hold what is left";
  cluster->come_back(2, {.jobs = {of_job_1({held(1, ClaimedStage::Queued)})}});
  EXPECT_FALSE(cluster->core().reclaiming());
  EXPECT_EQ(cluster->assigned(), Lines{"2 to w2"});
  EXPECT_EQ(cluster->core().counters().adopted, 2U);
  cluster->succeed(1, 0);
  cluster->succeed(2, 1);
  cluster->succeed(2, 2);
  cluster.write_all();
  EXPECT_EQ(cluster->state(), JobState::Succeeded);
  cluster->ignore();
}

TEST_F(ClaimsTest, ASuccessThatWasNotWrittenIsToldOnceAndDoesNotRunAgain) {
  begin(GraphBuilder{}.chain(2).build());
  cluster->succeed(1, 0);
  die();
  cluster->come_back(2, {});
  cluster->come_back(1, {.reports = {ended(0)}, .jobs = {of_job_1({held(1)})}});
  cluster->client_says(AttachJob{1, JobSelector{JobId{1}, ""}});
  cluster->succeed(1, 1);
  cluster.write_all();
  std::uint64_t told = 0;
  for (const JobProgress& news : cluster->news())
    for (const SubtaskRange& range : news.succeeded) told += range.last.value() - range.first.value() + 1;
  EXPECT_EQ(told, 2U);
  EXPECT_EQ(cluster->assigned(), Lines{});
  EXPECT_EQ(cluster->state(), JobState::Succeeded);
  cluster->ignore();
}

TEST_F(ClaimsTest, AFailureThatWasWrittenIsNotChargedAgain) {
  begin(GraphBuilder{}.sources(1).build());
  cluster->fail(1, 0, FailureClass::RunnerCrash);
  cluster.write_all();
  die();
  cluster->come_back(2, {});
  PENSTOCK_EXPECT_COVERAGE_MARK("an attempt that has failed is claimed",
                                cluster->come_back(1, {.reports = {ended(0, Outcome::Failed)}}));
  ASSERT_NE(cluster->job().extras.histories->find(SubtaskIndex{0}), nullptr);
  EXPECT_EQ(cluster->job().extras.histories->find(SubtaskIndex{0})->charged, 1U);
  cluster->assigned();
  cluster->ignore();
}

TEST_F(ClaimsTest, AFailureThatWasNotWrittenIsChargedWhenItIsReportedAgain) {
  begin(GraphBuilder{}.sources(1).build());
  cluster->fail(1, 0, FailureClass::RunnerCrash);
  die();
  cluster->come_back(2, {});
  cluster->come_back(1, {.reports = {ended(0, Outcome::Failed)}});
  ASSERT_NE(cluster->job().extras.histories->find(SubtaskIndex{0}), nullptr);
  EXPECT_EQ(cluster->job().extras.histories->find(SubtaskIndex{0})->charged, 1U);
  cluster->assigned();
  cluster->ignore();
}

TEST_F(ClaimsTest, WhoComesBackHearsThePriorityThatItMayHaveMissed) {
  begin(GraphBuilder{}.sources(1).build());
  cluster->client_says(AdminRequest{1, "priority", {"one", "7", "--subtask=0"}});
  cluster.write_all();
  die();
  cluster->come_back(2, {});
  cluster->come_back(1, {.jobs = {of_job_1({held(0, ClaimedStage::Queued)})}});
  const auto told = cluster->take<PriorityBatch>();
  ASSERT_EQ(told.size(), 1U);
  ASSERT_EQ(told[0].second.changes.size(), 1U);
  EXPECT_EQ(told[0].second.changes[0].priority, cluster->job().worker_priority(0));
  cluster->ignore();
}

TEST_F(ClaimsTest, WhatCannotBeHeldByAnyoneIsGivenOutAtOnce) {
  begin(GraphBuilder{}.sources(1).build());
  die();
  cluster->come_back(1, {.jobs = {of_job_1({held(0)})}});
  cluster->submit(GraphBuilder{}.sources(1).build(), named("two"));
  cluster.write_one();
  EXPECT_EQ(cluster->assigned(), Lines{"2:0 to w1"});
  cluster->ignore();
}

TEST_F(ClaimsTest, WhoDoesNotComeBackInTimeIsNotWaitedForAndFencedForLaterLives) {
  begin(GraphBuilder{}.sources(2).build());
  die();
  cluster->come_back(1, {.jobs = {of_job_1({held(0)})}});
  cluster->tick_at_deadline();
  EXPECT_EQ(cluster->assigned(), Lines{}) << "the next life may take the other back";
  PENSTOCK_EXPECT_COVERAGE_MARK("a worker did not come back", cluster.write_all());
  EXPECT_EQ(cluster->alerts().size(), 1U);
  EXPECT_EQ(cluster->assigned(), Lines{"1 to w1"});
  ASSERT_EQ(cluster.log().state().workers.size(), 1U);
  EXPECT_EQ(cluster.log().state().workers[0].worker, WorkerId{1});
  cluster->ignore();
}

TEST_F(ClaimsTest, WhoComesLateKeepsWhatNobodyElseHasAndTheRestIsFenced) {
  begin(GraphBuilder{}.sources(5).build());
  die();
  cluster->come_back(1, {});
  cluster->tick_at_deadline();
  cluster.write_all();
  cluster->alerts();
  const Lines given = cluster->assigned();
  ASSERT_EQ(given.front(), "0 to w1");
  ASSERT_EQ(std::count(given.begin(), given.end(), "4 to w1"), 0) << "a lookahead of three";
  PENSTOCK_EXPECT_COVERAGE_MARK("a worker came back late",
                                cluster->come_back(2, {.jobs = {of_job_1({held(0), held(4)})}}));
  const auto cancels = cluster->take<CancelBatch>();
  ASSERT_EQ(cancels.size(), 1U);
  EXPECT_EQ(cancels[0].first, WorkerId{2});
  EXPECT_TRUE(cancels[0].second.alone);
  EXPECT_EQ(cancels[0].second.attempts, (std::vector<AttemptRef>{{SubtaskIndex{0}, Attempt{1}}}));
  cluster->succeed(2, 4);
  EXPECT_EQ(cluster->phase(4), SubtaskPhase::Succeeded);
  cluster->say(2, 0, Outcome::Cancelled);
  EXPECT_EQ(cluster->phase(0), SubtaskPhase::Assigned) << "the word of a fenced attempt counts for nothing";
  cluster->ignore();
}

TEST_F(ClaimsTest, AttemptsOfALaterTermAreLargerThanAllBefore) {
  begin(GraphBuilder{}.sources(1).build());
  die();
  cluster->come_back(1, {.jobs = {of_job_1({held(0, ClaimedStage::Running, 1)})}});
  PENSTOCK_EXPECT_COVERAGE_MARK("an attempt from before a restart is fenced",
                                cluster->come_back(2, {.jobs = {of_job_1({held(0, ClaimedStage::Running, 5)})}}));
  cluster->take<CancelBatch>();
  cluster->lose(1);
  cluster.write_all();
  EXPECT_EQ(attempt_of(0), "2.1");
  cluster->ignore();
}

TEST_F(ClaimsTest, AnAttemptThatGaveWayToAnEarlierOneKeepsItsNumberForItself) {
  begin(GraphBuilder{}.chain(2).build());
  die();
  cluster->come_back(1, {});
  cluster->tick_at_deadline();
  cluster.write_all();
  cluster->alerts();
  ASSERT_EQ(attempt_of(0), "2.1");
  cluster->ignore();
  PENSTOCK_EXPECT_COVERAGE_MARK("an attempt took the place of a later one",
                                cluster->come_back(2, {.reports = {ended(0, Outcome::Succeeded, {{0, 100}})}}));
  cluster->ignore();
  cluster->lose(2);  // With what the earlier one has made.
  cluster.write_all();
  EXPECT_EQ(attempt_of(0), "2.2");
  cluster->ignore();
}

// Issue 21, point 2: numbers of jobs are used again in a state that was put back.
class OtherJobTest : public ClaimsTest {
 protected:
  OtherJobTest() { cluster->next_identity = kOurs; }
  static constexpr JobIdentity kOurs{1, 2};
  static constexpr JobIdentity kOther{3, 4};
};

TEST_F(OtherJobTest, AWorkerThatClaimsAnotherJobOfThatNumberBeginsAfresh) {
  begin(GraphBuilder{}.chain(2).build());
  die();
  ClaimedJob other = of_job_1({held(0)}, {{SubtaskIndex{1}, 0, 100}});
  other.identity = kOther;
  PENSTOCK_EXPECT_COVERAGE_MARK("a worker means another job of that number",
                                cluster->come_back(1, {.jobs = {std::move(other)}}));
  EXPECT_EQ(cluster->core().counters().adopted, 0U);
  EXPECT_EQ(cluster->core().counters().other_jobs, 1U);
  EXPECT_EQ(cluster->core().counters().workers_lost, 1U);
  EXPECT_NE(cluster->phase(0), SubtaskPhase::Assigned);
  cluster->ignore();
}

TEST_F(OtherJobTest, ASuccessOfAnotherJobOfThatNumberCountsForNothing) {
  begin(GraphBuilder{}.chain(2).build());
  die();
  JobReports other = ended(0);
  other.identity = kOther;
  cluster->come_back(1, {.reports = {std::move(other)}});
  EXPECT_NE(cluster->phase(0), SubtaskPhase::Succeeded);
  EXPECT_EQ(cluster->core().counters().other_jobs, 1U);
  cluster->ignore();
}

TEST_F(OtherJobTest, AWorkerThatClaimsTheSameJobKeepsIt) {
  begin(GraphBuilder{}.chain(2).build());
  die();
  ClaimedJob same = of_job_1({held(0)});
  same.identity = kOurs;
  cluster->come_back(1, {.jobs = {std::move(same)}});
  EXPECT_EQ(cluster->core().counters().adopted, 1U);
  cluster->ignore();
}

TEST_F(OtherJobTest, AClientThatMeansAnotherJobNeitherFollowsNorReleasesThisOne) {
  begin(GraphBuilder{}.sources(1).build(), named("one", Keep::Sinks));
  cluster->succeed(1, 0, {{0, 100}});
  cluster.write_all();
  cluster->ignore();
  PENSTOCK_EXPECT_COVERAGE_MARK("a client means another job of that number",
                                cluster->client_says(AttachJob{7, {JobId{1}, {}}, kOther}, ClientId{2}));
  const auto replies = cluster->take_for<AttachReply>(ClientId{2});
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_FALSE(replies[0].job.valid());
  EXPECT_EQ(replies[0].refusal.code, ErrorCode::NotFound);
  cluster->client_says(ReleaseJob{JobId{1}, kOther});
  EXPECT_FALSE(cluster->core().find_job(JobId{1})->outputs.locations.empty());
  cluster->client_says(AttachJob{8, {JobId{1}, {}}, kOurs}, ClientId{2});
  const auto again = cluster->take_for<AttachReply>(ClientId{2});
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].job, JobId{1});
  EXPECT_EQ(again[0].identity, kOurs);
  cluster->ignore();
}

TEST_F(ClaimsTest, ASuccessWinsOverWhatStillRunsElsewhere) {
  begin(GraphBuilder{}.chain(2).build());
  die();
  cluster->come_back(1, {.jobs = {of_job_1({held(0)})}});
  PENSTOCK_EXPECT_COVERAGE_MARK("a success was claimed of a subtask that runs elsewhere",
                                cluster->come_back(2, {.reports = {ended(0)}}));
  EXPECT_EQ(cluster->phase(0), SubtaskPhase::Succeeded);
  EXPECT_EQ(cluster->cancels(), Lines{"0 at w1"});
  cluster->ignore();
}

TEST_F(ClaimsTest, DataThatAreStillThereAreNotMadeAgain) {
  begin(GraphBuilder{}.chain(2).build());
  cluster->succeed(1, 0, {{0, 100}});
  cluster.write_all();
  die();
  cluster->come_back(2, {});
  cluster->come_back(1, {.jobs = {of_job_1({}, {{SubtaskIndex{0}, 0, 100}})}});
  EXPECT_EQ(cluster->core().counters().recomputed, 0U);
  EXPECT_EQ(cluster->assigned(), Lines{"1 to w1"});
  cluster->ignore();
}

// Its band seemed to have stood still since the clock began: what this life gave to it was moved, whatever that costs.
TEST_F(ClaimsTest, WhatIsGivenOutBesideItsInputsStaysThereAfterARestart) {
  constexpr std::int64_t kLarge = std::int64_t{50} << 30;
  begin(GraphBuilder{}.add().add({0}).add({0}).add({0}).build());
  cluster->succeed(1, 0, {{0, kLarge}});
  cluster.write_all();
  die();
  cluster->come_back(1, {.jobs = {of_job_1({held(1)}, {{SubtaskIndex{0}, 0, kLarge}})}});
  cluster->come_back(2, {});
  EXPECT_EQ(cluster->assigned(), (Lines{"2 to w1", "3 to w1"})) << "like sources they would be on both";
  cluster->tick_after(std::chrono::seconds{1});
  EXPECT_EQ(cluster->steals(), Lines{});
  cluster->ignore();
}

TEST_F(ClaimsTest, DataThatNobodyNeedsAreDropped) {
  begin(GraphBuilder{}.chain(2).sources(1).build());
  cluster->succeed(1, 0, {{0, 100}});
  cluster->succeed(1, 1);
  cluster.write_all();
  die();
  cluster->come_back(1, {.jobs = {of_job_1({}, {{SubtaskIndex{0}, 0, 100}})}});
  EXPECT_EQ(cluster->drops(), Lines{"0 at w1"});
  cluster->ignore();
}

TEST_F(ClaimsTest, LostDataAreMadeAgainOnceAllAreBack) {
  begin(GraphBuilder{}.chain(2).build());
  cluster->succeed(1, 0, {{0, 100}});
  cluster.write_all();
  die();
  cluster->come_back(2, {});
  EXPECT_EQ(cluster->assigned(), Lines{});
  cluster->come_back(1, {});
  EXPECT_EQ(cluster->core().counters().recomputed, 1U);
  EXPECT_FALSE(cluster->assigned().empty());
  cluster->ignore();
}

TEST_F(ClaimsTest, WhatWaitsAtAWorkerHearsAgainWhatHasFinished) {
  begin(GraphBuilder{}.chain(2).build());
  cluster->succeed(1, 0);
  cluster.write_all();
  cluster->ignore();
  die();
  cluster->come_back(1, {});
  EXPECT_TRUE(cluster->take<InputNoticeBatch>().empty());
  cluster->come_back(2, {.jobs = {of_job_1({held(1, ClaimedStage::Waiting)})}});
  const auto notices = cluster->take<InputNoticeBatch>();
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].first, WorkerId{2});
  EXPECT_EQ(notices[0].second.notices.at(0).producer, SubtaskIndex{0});
  cluster->ignore();
}

// Found by the simulator: an output that was only to be waited for has been dropped since.
TEST_F(ClaimsTest, WhatWaitsWithoutReadingHearsAlsoOfWhatWasDropped) {
  GraphBuilder builder;
  builder.add().add({0}).add({GraphBuilder::order(0)});
  begin(builder.build());
  cluster->succeed(1, 0, {{0, 100}});
  cluster->succeed(1, 1);
  cluster.write_all();
  cluster->ignore();
  die();
  cluster->come_back(1, {});
  cluster->come_back(2, {.jobs = {of_job_1({held(2, ClaimedStage::Waiting)})}});
  const auto notices = cluster->take<InputNoticeBatch>();
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].second.notices.at(0), (InputNotice{SubtaskIndex{0}, 0, WorkerId::none(), 100}))
      << "somebody else there may want to read it: it is lost, not empty";
  EXPECT_EQ(cluster->core().counters().recomputed, 0U);
  cluster->ignore();
}

TEST_F(ClaimsTest, AFailureThatWasNotWrittenCounts) {
  begin(GraphBuilder{}.sources(1).build());
  die();
  cluster->come_back(2, {});
  cluster->come_back(1, {.reports = {ended(0, Outcome::Failed)}});
  EXPECT_EQ(cluster->core().counters().failed_attempts, 1U);
  EXPECT_EQ(cluster->assigned(), Lines{"0 to w1"});
  cluster->ignore();
}

// Found by the simulator (seed 141): the cancel of its successors, of which there are none, was kept as one of the job.
TEST_F(ClaimsTest, AFailureWithoutSuccessorsCancelsNothingElse) {
  GraphBuilder graph;
  graph.sources(3);
  graph.template_at(0).on_failure = OnFailure::Continue;
  graph.template_at(0).attempts_max = 1;
  begin(graph.build());
  die();
  cluster->come_back(1, {.reports = {ended(0, Outcome::Failed)}});
  EXPECT_EQ(cluster->phase(0), SubtaskPhase::Failed);
  cluster->come_back(2, {});
  EXPECT_EQ(cluster->cancels(), Lines{});
  EXPECT_EQ(cluster->assigned(), (Lines{"2 to w2", "1 to w1"}));
  cluster->ignore();
}

TEST_F(ClaimsTest, ACancelThatWasNotWrittenIsUndone) {
  begin(GraphBuilder{}.sources(1).build());
  die();
  cluster->come_back(2, {});
  PENSTOCK_EXPECT_COVERAGE_MARK("a cancel that was not written is undone",
                                cluster->come_back(1, {.reports = {ended(0, Outcome::Cancelled)}}));
  EXPECT_FALSE(cluster->assigned().empty()) << "it runs again";
  cluster->ignore();
}

// Found by the simulator (seed 5106389): an older attempt of the same subtask came back first, with its end, and the
// cancel was told while a later attempt was still to come.
TEST_F(ClaimsTest, NoCancelIsToldOfWhatAnotherWorkerMayBeRunning) {
  for (const Outcome outcome : {Outcome::Cancelled, Outcome::Returned, Outcome::Failed}) {
    JournalHarness restarted{SupervisorConfig{.lookahead_subtasks_initial = 1}};
    restarted->join();
    restarted->submit(GraphBuilder{}.sources(2).build(), named("one"));
    restarted.write_all();
    restarted->join();
    restarted.write_all();
    restarted.restart_for_claims();
    restarted->client_says(AdminRequest{1, "cancel", {"one"}});
    restarted->come_back(1, {.reports = {ended(0, outcome)}});
    restarted.write_all();
    EXPECT_EQ(restarted->phase(0), SubtaskPhase::Waiting) << "though its end was cancelled";
    restarted->come_back(2, {.jobs = {of_job_1({held(0, ClaimedStage::Queued, 2)})}});
    restarted.write_all();
    EXPECT_EQ(restarted->phase(0), SubtaskPhase::Assigned) << "until its worker says that it has ended";
    EXPECT_EQ(restarted->phase(1), SubtaskPhase::Cancelled);
    EXPECT_EQ(restarted->cancels(), Lines{"all at w2"});
    restarted->say(2, 0, Outcome::Cancelled);
    restarted.write_all();
    EXPECT_EQ(restarted->state(), JobState::Cancelled);
    restarted->ignore();
  }
}

TEST_F(ClaimsTest, ACancelWaitsForThoseWhoMayBeRunningIt) {
  begin(GraphBuilder{}.sources(3).build());
  die();
  cluster->client_says(AdminRequest{1, "cancel", {"one", "2"}});
  cluster->client_says(AdminRequest{2, "cancel", {"one"}});
  cluster.write_all();
  EXPECT_EQ(cluster->state(), JobState::Running);
  cluster->come_back(1, {.jobs = {of_job_1({held(0)})}});
  PENSTOCK_EXPECT_COVERAGE_MARK("a cancel waited for workers to come back", cluster->come_back(2, {}));
  EXPECT_EQ(cluster->cancels(), Lines{"all at w1"});
  EXPECT_EQ(cluster->phase(2), SubtaskPhase::Cancelled);
  cluster->say(1, 0, Outcome::Cancelled);
  cluster.write_all();
  EXPECT_EQ(cluster->state(), JobState::Cancelled);
  cluster->ignore();
}

TEST_F(ClaimsTest, OfAJobThatHasEndedEverythingIsForgotten) {
  begin(GraphBuilder{}.sources(1).build());
  cluster->succeed(1, 0);
  cluster.write_all();
  die();
  cluster->come_back(1, {.jobs = {of_job_1({held(0)}), {JobId{77}, {}, {}}}});
  const auto forgotten = cluster->take<ForgetJob>();
  ASSERT_EQ(forgotten.size(), 2U);
  EXPECT_EQ(forgotten[1].second.job, JobId{77});
  cluster->ignore();
}

TEST_F(ClaimsTest, KeptOutputsOfAnEndedJobStayUntilItIsReleased) {
  begin(GraphBuilder{}.sources(1).build(), named("one", Keep::Sinks));
  cluster->succeed(1, 0, {{0, 100}});
  cluster.write_all();
  cluster->ignore();
  die();
  cluster->come_back(1, {.jobs = {of_job_1({}, {{SubtaskIndex{0}, 0, 100}})}});
  EXPECT_TRUE(cluster->take<ForgetJob>().empty());
  cluster->client_says(ReleaseJob{JobId{1}});
  EXPECT_EQ(cluster->take<ForgetJob>().size(), 1U);
  cluster->ignore();
}

TEST_F(ClaimsTest, AWorkerThatNobodyExpectsBeginsAnew) {
  begin(GraphBuilder{}.sources(1).build());
  cluster->lose(2);
  cluster.write_all();
  die();
  PENSTOCK_EXPECT_COVERAGE_MARK("an unexpected worker claims its work",
                                cluster->come_back(2, {.jobs = {of_job_1({held(0)})}}));
  EXPECT_EQ(cluster->core().workers().alive_workers(), 0U);
  cluster->come_back(1, {});
  EXPECT_EQ(cluster->assigned(), Lines{"0 to w1"});
  cluster->ignore();
}

// Found by seeds 304917 and 5119063 of the simulator.
TEST_F(ClaimsTest, AWorkerWhoseLossWasNotWrittenIsTakenBackAndNothingRunsBesideIt) {
  begin(GraphBuilder{}.sources(1).build());
  ASSERT_EQ(cluster->assigned(), Lines{"0 to w1"});
  cluster->lose(1);
  cluster->tick_after(std::chrono::seconds{1});
  EXPECT_EQ(cluster->assigned(), Lines{}) << "the next life may take it back";
  die();
  cluster->come_back(1, {.jobs = {of_job_1({held(0)})}});
  cluster->come_back(2, {});
  EXPECT_EQ(cluster->core().counters().adopted, 1U);
  cluster->succeed(1, 0);
  cluster.write_all();
  EXPECT_EQ(cluster->state(), JobState::Succeeded);
  EXPECT_EQ(cluster->assigned(), Lines{});
  cluster->ignore();
}

// Found by seed 20020472 of the simulator: the disk was full when the time of the absent ones was over.
TEST_F(ClaimsTest, AWorkerWhoseAbsenceWasNotWrittenIsTakenBackAndNothingRunsBesideIt) {
  begin(GraphBuilder{}.sources(1).build());
  ASSERT_EQ(cluster->assigned(), Lines{"0 to w1"});
  die();
  cluster->come_back(2, {});
  cluster->tick_at_deadline();
  cluster->tick_after(std::chrono::seconds{1});
  EXPECT_EQ(cluster->assigned(), Lines{}) << "the next life may take it back";
  cluster->come_back(1, {.jobs = {of_job_1({held(0)})}});
  EXPECT_FALSE(cluster->core().reclaiming());
  EXPECT_EQ(cluster->core().counters().adopted, 1U);
  cluster.write_all();
  EXPECT_EQ(cluster.log().state().workers.size(), 2U) << "it was written to be gone, and to be back";
  die();
  cluster->come_back(1, {.jobs = {of_job_1({held(0)})}});
  cluster->come_back(2, {});
  cluster->succeed(1, 0);
  cluster.write_all();
  EXPECT_EQ(cluster->state(), JobState::Succeeded);
  EXPECT_EQ(cluster->assigned(), Lines{});
  cluster->ignore();
}

TEST_F(ClaimsTest, ADrainThatWasAnsweredStandsEvenIfItsWorkerHasNotHeardOfIt) {
  begin(GraphBuilder{}.sources(3).build());
  cluster->client_says(AdminRequest{1, "drain", {"worker-2"}, ""});
  cluster.write_all();
  die();
  cluster->come_back(1, {.jobs = {of_job_1({held(0)})}});
  PENSTOCK_EXPECT_COVERAGE_MARK("a drain that was ordered had not reached its worker", cluster->come_back(2, {}));
  EXPECT_TRUE(cluster->core().workers()[WorkerSlot{1}].draining);
  EXPECT_EQ(cluster->take<Drain>(), (std::vector<std::pair<WorkerId, Drain>>{{WorkerId{2}, Drain{true}}}));
  EXPECT_EQ(cluster->assigned(), (Lines{"1 to w1", "2 to w1"})) << "the drained one has room";
  cluster->ignore();
}

TEST_F(ClaimsTest, AnUndrainThatWasAnsweredStandsEvenIfItsWorkerHasNotHeardOfIt) {
  begin(GraphBuilder{}.sources(3).build());
  cluster->client_says(AdminRequest{1, "drain", {"worker-2"}, ""});
  cluster->client_says(AdminRequest{2, "undrain", {"worker-2"}, ""});
  cluster.write_all();
  die();
  cluster->come_back(2, {.draining = true});
  EXPECT_FALSE(cluster->core().workers()[WorkerSlot{0}].draining);
  EXPECT_EQ(cluster->take<Drain>(), (std::vector<std::pair<WorkerId, Drain>>{{WorkerId{2}, Drain{false}}}));
  cluster->ignore();
}

TEST_F(ClaimsTest, AWorkerThatDrainsGoesOnDraining) {
  begin(GraphBuilder{}.sources(1).build());
  die();
  cluster->come_back(2, {.draining = true});
  cluster->come_back(1, {});
  EXPECT_EQ(cluster->assigned(), Lines{"0 to w1"});
  EXPECT_TRUE(cluster->core().workers()[WorkerSlot{0}].draining);
  cluster->ignore();
}

// Only the worker knows of a drain that an older version did not write down.
TEST_F(ClaimsTest, ADrainThatOnlyTheWorkerTellsOfIsPassedOnAfterAnOperatorsCrash) {
  begin(GraphBuilder{}.sources(1).build());
  die();
  cluster->come_back(1, {});
  cluster->come_back(2, {.draining = true});
  cluster->ignore();
  WorkerSpec next;
  next.crash = OperatorCrash{Incarnation{102}, {JobId{1}, SubtaskIndex{0}}, Attempt{1}, 11, "operator crashed"};
  cluster->join(next);
  EXPECT_EQ(cluster->take<Drain>().size(), 1U);
  cluster->ignore();
}

TEST_F(ClaimsTest, AWorkerThatIsLostWhileItClaimsIsNotWaitedFor) {
  begin(GraphBuilder{}.sources(1).build());
  die();
  cluster->come_back(1, {});
  begin_to_come_back(2);
  PENSTOCK_EXPECT_COVERAGE_MARK("a claim takes long", cluster->tick_after(std::chrono::seconds{6}));
  EXPECT_TRUE(cluster->core().reclaiming());
  cluster->lose(2);
  cluster.write_all();
  EXPECT_FALSE(cluster->core().reclaiming());
  EXPECT_EQ(cluster->assigned(), Lines{"0 to w1"});
  cluster->ignore();
}

// Found by seed 671 of the simulator.
TEST_F(ClaimsTest, AnOrderAboutDrainingOpensNoWorkerThatClaims) {
  begin(GraphBuilder{}.sources(3).build());
  die();
  cluster->come_back(2, {});
  cluster->ignore();
  begin_to_come_back(1);
  cluster->client_says(AdminRequest{1, "undrain", {"worker-1"}}, ClientId{99});
  cluster.write_all();
  cluster->submit(GraphBuilder{}.sources(3).build(), named("two"));
  cluster.write_all();
  for (const std::string& line : cluster->assigned()) EXPECT_EQ(line.find("to w1"), std::string::npos) << line;
  cluster->ignore();
}

// Found by a trial: what an earlier life had queued at a busy worker stayed there beside an idle one.
TEST_F(ClaimsTest, WhatIsQueuedAtABusyWorkerIsAskedBackForAnIdleOne) {
  begin(GraphBuilder{}.sources(3).build());
  die();
  cluster->come_back(2, {});
  const ClaimedAttempt first = held(1, ClaimedStage::Queued), second = held(2, ClaimedStage::Queued);
  cluster->come_back(1, {.jobs = {of_job_1({second, first, held(0)})}});
  cluster->tick_after(std::chrono::seconds{1});
  EXPECT_EQ(cluster->steals(), Lines{"2 at w1"}) << "workers claim their latest first; that would run last";
  cluster->say(1, 2, Outcome::Returned);
  EXPECT_EQ(cluster->assigned(), Lines{"2 to w2"});
  cluster->succeed(2, 2);
  cluster->tick_after(std::chrono::seconds{1});
  EXPECT_EQ(cluster->steals(), Lines{"1 at w1"});
  cluster->ignore();
}

TEST_F(ClaimsTest, ARunAndWhatWaitsForItsProducersAreNotAskedBack) {
  begin(GraphBuilder{}.chain(3).build());
  die();
  cluster->come_back(2, {});
  cluster->come_back(1,
                     {.jobs = {of_job_1({held(2, ClaimedStage::Waiting), held(1, ClaimedStage::Waiting), held(0)})}});
  cluster->tick_after(std::chrono::seconds{10});
  EXPECT_EQ(cluster->steals(), Lines{});
  cluster->ignore();
}

TEST_F(ClaimsTest, NothingIsAskedBackBeforeItCouldBeGivenToOthers) {
  begin(GraphBuilder{}.sources(3).build());
  die();
  cluster->come_back(1, {.jobs = {of_job_1({held(2, ClaimedStage::Queued), held(1, ClaimedStage::Queued), held(0)})}});
  cluster->join();
  cluster->tick_after(std::chrono::seconds{1});
  EXPECT_TRUE(cluster->core().reclaiming());
  EXPECT_EQ(cluster->steals(), Lines{});
  cluster->come_back(2, {});
  cluster->tick_after(std::chrono::seconds{1});
  EXPECT_EQ(cluster->steals(), (Lines{"2 at w1", "1 at w1"})) << "both others are idle";
  cluster->ignore();
}

TEST(PolicedClaims, WhatMayNotRunWhereItWaitsComesBackForSlotsElsewhere) {
  JournalHarness cluster{policed("fair_share_max_min")};
  cluster->join({.slots = 2});
  cluster->submit(GraphBuilder{}.sources(4).build(), named("one"));
  run_passes(cluster);
  cluster.restart_for_claims();
  const ClaimedAttempt first = held(2, ClaimedStage::Queued), second = held(3, ClaimedStage::Queued);
  cluster->come_back(1, {.jobs = {of_job_1({second, first, held(1), held(0)})}, .spec = {.slots = 2}});
  cluster->join({.slots = 2});
  run_passes(cluster);
  Lines asked = cluster->steals();
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, (Lines{"2 at w1", "3 at w1"}));
  cluster->ignore();
}

TEST_F(ClaimsTest, LiesOfAWorkerChangeNothing) {
  begin(GraphBuilder{}.sources(1).build());
  die();
  ClaimedAttempt no_band = held(0);
  no_band.band = BandIndex{7};
  cluster->come_back(1, {.reports = {ended(99)},
                         .jobs = {of_job_1({held(99), no_band, {SubtaskIndex{0}, Attempt{}, BandIndex{0}, {}}},
                                           {{SubtaskIndex{99}, 0, 1}, {SubtaskIndex{0}, 900, 1}})}});
  EXPECT_EQ(cluster->core().counters().adopted, 0U);
  cluster->ignore();
}

}  // namespace
}  // namespace penstock::supervisor
