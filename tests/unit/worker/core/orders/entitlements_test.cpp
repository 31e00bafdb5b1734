// Entitlements: gangs that wait until all their slots are held, here and elsewhere.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/worker_harness.hpp"

namespace penstock::worker {
namespace {

using namespace std::chrono_literals;
using List = std::vector<std::uint32_t>;

constexpr std::uint32_t kGang = 2;

class Barriers : public ::testing::Test {
 protected:
  void entitle(std::uint32_t job, std::int64_t slots, std::uint64_t barrier = 0) {
    Entitlement entitlement{JobId{job}, BandIndex{0}, kOneSlot * slots, 0, barrier};
    entitlement.barrier_max = barrier == 0 ? Duration{0} : Duration{10s};
    worker.receive(EntitlementBatch{++version, {entitlement}});
  }
  /// The answers since the last call, as `3: 2 held`.
  std::vector<std::string> answers() {
    std::vector<std::string> lines;
    for (const auto& each : worker.take<worker_action::SendBarrierAnswer>()) {
      EXPECT_EQ(each.answer.job, JobId{kGang});
      EXPECT_EQ(each.answer.band, BandIndex{0});
      lines.push_back(std::to_string(each.answer.barrier) + ": " + std::to_string(each.answer.held.value() / 1000) +
                      " held");
    }
    return lines;
  }
  void occupy(std::uint32_t slots) {
    std::vector<SubtaskSpec> subtasks;
    for (std::uint32_t i = 0; i < slots; ++i) subtasks.push_back({.subtask = i});
    worker.assign(subtasks);
    EXPECT_EQ(worker.started().size(), slots);
  }
  /// The gang's subtasks, which nothing lets begin yet.
  void bring_gang() {
    worker.assign({{.subtask = 10}, {.subtask = 11}}, kGang);
    EXPECT_EQ(worker.started(), List{});
  }

