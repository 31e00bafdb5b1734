// SupervisorCore: gangs that have been given all their slots begin when workers hold all of them, or give all back.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

using namespace std::chrono_literals;

/// A gang of four over two workers with two slots each.
class Barriers : public ::testing::Test {
 protected:
  explicit Barriers(const std::string& preset = "fair_share") : supervisor{config(preset)} {}

  static SupervisorConfig config(const std::string& preset = "fair_share") {
    SupervisorConfig config = policed(preset);
    config.policy.gang_barrier = 2s;
    return config;
  }
  void submit_gang(Graph graph = GraphBuilder{}.sources(40).build()) {
    JobSpec spec;
    spec.name = "gang";
    spec.policy.gang = 4;
    supervisor.submit(std::move(graph), spec);
    supervisor.settle();
  }
  /// The reservation that workers are asked for, for one of that graph.
  std::vector<Entitlement> asked_for_gang(Graph graph) {
    submit_gang(std::move(graph));
    std::vector<Entitlement> asked;
    for (const auto& [worker, batch] : supervisor.take<EntitlementBatch>())
      std::copy_if(batch.entitlements.begin(), batch.entitlements.end(), std::back_inserter(asked),
                   [](const Entitlement& each) { return each.barrier != 0; });
    return asked;
  }
  void answer(std::uint32_t worker, std::uint64_t barrier, std::int64_t slots = 2) {
    supervisor.worker_says(worker, BarrierAnswer{JobId{1}, BandIndex{0}, barrier, kOneSlot * slots});
  }
  /// The words to workers since the last call, in order: `w1 holds 2 at 1`, `w1 has 2`.
  Lines told() {
    Lines lines;
    for (const auto& [worker, batch] : supervisor.take<EntitlementBatch>())
      for (const Entitlement& each : batch.entitlements) {
        if (each.job != JobId{1}) continue;
        const std::string slots = std::to_string(each.slots.value() / 1000);
        lines.push_back(
            "w" + std::to_string(worker.value()) +
            (each.barrier == 0 ? " has " + slots : " holds " + slots + " at " + std::to_string(each.barrier)));
      }
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    return lines;
  }
  std::string held_by() {
    const Value answer = *supervisor.ask("explain", {"gang"});
    return answer["held_by"].text() == nullptr ? "" : *answer["held_by"].text();
  }
  void TearDown() override { supervisor.ignore(); }

  PolicedSupervisor supervisor;
};

class BarriersOfTwo : public Barriers {
 protected:
  void SetUp() override {
    supervisor.join({.slots = 2, .barriers = true});
    supervisor.join({.slots = 2, .barriers = true});
    submit_gang();
    EXPECT_EQ(told(), (Lines{"w1 holds 2 at 1", "w2 holds 2 at 1"}));
  }
};

TEST_F(BarriersOfTwo, AGangBeginsWhenAllHaveAnswered) {
  answer(1, 1);
  EXPECT_EQ(told(), Lines{});
  PENSTOCK_EXPECT_COVERAGE_MARK("a gang begins because all its slots are held", answer(2, 1));
  EXPECT_EQ(told(), (Lines{"w1 has 2", "w2 has 2"}));
  supervisor.settle(2);
  EXPECT_EQ(told(), Lines{}) << "it has begun";
}

TEST_F(BarriersOfTwo, WhoHoldsLessOrAnswersTwiceOrForAnotherBarrierDoesNotCount) {
  answer(1, 1);
  answer(1, 1);
  answer(2, 1, 1);
  PENSTOCK_EXPECT_COVERAGE_MARK("a worker answers for a barrier that is over", answer(2, 9));
  supervisor.worker_says(2, BarrierAnswer{JobId{1}, BandIndex{7}, 1, kOneSlot * 2});
  supervisor.worker_says(2, BarrierAnswer{JobId{99}, BandIndex{0}, 1, kOneSlot * 2});
  EXPECT_EQ(told(), Lines{});
  answer(2, 1);
  EXPECT_EQ(told(), (Lines{"w1 has 2", "w2 has 2"}));
}

