// The oracle notices what it is there for: each rule is broken once.
#include "tests/simulation/world/oracle.hpp"

#include <gtest/gtest.h>

#include "tests/simulation/world/options.hpp"
#include "tests/support/graph_builder.hpp"

namespace penstock::simulation {
namespace {

constexpr JobId kJob{1};
constexpr Oracle::Life kFirst = 1;
constexpr Oracle::Life kSecond = 2;

SubtaskId subtask(std::uint32_t index) { return {kJob, SubtaskIndex{index}}; }
constexpr DataKey kDatum{{kJob, SubtaskIndex{0}}, 0};
constexpr DataKey kEmpty{{kJob, SubtaskIndex{0}}, 1};

class OracleTest : public ::testing::Test {
 protected:
  OracleTest() { oracle.job_accepted(kJob, std::make_shared<const Graph>(GraphBuilder{}.chain(2).build())); }

  void run(std::uint32_t index, Oracle::Life life = kFirst) {
    oracle.run_started(life, subtask(index), Attempt{1});
    oracle.run_ended(life, subtask(index), true);
  }
  static JobProgress succeeded(std::uint32_t first, std::uint32_t last, JobState state = JobState::Running) {
    JobProgress progress;
    progress.job = kJob;
    progress.state = state;
    progress.counts.succeeded = last + 1;
    progress.succeeded = {{SubtaskIndex{first}, SubtaskIndex{last}}};
    return progress;
  }
  bool says(const std::string& part) const { return oracle.failure().find(part) != std::string::npos; }