  using Lines = std::vector<std::string>;
  std::uint64_t version = 0;
  WorkerHarness worker{2, kGiB, {.barrier_margin = 5s}};
};

TEST_F(Barriers, FreeSlotsAreHeldAndAnsweredForAndNothingStartsBeforeItIsSaid) {
  entitle(kGang, 2, 7);
  EXPECT_EQ(answers(), Lines{"7: 2 held"});
  bring_gang();
  worker.assign({{.subtask = 0}});
  EXPECT_EQ(worker.started(), List{}) << "nobody else has what is held";
  entitle(kGang, 2);
  EXPECT_EQ(worker.started(), (List{10, 11}));
  EXPECT_EQ(answers(), Lines{});
}

TEST_F(Barriers, SlotsThatOthersLeaveOneByOneAreAnsweredForTogether) {
  occupy(2);
  entitle(kGang, 2, 7);
  bring_gang();
  worker.succeed(0);
  EXPECT_EQ(answers(), Lines{});
  EXPECT_EQ(worker.started(), List{});
  worker.succeed(1);
  EXPECT_EQ(answers(), Lines{"7: 2 held"});
  EXPECT_EQ(worker.started(), List{});
  worker.ignore();
}

TEST_F(Barriers, ARunThatIsPreemptedInItsGraceIsWaitedFor) {
  occupy(2);
  worker.succeed(0);
  worker.receive(CancelBatch{JobId{1}, false, {{SubtaskIndex{1}, Attempt{1}}}, Duration{3s}, true, true});
  entitle(kGang, 2, 7);
  worker.tick_after(2s);
  EXPECT_EQ(answers(), Lines{});
  worker.fail(1);
  EXPECT_EQ(answers(), Lines{"7: 2 held"});
  worker.ignore();
}

TEST_F(Barriers, WhatIsGivenBackIsOthersAndTheGangStaysClosed) {
  entitle(kGang, 2, 7);
  bring_gang();
  worker.assign({{.subtask = 0}});
  worker.ignore();
  entitle(kGang, 0);
  EXPECT_EQ(worker.started(), List{0});
  EXPECT_EQ(answers(), Lines{});
  worker.ignore();
}

TEST_F(Barriers, ASupervisorThatStaysAwayLeavesNothingReserved) {
  entitle(kGang, 2, 7);
  bring_gang();
  worker.assign({{.subtask = 0}});
  EXPECT_EQ(answers(), Lines{"7: 2 held"});
  ASSERT_TRUE(worker.core().next_deadline().has_value());
  EXPECT_LE(*worker.core().next_deadline(), worker.now() + 15s);
  worker.tick_after(15s - Duration{1});
  EXPECT_EQ(worker.started(), List{});
  PENSTOCK_EXPECT_COVERAGE_MARK("a supervisor has left a gang at its barrier", worker.tick_after(Duration{1}));
  EXPECT_EQ(worker.started(), List{0});
  EXPECT_EQ(answers(), Lines{"7: 0 held"});
  worker.tick_after(1s);
  EXPECT_EQ(answers(), Lines{}) << "once";
  worker.ignore();
}

TEST_F(Barriers, TheSameBarrierAgainIsAnsweredAgainAndLastsNoLonger) {
  entitle(kGang, 2, 7);
  EXPECT_EQ(answers(), Lines{"7: 2 held"});
  worker.tick_after(10s);
  PENSTOCK_EXPECT_COVERAGE_MARK("what a gang has reserved was asked for again", entitle(kGang, 2, 7));
  EXPECT_EQ(answers(), Lines{"7: 2 held"});
  worker.tick_after(5s);
  EXPECT_EQ(answers(), Lines{"7: 0 held"});
  entitle(kGang, 2, 7);
  EXPECT_EQ(answers(), Lines{"7: 0 held"}) << "what is over is over";
  entitle(kGang, 2, 8);
  EXPECT_EQ(answers(), Lines{"8: 2 held"});
}

TEST_F(Barriers, AnOlderPlanThatComesLateChangesNothing) {
  entitle(kGang, 2, 7);
  bring_gang();
  entitle(kGang, 2);
  EXPECT_EQ(worker.started(), (List{10, 11}));
  worker.receive(EntitlementBatch{1, {{JobId{kGang}, BandIndex{0}, kOneSlot * 2, 0, 7}}});
  EXPECT_EQ(answers(), Lines{"7: 2 held"}) << "of the first";
  worker.succeed(10, {}, kGang);
  worker.succeed(11, {}, kGang);
  worker.assign({{.subtask = 12}}, kGang);
  EXPECT_EQ(worker.started(), List{12});
  worker.ignore();
}

TEST_F(Barriers, RunsOfTheGangThatGoOnAreHeld) {
  worker.assign({{.subtask = 10}}, kGang);
  EXPECT_EQ(worker.started(), List{10});
  entitle(kGang, 2, 7);
  EXPECT_EQ(answers(), Lines{"7: 2 held"});
  worker.ignore();
}

TEST_F(Barriers, UnderTheNextLifeOfTheSupervisorNothingIsReservedAndNothingOfTheGangStarts) {
  entitle(kGang, 2, 7);
  bring_gang();
  worker.assign({{.subtask = 0}});
  worker.ignore();
  worker.handle(worker_event::SupervisorReturned{});
  EXPECT_EQ(worker.started(), List{0}) << "slots are others'; the gang waits for word";
  version = 0;
  entitle(kGang, 1);
  EXPECT_EQ(worker.started(), List{10});
  worker.ignore();
}

TEST_F(Barriers, AJobThatEndsOrIsForgottenLeavesNothingReserved) {
  entitle(kGang, 2, 7);
  worker.assign({{.subtask = 0}, {.subtask = 1}});
  EXPECT_EQ(worker.started(), List{});
  worker.receive(CancelBatch{JobId{kGang}, true, {}, Duration{0}});
  EXPECT_EQ(worker.started(), (List{0, 1}));
  entitle(kGang, 2, 8);
  worker.receive(ForgetJob{JobId{kGang}});
  worker.succeed(0);
  worker.succeed(1);
  worker.assign({{.subtask = 2}});
  EXPECT_EQ(worker.started(), List{2});
  worker.ignore();
}

// Found by a review: while outputs wait for room nobody begins, and the slot of a job that is closed is given to the
// next.
TEST(BarrierWithoutRoom, AJobThatIsForgottenBeforeItBeginsLeavesNothingToTheNext) {
  WorkerHarness worker{2, kGiB, {.store_bytes_max = Bytes{1000}}};
  worker.assign({{.subtask = 0}});
  worker.succeed(0, {{0, 700}});
  worker.assign({{.subtask = 1}, {.subtask = 2}});
  worker.succeed(1, {{0, 500}});
  worker.ignore();
  worker.receive(EntitlementBatch{1, {{JobId{kGang}, BandIndex{0}, kOneSlot, 0, 7, 10s}}});
  worker.receive(EntitlementBatch{2, {{JobId{kGang}, BandIndex{0}, kOneSlot, 0}}});
  worker.receive(ForgetJob{JobId{kGang}});
  worker.assign({{.subtask = 3}});
  worker.assign({{.subtask = 20}}, kGang + 1);
  EXPECT_EQ(worker.started(), List{});
  worker.handle(worker_event::DatumSpilled{{{JobId{1}, SubtaskIndex{0}}, 0}, true});
  EXPECT_EQ(worker.started(), List{3});
  worker.ignore();
}

/// Barriers of gangs with members that want more than their slots: the worker has patience for members that come late.
class BarriersWithPatience : public ::testing::Test {
 protected:
  explicit BarriersWithPatience(std::uint32_t slots) : worker{slots, kGiB, {.barrier_margin = 5s}} {}
  void entitle(std::int64_t slots, std::uint64_t barrier = 0) {
    Entitlement entitlement{JobId{kGang}, BandIndex{0}, kOneSlot * slots, 0, barrier};
    if (barrier != 0) entitlement.barrier_max = 10s, entitlement.patience = 4s;
    worker.receive(EntitlementBatch{++version, {entitlement}});
  }
  std::size_t answers() { return worker.take<worker_action::SendBarrierAnswer>().size(); }