/// The plan of a pass for the gang, had it moved it: so many slots of each worker.
supervisor_event::PassEnded moved(const supervisor_action::RunPass& order, std::vector<std::int64_t> slots) {
  supervisor_event::PassEnded ended{order.number, {}, {}, {}};
  for (std::uint32_t member = 0; member < order.snapshot.members.size(); ++member) {
    std::int64_t all = 0;
    for (const policy::Place& place : order.snapshot.members[member].places) all += place.slots;
    ended.plan.preemptions.push_back({member, policy::PreemptionReason::Consolidation});
    ended.plan.starts.push_back({member, {}, {}, false});
    for (std::uint32_t band = 0; band < slots.size(); ++band)
      if (slots[band] > 0) ended.plan.starts.back().places.push_back({.band = band, .slots = slots[band] * all / 4});
  }
  return ended;
}

TEST_F(BarriersOfTwo, AnAnswerToWhatWasAskedBeforeDoesNotCountWhenTheSameIsAskedOnceMore) {
  supervisor.join({.slots = 2, .barriers = true});
  const auto pass = [&](const std::vector<std::int64_t>& slots) {
    for (int tries = 0; tries < 1000; ++tries, supervisor.tick_after(1ms))
      if (const auto orders = supervisor.take_passes(); !orders.empty())
        return supervisor.handle(moved(orders.front(), slots));
    FAIL() << "no pass was ordered";
  };
  PENSTOCK_EXPECT_COVERAGE_MARK("a gang asks for other slots at its barrier", pass({2, 0, 2}));
  EXPECT_EQ(told(), (Lines{"w1 holds 2 at 2", "w2 has 0", "w3 holds 2 at 2"}));
  pass({2, 2, 0});
  EXPECT_EQ(told(), (Lines{"w1 holds 2 at 3", "w2 holds 2 at 3", "w3 has 0"}));
  answer(1, 1);
  answer(2, 1);
  EXPECT_EQ(told(), Lines{}) << "they have said so of the first";
  answer(1, 3);
  answer(2, 3);
  EXPECT_EQ(told(), (Lines{"w1 has 2", "w2 has 2"}));
}

TEST_F(BarriersOfTwo, AtItsEndAllIsGivenBackAndTheGangWaitsAnew) {
  answer(1, 1);
  // A pass may take its time meanwhile: the end of the barrier does not wait for any.
  supervisor.take_passes();
  supervisor.tick_after(1999ms);
  EXPECT_EQ(told(), Lines{});
  supervisor.take_passes();
  PENSTOCK_EXPECT_COVERAGE_MARK("a gang gives all its reserved slots back", supervisor.tick_after(1ms));
  EXPECT_EQ(told(), (Lines{"w1 has 0", "w2 has 0"}));
  EXPECT_EQ(held_by(),
            "its gang gave all its reserved slots back and waits anew: after `policy.gang_barrier`, 2 s, 2 of 4 slots "
            "are held, not yet those of worker-2/numa-0");
  answer(2, 1);
  EXPECT_EQ(told(), Lines{}) << "that is too late";
}

TEST_F(BarriersOfTwo, WhoGaveAllBackIsGivenNothingByTheNextPassAndThenWaitsAtANewBarrier) {
  answer(1, 1, 0);
  EXPECT_EQ(told(), (Lines{"w1 has 0", "w2 has 0"}));
  EXPECT_NE(held_by().find("worker-1/numa-0 had no word for too long"), std::string::npos) << held_by();
  supervisor.settle();
  EXPECT_EQ(told(), Lines{});
  supervisor.settle();
  EXPECT_EQ(told(), (Lines{"w1 holds 2 at 2", "w2 holds 2 at 2"}));
}