  Oracle oracle;
};

TEST_F(OracleTest, AGoodRunIsNoBreach) {
  run(0);
  run(1);
  oracle.client_told(succeeded(0, 1, JobState::Succeeded));
  oracle.at_rest();
  EXPECT_EQ(oracle.failure(), "");
  EXPECT_TRUE(oracle.all_jobs_ended());
}

TEST_F(OracleTest, ARunBeforeItsPredecessorIsABreach) {
  run(1);
  EXPECT_TRUE(says("1:1#1 runs before its predecessor 0")) << oracle.failure();
}

TEST_F(OracleTest, AnInputThatIsReadAsItWasMadeIsNoBreach) {
  const Content made{Bytes{50}, 7};
  oracle.output_made(kDatum, made);
  oracle.output_made(kDatum, made);
  oracle.input_read(subtask(1), Attempt{1}, kDatum, &made);
  oracle.input_read(subtask(1), Attempt{1}, kEmpty, nullptr);
  EXPECT_EQ(oracle.failure(), "");
}

TEST_F(OracleTest, AnInputThatIsReadAsEmptyThoughItWasMadeIsABreach) {
  oracle.output_made(kDatum, {Bytes{50}, 7});
  oracle.input_read(subtask(1), Attempt{1}, kDatum, nullptr);
  EXPECT_TRUE(says("1:1#1 reads 1:0.0 with 0 bytes, and its producer has made 50")) << oracle.failure();
}

TEST_F(OracleTest, AnInputOfAnotherSizeOrWithOtherBytesIsABreach) {
  const Content other_bytes{Bytes{50}, 8};
  const Content shorter{Bytes{49}, 7};
  for (const Content* read : {&other_bytes, &shorter}) {
    Oracle strict;
    strict.output_made(kDatum, {Bytes{50}, 7});
    strict.input_read(subtask(1), Attempt{1}, kDatum, read);
    EXPECT_NE(strict.failure(), "");
  }
}

TEST_F(OracleTest, AnInputThatNobodyHasMadeIsABreach) {
  const Content invented{Bytes{50}, 7};
  oracle.input_read(subtask(1), Attempt{1}, kEmpty, &invented);
  EXPECT_TRUE(says("its producer has made 0")) << oracle.failure();
}

TEST_F(OracleTest, AnOutputThatIsMadeOtherwiseTheSecondTimeIsABreach) {
  oracle.output_made(kDatum, {Bytes{50}, 7});
  oracle.output_made(kDatum, {Bytes{50}, 8});
  EXPECT_TRUE(says("1:0.0 is not made again as it was made before")) << oracle.failure();
}

TEST_F(OracleTest, AResultOfAnotherSizeThanWasMadeIsABreach) {
  run(0);
  oracle.output_made(kDatum, {Bytes{50}, 7});
  JobProgress progress = succeeded(0, 0);
  progress.outputs = {{SubtaskIndex{0}, 0, 49, {}}};
  oracle.client_told(progress);
  EXPECT_TRUE(says("told of 49 bytes of 1:0.0")) << oracle.failure();
}

TEST_F(OracleTest, AFailedPredecessorHasNotRun) {
  oracle.run_started(kFirst, subtask(0), Attempt{1});
  oracle.run_ended(kFirst, subtask(0), false);
  run(1);
  EXPECT_TRUE(says("before its predecessor")) << oracle.failure();
}

TEST_F(OracleTest, AFailureThatWasWrittenAndIsForgottenIsABreach) {
  oracle.failures_written(subtask(0), Attempt{1}, 1);
  oracle.failures_written(subtask(0), Attempt{3}, 2);
  EXPECT_EQ(oracle.failure(), "");
  oracle.failures_written(subtask(0), Attempt{4}, 1);
  EXPECT_TRUE(says("is forgotten")) << oracle.failure();
}

TEST_F(OracleTest, OneFailureThatIsChargedTwiceIsABreach) {
  oracle.failures_written(subtask(0), Attempt{1}, 1);
  oracle.failures_written(subtask(0), Attempt{1}, 2);
  EXPECT_TRUE(says("charged twice")) << oracle.failure();
}

TEST_F(OracleTest, WhatAnOperatorHasCancelledIsNotGivenOut) {
  oracle.assigned(subtask(0), Attempt{2});
  oracle.cancel_answered(subtask(0), false);
  EXPECT_EQ(oracle.failure(), "");
  oracle.assigned(subtask(0), Attempt{2});
  EXPECT_TRUE(says("told that it is cancelled")) << oracle.failure();
}

TEST_F(OracleTest, WhatStartsAfterItsCancelWasAnsweredIsABreachUnlessItsWorkerIsLost) {
  oracle.life_lost(kFirst);
  oracle.cancel_answered(subtask(0), true);
  oracle.run_started(kFirst, subtask(0), Attempt{1});
  EXPECT_EQ(oracle.failure(), "");
  oracle.run_started(kSecond, subtask(0), Attempt{2});
  EXPECT_TRUE(says("starts, though its cancel was answered")) << oracle.failure();
}

TEST_F(OracleTest, WhatHadSucceededBeforeItWasCancelledMayRunAgain) {
  run(0);
  oracle.cancel_answered(subtask(0), true);
  oracle.assigned(subtask(0), Attempt{2});
  EXPECT_EQ(oracle.failure(), "");
}

TEST_F(OracleTest, TwoLiveAttemptsAreABreach) {
  oracle.run_started(kFirst, subtask(0), Attempt{1});
  oracle.run_started(kSecond, subtask(0), Attempt{2});
  EXPECT_TRUE(says("runs while attempt 1 runs, too")) << oracle.failure();
}

TEST_F(OracleTest, WhatALostLifeStillRunsIsFenced) {
  oracle.run_started(kFirst, subtask(0), Attempt{1});
  oracle.life_lost(kFirst);
  oracle.run_started(kSecond, subtask(0), Attempt{2});
  EXPECT_EQ(oracle.failure(), "");
}

TEST_F(OracleTest, WhatMustNeverOverlapDoesNotBesideALostLifeEither) {
  Graph graph;
  graph.templates.resize(1);
  graph.templates[0].overlap = Overlap::Never;
  graph.template_of = {0};
  graph.input_offsets = {0, 0};
  oracle.job_accepted(JobId{9}, std::make_shared<const Graph>(graph));
  const SubtaskId alone{JobId{9}, SubtaskIndex{0}};
  oracle.run_started(kFirst, alone, Attempt{1});
  oracle.life_lost(kFirst);
  oracle.stood_still(kFirst);
  oracle.run_started(kSecond, alone, Attempt{2});
  EXPECT_EQ(oracle.failure(), "") << "nobody can kill it";
  oracle.run_ended(kFirst, alone, false);
  oracle.life_lost(kSecond);
  oracle.run_started(Oracle::Life{77}, alone, Attempt{3});
  EXPECT_TRUE(says("must never overlap")) << oracle.failure();
}

TEST_F(OracleTest, SuccessWithoutARunIsABreach) {
  oracle.client_told(succeeded(0, 0));
  EXPECT_TRUE(says("never ran")) << oracle.failure();
}

TEST_F(OracleTest, NewsToldTwiceAreABreach) {
  run(0);
  oracle.client_told(succeeded(0, 0));
  oracle.client_told(succeeded(0, 0));
  EXPECT_TRUE(says("1:0 is told twice")) << oracle.failure();
}

TEST_F(OracleTest, AnEndWithSubtasksUntoldIsABreach) {
  run(0);
  oracle.client_told(succeeded(0, 0, JobState::Succeeded));
  EXPECT_TRUE(says("only 1 of 2 subtasks were told")) << oracle.failure();
}

TEST_F(OracleTest, AStartAfterItsEndWasToldIsABreach) {
  JobProgress cancelled;
  cancelled.job = kJob;
  cancelled.cancelled = {{SubtaskIndex{0}, SubtaskIndex{0}}};
  oracle.client_told(cancelled);
  run(0);
  EXPECT_TRUE(says("starts after its end was told")) << oracle.failure();
}

TEST_F(OracleTest, WhatAReturnedLifeMayNotKeepMayStartUntilItHearsSo) {
  oracle.run_started(kFirst, subtask(0), Attempt{2});
  oracle.life_lost(kSecond);
  oracle.claim_refused(kSecond, subtask(0), Attempt{1});
  oracle.life_returned(kSecond, [](SubtaskId, Attempt) { return true; });
  oracle.run_started(kSecond, subtask(0), Attempt{1});
  EXPECT_EQ(oracle.failure(), "");
}

TEST_F(OracleTest, WhatAReturnedLifeKeepsIsCheckedLikeAnyOther) {
  oracle.run_started(kFirst, subtask(0), Attempt{2});
  oracle.life_lost(kSecond);
  oracle.claim_refused(kSecond, subtask(0), Attempt{1});
  oracle.life_returned(kSecond, [](SubtaskId, Attempt) { return true; });
  oracle.run_started(kSecond, subtask(0), Attempt{3});
  EXPECT_TRUE(says("runs while attempt 2 runs, too")) << oracle.failure();
}

// Seed 110000880: a supervisor heard the claims of a process that had just died, then died, too.
TEST_F(OracleTest, ClaimsOfAProcessThatIsGoneBringItNotBack) {
  run(0, kSecond);
  oracle.success_reported(kSecond, subtask(0), Attempt{1});
  oracle.life_ended(kSecond);
  oracle.life_returned(kSecond, [](SubtaskId, Attempt) { return true; });
  oracle.run_started(kFirst, subtask(0), Attempt{2}, false);
  EXPECT_EQ(oracle.failure(), "");
}

// Seed 7657: the subtask that a worker claimed had gone to another by then, and its success came behind the claim.
TEST_F(OracleTest, ASuccessBehindAClaimIsRefusedWithIt) {
  oracle.run_started(kFirst, subtask(0), Attempt{1});
  oracle.run_ended(kFirst, subtask(0), true);
  oracle.success_reported(kFirst, subtask(0), Attempt{1});
  oracle.claim_refused(kFirst, subtask(0), Attempt{1});
  oracle.run_started(kSecond, subtask(0), Attempt{2}, false);
  EXPECT_EQ(oracle.failure(), "");
}

// Seed 870805801: a supervisor gave a subtask to a worker that heard nothing for a second. Another worker claimed its
// success and was lost, a third was given a later attempt, and then the first heard of its assignment and its end.
class WithdrawnTest : public OracleTest {
 protected:
  void succeed_on_first() { run(0); }
  void start(Oracle::Life life, std::uint64_t attempt) {
    oracle.run_started(life, subtask(0), Attempt{attempt});
  }
};

TEST_F(WithdrawnTest, WhatIsWithdrawnForAnothersSuccessMayStartBesideALaterAttempt) {
  succeed_on_first();
  oracle.withdrawn(kSecond, subtask(0), Attempt{2});
  start(kFirst, 3);
  start(kSecond, 2);
  EXPECT_EQ(oracle.failure(), "");
}

TEST_F(WithdrawnTest, WhatRunsAndIsWithdrawnRunsBesideALaterAttempt) {
  succeed_on_first();
  start(kSecond, 2);
  oracle.withdrawn(kSecond, subtask(0), Attempt{2});
  start(kFirst, 3);
  EXPECT_EQ(oracle.failure(), "");
}

TEST_F(WithdrawnTest, AnotherAttemptOfThatLifeIsNotWithdrawn) {
  succeed_on_first();
  oracle.withdrawn(kSecond, subtask(0), Attempt{2});
  start(kFirst, 3);
  start(kSecond, 4);
  EXPECT_TRUE(says("runs while attempt 3 runs, too")) << oracle.failure();
}

TEST_F(WithdrawnTest, NothingIsWithdrawnWhereNoRunHasSucceeded) {
  oracle.withdrawn(kSecond, subtask(0), Attempt{2});
  start(kFirst, 3);
  start(kSecond, 2);
  EXPECT_TRUE(says("runs while attempt 3 runs, too")) << oracle.failure();
}

// Seed 120390533: the worker had kept the earlier attempt over two lives of the supervisor.
TEST_F(OracleTest, AnEarlierAttemptMayStartUntilTheSuccessIsToldAnew) {
  const auto again = [this](Attempt attempt) { oracle.run_started(kSecond, subtask(0), attempt, false); };
  oracle.run_started(kFirst, subtask(0), Attempt{7});
  oracle.run_ended(kFirst, subtask(0), true);
  oracle.success_reported(kFirst, subtask(0), Attempt{7});
  oracle.supervisor_began({kFirst, kSecond});
  again(Attempt{3});
  EXPECT_EQ(oracle.failure(), "");
  oracle.run_ended(kSecond, subtask(0), true);
  oracle.life_returned(kFirst, [](SubtaskId, Attempt) { return true; });
  again(Attempt{4});
  EXPECT_TRUE(says("was to be known")) << oracle.failure();
}

// Seed 400036169: a worker that came too late brought a success, and the supervisor ended before the worker that had
// got the subtask meanwhile heard of it.
class InPlaceTest : public OracleTest {
 protected:
  InPlaceTest() {
    run(0);
    oracle.success_reported(kFirst, subtask(0), Attempt{1});
  }
  void give_out() { oracle.assigned(subtask(0), Attempt{9}); }
  void take_back() {
    oracle.life_returned(kFirst, [](SubtaskId, Attempt) { return true; });
  }
  void start() { oracle.run_started(kSecond, subtask(0), Attempt{9}, false); }
};

TEST_F(InPlaceTest, WhatWasGivenOutForALostWorkerMayStartUntilItsSuccessIsToldAnew) {
  oracle.life_lost(kFirst);
  give_out();
  take_back();
  oracle.supervisor_began({kFirst, kSecond});
  start();
  EXPECT_EQ(oracle.failure(), "");
}

TEST_F(InPlaceTest, WhatWasGivenOutForALostWorkerStartsNoMoreWhenItsSuccessIsToldAnew) {
  oracle.life_lost(kFirst);
  give_out();
  oracle.supervisor_began({kFirst, kSecond});
  take_back();
  start();
  EXPECT_TRUE(says("was to be known")) << oracle.failure();
}

TEST_F(InPlaceTest, WhatWasGivenOutBesideALivingWorkerDoesNotStart) {
  give_out();
  oracle.supervisor_began({kFirst, kSecond});
  start();
  EXPECT_TRUE(says("was to be known")) << oracle.failure();
}

class PutBackTest : public OracleTest {
 protected:
  static constexpr JobId kLater{2};
  static constexpr JobIdentity kFormer{1, 1};
  static constexpr JobIdentity kLatter{2, 2};
  void accept(JobId job, const JobIdentity& identity) {
    oracle.job_accepted(job, std::make_shared<const Graph>(GraphBuilder{}.chain(2).build()), identity);
  }
};

TEST_F(PutBackTest, WhatWasAcceptedSinceIsGoneAndItsNumberMayBeAnothers) {
  const Oracle then = oracle;
  accept(kLater, kFormer);
  EXPECT_TRUE(oracle.knows(kLater, kFormer));
  oracle.put_back(then, {kFirst});
  EXPECT_FALSE(oracle.knows(kLater, kFormer));
  accept(kLater, kLatter);
  EXPECT_TRUE(oracle.knows(kLater, kLatter));
  EXPECT_FALSE(oracle.knows(kLater, kFormer));
  EXPECT_NE(oracle.graph_of(kJob), nullptr);
}

TEST_F(PutBackTest, WhatWasToldBeforeStillStands) {
  run(0);
  oracle.client_told(succeeded(0, 0));
  const Oracle then = oracle;
  oracle.put_back(then, {kFirst});
  oracle.client_reattached(kJob);
  JobProgress nothing;
  nothing.job = kJob;
  oracle.client_told(nothing);
  EXPECT_TRUE(says("had been told")) << oracle.failure();
}

TEST_F(PutBackTest, WhatALifeOfAnotherBranchRunsCountsForNothing) {
  const Oracle then = oracle;
  oracle.run_started(kFirst, subtask(0), Attempt{1});
  oracle.put_back(then, {kFirst});
  oracle.run_started(kFirst, subtask(1), Attempt{1});
  oracle.run_started(kSecond, subtask(0), Attempt{9});
  oracle.run_ended(kFirst, subtask(0), true);
  EXPECT_EQ(oracle.failure(), "");
  oracle.run_started(kSecond, subtask(1), Attempt{9});
  EXPECT_TRUE(says("runs before its predecessor")) << oracle.failure();
}

TEST_F(PutBackTest, ALifeOfAnotherBranchThatIsTakenBackIsABreach) {
  oracle.put_back(Oracle{oracle}, {kFirst});
  oracle.life_returned(kFirst, [](SubtaskId, Attempt) { return true; });
  EXPECT_TRUE(says("goes on in another branch")) << oracle.failure();
}

TEST_F(PutBackTest, AnAttemptThatBeginsInTwoBranchesIsABreach) {
  const Oracle then = oracle;
  oracle.run_started(kFirst, subtask(0), Attempt{1});
  oracle.put_back(then, {kFirst});
  oracle.run_started(kSecond, subtask(0), Attempt{1});
  EXPECT_TRUE(says("begins a second time")) << oracle.failure();
}

TEST_F(OracleTest, AJobThatNeverEndsIsABreach) {
  oracle.at_rest();
  EXPECT_TRUE(says("job-1 never ended")) << oracle.failure();
}

TEST_F(OracleTest, ARunThatIsLeftOverIsABreach) {
  oracle.run_started(kFirst, subtask(0), Attempt{1});
  oracle.at_rest();
  EXPECT_TRUE(says("still runs at the end")) << oracle.failure();
}

TEST_F(OracleTest, TheFirstBreachIsTheOneThatIsTold) {
  oracle.breach("first");
  oracle.breach("second");
  EXPECT_EQ(oracle.failure(), "first");
}

/// The first of 300 seeds that fails with the defect; 0: none.
std::uint64_t first_failing_seed(Defect defect) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    WorldOptions options;
    options.seed = seed;
    options.faults = Faults::of_level(Faults::kLevelMax);
    options.defect = defect;
    if (!run_world(options).ok) return seed;
  }
  return 0;
}

TEST(Defects, ALinkThatNeverSendsAgainIsNoticed) { EXPECT_NE(first_failing_seed(Defect::NoResend), 0U); }
TEST(Defects, ARunThatIsStartedTwiceIsNoticed) { EXPECT_NE(first_failing_seed(Defect::RunsTwice), 0U); }
TEST(Defects, AReportThatIsLostAfterItsDeliveryIsNoticed) { EXPECT_NE(first_failing_seed(Defect::LosesReports), 0U); }

}  // namespace
}  // namespace penstock::simulation