  std::uint64_t version = 0;
  WorkerHarness worker;
};

/// With members that want memory, or what the slots do not come with.
class BarriersOfMore : public BarriersWithPatience {
 protected:
  BarriersOfMore() : BarriersWithPatience{2} {}
  void SetUp() override {
    worker.template_at(1).request.memory = kMiB * 600;
    worker.template_at(2).request.memory = kMiB * 300;
  }
};

TEST_F(BarriersOfMore, MembersGetTheirMemoryBehindTheBarrierAndBeginTogether) {
  worker.assign({{.subtask = 0, .template_index = 1}});
  EXPECT_EQ(worker.started(), List{0});
  entitle(2, 7);
  worker.assign({{.subtask = 10, .template_index = 2}, {.subtask = 11, .template_index = 2}}, kGang);
  worker.tick_after(1s);
  EXPECT_EQ(answers(), 0U) << "a slot and memory are another job's";
  worker.succeed(0);
  EXPECT_EQ(answers(), 1U);
  worker.assign({{.subtask = 1, .template_index = 1}});
  EXPECT_EQ(worker.started(), List{}) << "it is prepared, and nobody begins";
  entitle(2);
  EXPECT_EQ(worker.started(), (List{10, 11})) << "they need not wait for memory";
  worker.ignore();
}

// Seeds 800043767 and 820006492: a subtask prepared before the gang came kept a permit, and got the slot in the end.
TEST_F(BarriersOfMore, WhoIsPreparedAndGetsNoSlotGivesHisPermitToTheGang) {
  worker.template_at(3).request.memory = kMiB;
  worker.assign({{.subtask = 0, .template_index = 3}, {.subtask = 1, .template_index = 3}});
  EXPECT_EQ(worker.started(), (List{0, 1}));
  std::vector<SubtaskSpec> prepared;  // All permits are theirs.
  for (std::uint32_t i = 0; i < 2 + WorkerConfig{}.prepare_permits_extra; ++i)
    prepared.push_back({.subtask = 2 + i, .template_index = 3});
  worker.assign(prepared);
  entitle(2, 7);
  worker.assign({{.subtask = 10, .template_index = 3}, {.subtask = 11, .template_index = 3}}, kGang);
  worker.succeed(0);
  EXPECT_EQ(worker.started(), List{}) << "its slot is the gang's";
  PENSTOCK_EXPECT_COVERAGE_MARK("a prepared subtask gave its permit to a gang", worker.succeed(1));
  EXPECT_EQ(answers(), 1U) << "its members are prepared: no patience is needed";
  entitle(2);
  EXPECT_EQ(worker.started(), (List{10, 11}));
  worker.succeed(10, {}, kGang);
  worker.succeed(11, {}, kGang);
  EXPECT_EQ(worker.started(), (List{2, 3}));
  worker.ignore();
}

TEST_F(BarriersOfMore, AGangThatGivesUpLeavesThePermitsToWhoHadThem) {
  worker.template_at(3).request.memory = kMiB;
  entitle(2, 7);
  worker.assign({{.subtask = 0, .template_index = 3}});
  worker.assign({{.subtask = 10, .template_index = 3}, {.subtask = 11, .template_index = 3}}, kGang);
  EXPECT_EQ(answers(), 1U);
  EXPECT_EQ(worker.started(), List{});
  entitle(0);
  EXPECT_EQ(worker.started(), List{0});
  worker.ignore();
}

TEST_F(BarriersOfMore, MemoryThatOthersDoNotLeaveIsWaitedForWithPatience) {
  worker.assign({{.subtask = 0, .template_index = 1}});
  EXPECT_EQ(worker.started(), List{0});
  worker.assign({{.subtask = 10, .template_index = 1}}, kGang);
  entitle(1, 7);
  EXPECT_EQ(answers(), 0U);
  ASSERT_TRUE(worker.core().next_deadline().has_value());
  EXPECT_LE(*worker.core().next_deadline(), worker.now() + 4s);
  worker.tick_after(4s - Duration{1});
  EXPECT_EQ(answers(), 0U);
  worker.tick_after(Duration{1});
  EXPECT_EQ(answers(), 1U) << "else it would wait for as long as others run";
  worker.tick_after(1s);
  EXPECT_EQ(answers(), 0U) << "once";
  worker.ignore();
}

TEST_F(BarriersOfMore, WhatIsPreparedGivesItsMemoryBackWhenTheBarrierComesToNothing) {
  entitle(2, 7);
  EXPECT_EQ(answers(), 1U);
  worker.assign({{.subtask = 10, .template_index = 1}}, kGang);
  worker.assign({{.subtask = 0, .template_index = 1}});
  EXPECT_EQ(worker.started(), List{});
  PENSTOCK_EXPECT_COVERAGE_MARK("a gang that does not begin gives back what its members were prepared with",
                                entitle(0));
  EXPECT_EQ(worker.started(), List{0});
  worker.receive(StealRequest{JobId{kGang}, {{SubtaskIndex{10}, Attempt{1}}}});
  EXPECT_EQ(worker.reports(), std::vector<std::string>{"10 Returned"}) << "its next place may be another one";
  worker.ignore();
}

TEST_F(BarriersOfMore, ASupervisorThatStaysAwayLeavesNoMemoryToTheGang) {
  entitle(2, 7);
  worker.assign({{.subtask = 10, .template_index = 1}}, kGang);
  worker.assign({{.subtask = 0, .template_index = 1}});
  worker.tick_after(15s);
  EXPECT_EQ(worker.started(), List{0});
  EXPECT_EQ(answers(), 2U) << "held, and given back";
  worker.ignore();
}

TEST_F(BarriersOfMore, UnderTheNextLifeOfTheSupervisorItHasNoneEither) {
  entitle(2, 7);
  worker.assign({{.subtask = 10, .template_index = 1}}, kGang);
  worker.assign({{.subtask = 0, .template_index = 1}});
  worker.handle(worker_event::SupervisorReturned{});
  EXPECT_EQ(worker.started(), List{0});
  worker.ignore();
}

TEST_F(BarriersOfMore, InputsComeBehindTheBarrierAndAreWaitedFor) {
  entitle(1, 7);
  EXPECT_EQ(answers(), 1U) << "nothing of it is here yet";
  const AssignedInput remote{SubtaskIndex{3}, 0, InputPlace::Remote, WorkerId{9}, 100};
  worker.assign({{.subtask = 10, .inputs = {remote}}}, kGang);
  EXPECT_EQ(worker.fetches(), List{3});
  entitle(1, 8);
  EXPECT_EQ(answers(), 0U);
  worker.fetched(3, 100, kGang);
  EXPECT_EQ(answers(), 1U);
  EXPECT_EQ(worker.started(), List{});
  entitle(1);
  EXPECT_EQ(worker.started(), List{10});
  worker.ignore();
}

TEST_F(BarriersOfMore, MembersAreNotLookedAtAnyMoreOnceTheAnswerIsGiven) {
  const std::string mark = "members of a gang are looked at before it is answered for";
  entitle(2, 7);
  EXPECT_EQ(answers(), 1U);
  const std::uint64_t before = coverage_mark_count(mark);
  worker.assign({{.subtask = 10}, {.subtask = 11}}, kGang);
  worker.tick_after(1s);
  EXPECT_EQ(coverage_mark_count(mark), before) << "each event would cost as many steps as there are members";
  PENSTOCK_EXPECT_COVERAGE_MARK(mark, entitle(2, 8));
  worker.ignore();
}

/// With members that take a part of a slot, or several, and memory. A permit to be prepared is a slot in both cases.
class BarriersOfUnequalMembers : public BarriersWithPatience {
 protected:
  BarriersOfUnequalMembers() : BarriersWithPatience{4} {}
  void bring(std::uint32_t members, MilliSlots slots, Bytes memory) {
    worker.template_at(1).request.slots = slots;
    worker.template_at(1).request.memory = memory;
    std::vector<SubtaskSpec> subtasks;
    for (std::uint32_t i = 0; i < members; ++i) subtasks.push_back({.subtask = 10 + i, .template_index = 1});
    entitle(0);
    worker.assign(subtasks, kGang);
    EXPECT_EQ(worker.started(), List{});
  }
};

// Found by a review: the gang waited until its patience was over for members that could not be prepared before it
// began.
TEST_F(BarriersOfUnequalMembers, PartsOfASlotThatNoPermitIsLeftForAreNotWaitedFor) {
  bring(8, MilliSlots{250}, kMiB);
  entitle(2, 7);
  EXPECT_EQ(answers(), 1U);
  entitle(2);
  EXPECT_EQ(worker.started().size(), 8U);
  worker.ignore();
}

// A slot and a permit for four members: each that begins leaves the permit to the next, and the rest of the slot.
TEST_F(BarriersOfUnequalMembers, PartsOfASlotBeginOnWhatIsKeptForThemThoughOthersArePrepared) {
  worker.template_at(2).request.memory = kMiB;
  worker.template_at(2).request.slots = MilliSlots{250};
  worker.assign({{.subtask = 0}, {.subtask = 1}, {.subtask = 2}});
  EXPECT_EQ(worker.started(), (List{0, 1, 2}));
  bring(4, MilliSlots{250}, kMiB);
  entitle(1, 7);
  EXPECT_EQ(answers(), 1U);
  worker.assign({{.subtask = 3, .template_index = 2}, {.subtask = 4, .template_index = 2}});
  PENSTOCK_EXPECT_COVERAGE_MARK("a job that has begun keeps the rest until it is asked again", entitle(1));
  EXPECT_EQ(worker.started(), (List{10, 11, 12, 13}));
  worker.ignore();
}

TEST_F(BarriersOfUnequalMembers, PartsOfASlotThatAPermitIsLeftForAreWaitedFor) {
  worker.template_at(2).request.memory = kMiB * 600;
  worker.assign({{.subtask = 0, .template_index = 2}});
  EXPECT_EQ(worker.started(), List{0});
  bring(8, MilliSlots{250}, kMiB * 400);
  entitle(2, 7);
  EXPECT_EQ(answers(), 0U) << "of two that may be prepared one waits for memory";
  worker.succeed(0);
  EXPECT_EQ(answers(), 1U);
  worker.ignore();
}

// Found by a review: one that waits for memory kept the others waiting, which are all that can begin.
TEST_F(BarriersOfUnequalMembers, OfThoseWithSeveralSlotsAsManyAreWaitedForAsBegin) {
  bring(3, kOneSlot * 2, kMiB * 400);
  entitle(4, 7);
  EXPECT_EQ(answers(), 1U);
  entitle(4);
  EXPECT_EQ(worker.started(), (List{10, 11}));
  worker.ignore();
}

TEST_F(BarriersOfUnequalMembers, OfThoseWithSeveralSlotsNoFewerAreWaitedForThanBegin) {
  worker.template_at(2).request.memory = kMiB * 600;
  worker.assign({{.subtask = 0, .template_index = 2}});
  EXPECT_EQ(worker.started(), List{0});
  bring(2, kOneSlot * 2, kMiB * 400);
  entitle(4, 7);
  EXPECT_EQ(answers(), 0U) << "a slot and memory are another job's";
  worker.succeed(0);
  EXPECT_EQ(answers(), 1U);
  entitle(4);
  EXPECT_EQ(worker.started(), (List{10, 11}));
  worker.ignore();
}

TEST_F(Barriers, MoreThanTheBandHasIsAllThatItHas) {
  entitle(kGang, 9, 7);
  EXPECT_EQ(answers(), Lines{"7: 2 held"});
}

// A band of two slots has no devices: the words were meant for another one.
TEST_F(Barriers, SlotsAreLimitedAlsoByAMessageThatNamesDevicesThatAreNotThere) {
  Entitlement entitlement{JobId{kGang}, BandIndex{0}, MilliSlots{}, 0};
  entitlement.device_slots = {500, 500, 0};
  worker.receive(EntitlementBatch{++version, {entitlement}});
  bring_gang();
  entitlement.slots = kOneSlot;
  worker.receive(EntitlementBatch{++version, {entitlement}});
  EXPECT_EQ(worker.started(), List{10});
}

}  // namespace
}  // namespace penstock::worker