/// How long workers are told to keep what they hold, at most.
Duration longest_told(PolicedSupervisor& supervisor) {
  Duration longest{0};
  for (const auto& [worker, batch] : supervisor.take<EntitlementBatch>())
    for (const Entitlement& each : batch.entitlements) longest = std::max(longest, each.barrier_max);
  return longest;
}

// A worker's own margin does not matter: one that has not heard that the gang begins is lost before it gives its slots
// back.
TEST_F(Barriers, WorkersAreToldToKeepWhatTheyHoldForAsLongAsTheyCountAsThere) {
  supervisor.join({.slots = 2, .barriers = true});
  supervisor.join({.slots = 2, .barriers = true});
  submit_gang();
  EXPECT_GT(longest_told(supervisor), 2s + config().worker_lost_after - 500ms);
}

TEST_F(BarriersOfTwo, AGangThatIsLetBeginOnWhatWasGivenBackGivesAllBack) {
  answer(1, 1);
  answer(2, 1);
  EXPECT_EQ(told(), (Lines{"w1 has 2", "w2 has 2"}));
  answer(2, 9, 0);
  EXPECT_EQ(told(), Lines{}) << "for another barrier";
  PENSTOCK_EXPECT_COVERAGE_MARK("a gang was let begin on slots that had been given back", answer(2, 1, 0));
  EXPECT_EQ(told(), (Lines{"w1 has 0", "w2 has 0"}));
  EXPECT_NE(held_by().find("worker-2/numa-0 gave its slots back before it heard that all begin"), std::string::npos)
      << held_by();
  answer(1, 1, 0);
  EXPECT_EQ(told(), Lines{}) << "that is over";
  supervisor.settle(2);
  EXPECT_EQ(told(), (Lines{"w1 holds 2 at 2", "w2 holds 2 at 2"}));
}

TEST_F(BarriersOfTwo, AWorkerThatIsLostInTheMiddleBreaksIt) {
  answer(1, 1);
  supervisor.lose(2);
  EXPECT_EQ(told(), Lines{"w1 has 0"});
  EXPECT_EQ(held_by(),
            "its gang gave all its reserved slots back and waits anew: worker-2, which held a part of them, was lost");
  supervisor.join({.slots = 2, .barriers = true});
  supervisor.settle(2);
  EXPECT_EQ(told(), (Lines{"w1 holds 2 at 2", "w3 holds 2 at 2"}));
}

TEST_F(BarriersOfTwo, AGangThatHasBegunAndLosesAWorkerWaitsAtNoBarrierForTheRest) {
  answer(1, 1);
  answer(2, 1);
  told();
  supervisor.lose(2);
  supervisor.join({.slots = 2, .barriers = true});
  supervisor.settle(3);
  const Value answer = *supervisor.ask("explain", {"gang"});
  EXPECT_EQ(answer["slots_held"], answer["slots_wanted"]);
  EXPECT_EQ((*supervisor.ask("pools")->list())[0]["barriers"], Value{1}) << "the first was the last";
}

// Found by the simulator (seed 360 of twelve jobs).
TEST_F(BarriersOfTwo, AGangThatHasBegunAndLosesAllItsWorkersWaitsAnew) {
  answer(1, 1);
  answer(2, 1);
  supervisor.ignore();
  supervisor.lose(1);
  supervisor.lose(2);
  supervisor.join({.slots = 2, .barriers = true});
  supervisor.join({.slots = 2, .barriers = true});
  supervisor.settle();
  EXPECT_EQ(told(), (Lines{"w3 holds 2 at 2", "w4 holds 2 at 2"}));
}

TEST_F(BarriersOfTwo, ExplainSaysHowFarItHasCome) {
  answer(2, 1);
  supervisor.tick_after(500ms);
  EXPECT_NE(held_by().find("barrier: 2 of 4 slots are held, not yet those of worker-1/numa-0; it waits for "),
            std::string::npos)
      << held_by();
  const Result<Value> queue = supervisor.ask("queue");
  ASSERT_EQ(queue->list()->size(), 1U);
  EXPECT_EQ((*queue->list())[0]["held_by"], Value{held_by()});
  const Result<Value> pools = supervisor.ask("pools");
  EXPECT_EQ((*pools->list())[0]["barriers"], Value{1});
  EXPECT_EQ((*pools->list())[0]["barriers_given_up"], Value{0});
}

TEST_F(BarriersOfTwo, AJobThatIsCancelledLeavesNothingReserved) {
  answer(1, 1);
  PENSTOCK_EXPECT_COVERAGE_MARK("a gang ends while it waits at a barrier",
                                static_cast<void>(supervisor.ask("cancel", {"gang"})));
  EXPECT_EQ(told(), (Lines{"w1 has 0", "w2 has 0"}));
}

TEST_F(BarriersOfTwo, AReloadKeepsTheBarrier) {
  answer(1, 1);
  PolicyConfig changed = config().policy;
  changed.grace = 1s;
  supervisor.handle(supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann"}, changed});
  supervisor.settle();
  answer(2, 1);
  EXPECT_EQ(told(), (Lines{"w1 has 2", "w2 has 2"}));
}

TEST_F(BarriersOfTwo, AReloadDoesNotMoveTheEndThatWorkersWereTold) {
  for (const Duration anew : {Duration{1s}, Duration{60s}}) {
    PolicyConfig changed = config().policy;
    changed.gang_barrier = anew;
    supervisor.handle(supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann"}, changed});
    supervisor.take_passes();
  }
  told();
  supervisor.ignore();
  supervisor.tick_after(1999ms);
  supervisor.take_passes();
  EXPECT_EQ(told(), Lines{});
  supervisor.tick_after(1ms);
  EXPECT_EQ(told(), (Lines{"w1 has 0", "w2 has 0"}));
  EXPECT_NE(held_by().find("after `policy.gang_barrier`, 2 s"), std::string::npos) << held_by();
}

TEST_F(BarriersOfTwo, WithoutAPolicyNothingWaitsAtABarrier) {
  supervisor.handle(supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann"}, PolicyConfig{}});
  const auto batches = supervisor.take<EntitlementBatch>();
  ASSERT_EQ(batches.size(), 2U);
  for (const auto& [worker, batch] : batches)
    for (const Entitlement& each : batch.entitlements) {
      EXPECT_EQ(each.slots, MilliSlots::max());
      EXPECT_EQ(each.barrier, 0U);
    }
}

TEST_F(Barriers, AWorkerThatKnowsOfNoneIsNotWaitedFor) {
  supervisor.join({.slots = 2, .barriers = true});
  supervisor.join({.slots = 2});
  submit_gang();
  told();
  answer(1, 1);
  EXPECT_EQ(told(), Lines{"w1 has 2"}) << "the other one has begun";
}

TEST_F(Barriers, ABandWithAPartOfASlotAnswersForWhatItHas) {
  supervisor.join({.slots = 2, .barriers = true, .less = MilliSlots{500}});
  supervisor.join({.slots = 2, .barriers = true, .less = MilliSlots{500}});
  submit_gang();
  told();
  for (const std::uint32_t worker : {1U, 2U})
    supervisor.worker_says(worker, BarrierAnswer{JobId{1}, BandIndex{0}, 1, MilliSlots{1500}});
  EXPECT_EQ(told(), (Lines{"w1 has 2", "w2 has 2"}));
}

TEST_F(Barriers, SlotsAreReservedAlsoWhereNoWorkOfTheGangIsYet) {
  supervisor.join({.slots = 2, .barriers = true});
  supervisor.join({.slots = 2, .barriers = true});
  JobSpec spec;
  spec.name = "gang";
  spec.policy.gang = 4;
  supervisor.submit(GraphBuilder{}.sources(1).build(), spec);
  PENSTOCK_EXPECT_COVERAGE_MARK("a gang waits at its barrier", supervisor.settle());
  EXPECT_EQ(told(), (Lines{"w1 holds 2 at 1", "w2 holds 2 at 1"}));
}

/// A gang of four that runs without a policy on two workers with two slots each; then a policy comes.
class BarriersOfWhatRuns : public Barriers {
 protected:
  BarriersOfWhatRuns() : later{without_pools()} {
    later.join({.slots = 2, .barriers = true});
    later.join({.slots = 2, .barriers = true});
  }
  static SupervisorConfig without_pools() {
    SupervisorConfig unlimited = config();
    unlimited.policy.pools.clear();
    return unlimited;
  }
  void bring_policy() {
    later.handle(supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann"}, config().policy});
    later.ignore();
  }
  void expect_no_barrier() {
    for (const auto& [worker, batch] : later.take<EntitlementBatch>())
      for (const Entitlement& each : batch.entitlements) EXPECT_EQ(each.barrier, 0U);
    later.ignore();
  }

  PolicedSupervisor later;
};

// Runs that it must not lose count as begun: the rest of it would be given back and asked for for ever.
TEST_F(BarriersOfWhatRuns, AGangWithRunsThatNeverLeaveWaitsAtNone) {
  JobSpec spec;
  spec.policy.gang = 4;
  spec.policy.preemptible = Preemptible::No;
  later.submit(GraphBuilder{}.sources(40).build(), spec);
  later.say(1, 0, Outcome::Started);
  bring_policy();
  later.settle();
  expect_no_barrier();
}

// Its runs would have to leave if the barrier came to nothing, for a gang that has all it wants.
TEST_F(BarriersOfWhatRuns, AGangThatRunsAsAWholeWaitsAtNone) {
  JobSpec spec;
  spec.policy.gang = 4;
  later.submit(GraphBuilder{}.sources(4).build(), spec);
  for (std::uint32_t subtask = 0; subtask < 4; ++subtask) later.say(subtask < 2 ? 1 : 2, subtask, Outcome::Started);
  bring_policy();
  PENSTOCK_EXPECT_COVERAGE_MARK("a gang that runs as a whole waits at no barrier", later.settle());
  expect_no_barrier();
}

TEST_F(Barriers, NamedAmountsAreAskedForWithTheSlotsAndWaitedForHalfOfTheTime) {
  for (int i = 0; i < 2; ++i) supervisor.join({.slots = 2, .named = {{"licence", 9}}, .barriers = true});
  GraphBuilder builder;
  builder.sources(40);
  builder.template_at(0).request.named = {{"licence", 2}};
  const std::vector<Entitlement> asked = asked_for_gang(builder.build());
  for (const Entitlement& each : asked) {
    EXPECT_EQ(each.named, (std::vector<NamedAmount>{{"licence", 4}}));
    EXPECT_GT(each.patience, Duration{0});
    EXPECT_LE(each.patience, 1s);
  }
  EXPECT_GE(asked.size(), 2U);
}

// Found by a review: a setup step with all the licences was reserved for each member of the gang.
TEST_F(Barriers, BesideSlotsAndDevicesOnlyWhatAllMembersTakeIsAskedFor) {
  for (int i = 0; i < 2; ++i)
    supervisor.join({.slots = 2, .cpu = MilliCpu{8000}, .named = {{"licence", 9}, {"port", 9}}, .barriers = true});
  GraphBuilder builder;
  builder.sources(40).add({}, 1);
  builder.template_at(0).request.named = {{"port", 3}};
  builder.template_at(0).request.cpu = MilliCpu{500};
  builder.template_at(1).request.named = {{"licence", 1}, {"port", 2}};
  builder.template_at(1).request.cpu = MilliCpu{1000};
  const std::vector<Entitlement> asked = asked_for_gang(builder.build());
  for (const Entitlement& each : asked) {
    EXPECT_EQ(each.named, (std::vector<NamedAmount>{{"port", 4}}));
    EXPECT_EQ(each.cpu, MilliCpu{1000});
  }
  EXPECT_GE(asked.size(), 2U);
}

// Found by a review: the second worker's word was taken for one about slots on which the gang had been let begin.
TEST_F(Barriers, AGangThatGoesOnWithWhatItRunsIsNotCutByWhoGivesBackLate) {
  supervisor.join({.slots = 2, .barriers = true});
  supervisor.join({.slots = 2, .barriers = true});
  supervisor.join({.slots = 2});  // Of an older version: it begins at once.
  JobSpec spec;
  spec.name = "gang";
  spec.policy.gang = 6;
  spec.policy.preemptible = Preemptible::No;
  supervisor.submit(GraphBuilder{}.sources(60).build(), spec);
  supervisor.settle();
  EXPECT_EQ(told(), (Lines{"w1 holds 2 at 1", "w2 holds 2 at 1", "w3 has 2"}));
  supervisor.say(3, 40, Outcome::Started);
  supervisor.say(3, 41, Outcome::Started);
  answer(1, 1, 0);
  EXPECT_EQ(told(), (Lines{"w1 has 0", "w2 has 0"}));
  supervisor.settle(2);
  EXPECT_EQ(told(), (Lines{"w1 has 2", "w2 has 2"})) << "it has begun";
  answer(2, 1, 0);
  EXPECT_EQ(told(), Lines{}) << "that is over";
  EXPECT_EQ((*supervisor.ask("pools")->list())[0]["barriers_given_up"], Value{1});
}

// Seed 500155798 of the simulator with a policy: the gang was let begin on its next place without a barrier, because of
// a run at the place that it had given up, and by the time that the next one was told of it that run was gone.
TEST_F(Barriers, AGangWaitsAtABarrierForItsNextPlaceAlsoWhileARunThatNeverLeavesIsAtTheLastOne) {
  for (int i = 0; i < 2; ++i) supervisor.join({.slots = 2, .barriers = true});
  JobSpec spec;
  spec.name = "gang";
  spec.policy.gang = 4;
  spec.policy.preemptible = Preemptible::No;
  supervisor.submit(GraphBuilder{}.sources(40).build(), spec);
  supervisor.settle();
  answer(1, 1);
  answer(2, 1);
  EXPECT_EQ(told(), (Lines{"w1 has 2", "w1 holds 2 at 1", "w2 has 2", "w2 holds 2 at 1"}));
  std::uint32_t there = 0;
  while (supervisor.phase(there) != SubtaskPhase::Assigned || supervisor.job(1).hot[there].band != BandSlot{1}) ++there;
  supervisor.say(2, there, Outcome::Started);
  supervisor.lose(1);
  supervisor.settle(2);
  supervisor.tick_after(config().policy.gang_wait);
  supervisor.settle(2);
  EXPECT_EQ(told(), Lines{"w2 has 0"}) << "it has given up the rest";
  for (int i = 0; i < 2; ++i) supervisor.join({.slots = 2, .barriers = true});
  supervisor.settle();
  EXPECT_EQ(told(), (Lines{"w3 holds 2 at 2", "w4 holds 2 at 2"}));
}

// Seed 840004572 of the simulator with a policy: the only worker on which the gang ran anything was lost, and it began
// on the rest of its plan, where it had not been yet, with a part of itself.
TEST_F(Barriers, AGangThatLosesAllThatItRunsDoesNotBeginOnThePartThatIsPlannedElsewhere) {
  for (int i = 0; i < 2; ++i) supervisor.join({.slots = 2, .barriers = true});
  JobSpec spec;
  spec.name = "gang";
  spec.policy.gang = 4;
  supervisor.submit(GraphBuilder{}.sources(1).build(), spec);
  supervisor.settle();
  answer(1, 1);
  answer(2, 1);
  supervisor.settle();
  static_cast<void>(told());
  ASSERT_EQ(supervisor.phase(0), SubtaskPhase::Assigned);
  const std::uint32_t runs_on = supervisor.job(1).hot[0].band == BandSlot{0} ? 1 : 2;
  supervisor.lose(runs_on);
  EXPECT_EQ(told(), Lines{"w" + std::to_string(3 - runs_on) + " has 0"});
}

// Seed 504 of the simulator with a policy, two jobs and one worker: the gang went on with a run of its place of before,
// its worker was not told because it was to hold as much as at the barrier, and waited there for ever.
TEST_F(Barriers, AWorkerIsToldOfTheEndOfItsBarrierAlsoWhereItMayHoldAsMuchAsBefore) {
  supervisor.join({.slots = 2, .barriers = true});
  JobSpec spec;
  spec.name = "gang";
  spec.policy.gang = 2;
  spec.policy.preemptible = Preemptible::No;
  supervisor.submit(GraphBuilder{}.sources(40).build(), spec);
  supervisor.settle();
  EXPECT_EQ(told(), Lines{"w1 holds 2 at 1"});
  std::vector<std::uint32_t> there;
  for (std::uint32_t subtask = 0; subtask < 40 && there.size() < 2; ++subtask)
    if (supervisor.phase(subtask) == SubtaskPhase::Assigned) there.push_back(subtask);
  ASSERT_EQ(there.size(), 2U);
  for (const std::uint32_t subtask : there) supervisor.say(1, subtask, Outcome::Started);
  answer(1, 1, 0);
  EXPECT_EQ(told(), Lines{"w1 has 2"});
  supervisor.settle(2);
  EXPECT_EQ(told(), Lines{}) << "once";
}

TEST_F(Barriers, AJobThatIsNoGangWaitsAtNone) {
  supervisor.join({.slots = 2, .barriers = true});
  JobSpec spec;
  spec.policy.slots_max = 1;
  supervisor.submit(GraphBuilder{}.sources(4).build(), spec);
  supervisor.settle();
  EXPECT_EQ(told(), Lines{"w1 has 1"});
}

// Where nothing is preempted, runs go on when a reload leaves their gang no worker: it could not begin anew.
TEST(GangBarriers, AGangThatMayBeNowhereAnyMoreKeepsItsRunsWithoutPreemption) {
  SupervisorConfig config = policed("multifactor", {{.name = "a"}});
  PolicedSupervisor cluster{config};
  cluster.join({.slots = 4});
  JobSpec gang;
  gang.name = "gang";
  gang.policy.project = "a";
  gang.policy.gang = 4;
  cluster.submit(GraphBuilder{}.sources(8).build(), gang);
  cluster.settle();
  for (std::uint32_t i = 0; i < 4; ++i) cluster.say(1, i, Outcome::Started);
  cluster.assigned();
  config.policy.projects[0].training_labels = {"nowhere"};
  cluster.handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, config.policy});
  for (int second = 0; second < 100; ++second) {
    cluster.tick_after(1s);
    cluster.settle();
  }
  EXPECT_EQ(cluster.cancels(), Lines{});
  cluster.ignore();
}

/// A gang of four on two workers, of which one is lost, and after two minutes another comes.
class LosesAWorker : public ::testing::TestWithParam<std::tuple<const char*, bool, bool>> {
 protected:
  void SetUp() override {
    cluster->join({.slots = 2});
    cluster->join({.slots = 2});
    JobSpec gang;
    gang.name = "gang";
    gang.policy.project = "a";
    gang.policy.gang = 4;
    gang.policy.preemptible = std::get<2>(GetParam()) ? Preemptible::Yes : Preemptible::No;
    cluster->submit(GraphBuilder{}.sources(4).build(), gang);
    run_passes(cluster);
    assigned_ = cluster->assigned();
    ASSERT_EQ(assigned_.size(), 4U);
    for (const std::string& each : assigned_) say(each, Outcome::Started);
  }
  void TearDown() override { cluster->ignore(); }
  static std::uint32_t subtask_of(const std::string& line) { return static_cast<std::uint32_t>(line.front() - '0'); }
  void say(const std::string& line, Outcome outcome) {
    cluster->say(line.ends_with("w1") ? 1 : 2, subtask_of(line), outcome);
  }
  void come_back(std::uint32_t worker) {
    ClaimedJob claim{JobId{1}, {}, {}};
    for (const std::string& each : assigned_)
      if (each.ends_with("w" + std::to_string(worker)))
        claim.attempts.push_back({SubtaskIndex{subtask_of(each)}, Attempt{1}, BandIndex{0}, ClaimedStage::Running});
    cluster->come_back(worker, {.jobs = {claim}, .spec = {.slots = 2}});
  }
  /// Alone, or together with the supervisor.
  void lose_second_worker() {
    if (const bool with_supervisor = std::get<1>(GetParam()); !with_supervisor) return cluster->lose(2);
    cluster.restart_for_claims();
    come_back(1);
    cluster->tick_at_deadline();
  }
  /// Lets time pass, while the first worker obeys. Returns what it was told to end.
  Lines obey_for(int seconds) {
    Lines ended;
    for (int second = 0; second < seconds; ++second) {
      cluster->tick_after(1s);
      run_passes(cluster);
      cluster->assigned();
      for (const std::string& each : cluster->steals()) cluster->say(1, subtask_of(each), Outcome::Returned);
      for (const std::string& each : cluster->cancels()) {
        ended.push_back(each);
        cluster->say(1, subtask_of(each), Outcome::Returned);
      }
    }
    std::sort(ended.begin(), ended.end());
    return ended;
  }
  /// Of each worker, the thousandths of slots that the gang has there, and its attempts.
  Lines planned() {
    Lines lines;
    for (std::uint32_t i = 0; i < cluster->core().workers().band_slots(); ++i)
      if (const BandSlot band{i}; cluster->core().workers()[band].alive)
        lines.push_back(std::to_string(cluster->job(1).shares->of(band).planned) + " " +
                        std::to_string(cluster->job(1).shares->of(band).runnable));
    return lines;
  }

  JournalHarness cluster{policed(std::get<0>(GetParam()), {{.name = "a", .guaranteed_slots = 4}})};

 private:
  Lines assigned_;
};

// Found by an operator's trial: the runs that were left went on, and the gang waited for their slots for ever.
TEST_P(LosesAWorker, AndBeginsAnew) {
  lose_second_worker();
  Lines ended;
  PENSTOCK_EXPECT_COVERAGE_MARK("a gang without slots ends the runs that are left of it", ended = obey_for(120));
  EXPECT_EQ(ended, (Lines{"0 at w1", "1 at w1"})) << "what was left of it";
  cluster->join({.slots = 2});
  EXPECT_EQ(obey_for(30), Lines{});
  EXPECT_EQ(planned(), (Lines{"2000 2", "2000 2"}));
}

TEST_P(LosesAWorker, AndGoesOnIfItComesBackToTheNextSupervisorInTime) {
  cluster.restart_for_claims();
  come_back(1);
  EXPECT_EQ(obey_for(1), Lines{});
  ASSERT_TRUE(cluster->core().reclaiming());
  come_back(2);
  EXPECT_EQ(obey_for(120), Lines{});
  EXPECT_EQ(planned(), (Lines{"2000 2", "2000 2"}));
}

INSTANTIATE_TEST_SUITE_P(All, LosesAWorker,
                         ::testing::Combine(::testing::Values("fair_share", "fair_share_max_min", "priority", "quota"),
                                            ::testing::Bool(), ::testing::Bool()));

}  // namespace
}  // namespace penstock::supervisor
