// The witness of barriers notices what it is there for: each rule is broken once.
#include "tests/simulation/world/barrier_witness.hpp"

#include <gtest/gtest.h>

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

constexpr JobId kGang{1};
constexpr BandIndex kBand{0};
constexpr Instant kNow{10s};

Entitlement asked(std::uint64_t barrier, std::int64_t slots = 2) {
  Entitlement entitlement{kGang, kBand, kOneSlot * slots, 0, barrier};
  entitlement.barrier_max = 3s;
  return entitlement;
}

MilliSlots nothing_runs(JobId) { return {}; }

TEST(ReservationWitness, AGangIsClosedFromItsBarrierOnUntilItIsOpened) {
  ReservationWitness witness;
  EXPECT_FALSE(witness.is_closed(kGang, kBand));
  witness.told(asked(5), kNow, 1s);
  EXPECT_TRUE(witness.is_closed(kGang, kBand));
  witness.told(asked(0, 0), kNow, 1s);
  EXPECT_TRUE(witness.is_closed(kGang, kBand)) << "given back is not begun";
  witness.returned();
  EXPECT_TRUE(witness.is_closed(kGang, kBand));
  witness.told(asked(0), kNow, 1s);
  EXPECT_FALSE(witness.is_closed(kGang, kBand));
}

TEST(ReservationWitness, WhatIsHeldIsKeptFromOthersButForWhatTheGangRuns) {
  ReservationWitness witness;
  witness.told(asked(5), kNow, 1s);
  EXPECT_EQ(witness.kept_from(JobId{2}, kBand, kNow, nothing_runs), MilliSlots{}) << "not answered yet";
  witness.answered({kGang, kBand, 5, kOneSlot * 2});
  EXPECT_TRUE(witness.holds(kGang, kBand, 5));
  EXPECT_EQ(witness.held_for(kGang, kBand), kOneSlot * 2);
  EXPECT_FALSE(witness.holds(kGang, kBand, 4));
  EXPECT_EQ(witness.kept_from(JobId{2}, kBand, kNow, nothing_runs), kOneSlot * 2);
  EXPECT_EQ(witness.kept_from(JobId{2}, kBand, kNow, [](JobId) { return kOneSlot; }), kOneSlot);
  EXPECT_EQ(witness.kept_from(kGang, kBand, kNow, nothing_runs), MilliSlots{});
  witness.answered({kGang, kBand, 5, MilliSlots{}});
  EXPECT_FALSE(witness.holds(kGang, kBand, 5));
}

// Seed 500140661: a worker that had stood still gave the slots back and let others start before it said so.
TEST(ReservationWitness, WhatIsPastItsTimeIsKeptFromNobody) {
  ReservationWitness witness;
  witness.told(asked(5), kNow, 1s);
  witness.answered({kGang, kBand, 5, kOneSlot * 2});
  EXPECT_EQ(witness.kept_from(JobId{2}, kBand, kNow + 4s - Duration{1}, nothing_runs), kOneSlot * 2);
  EXPECT_EQ(witness.kept_from(JobId{2}, kBand, kNow + 4s, nothing_runs), MilliSlots{});
  EXPECT_NE(witness.overdue(kNow + 4s), "") << "it must say so at once";
}

// Seed 130047471: a member of a gang that had begun waited for a licence that was kept for another gang.
TEST(ReservationWitness, WhatOtherGangsAskForBesideSlotsMayBeKeptForThem) {
  ReservationWitness witness;
  Entitlement with_licences = asked(5);
  with_licences.cpu = MilliCpu{500};
  with_licences.named = {{"licence", 2}};
  witness.told(with_licences, kNow, 1s);
  const auto beside = [&](JobId job, BandIndex band) {
    ResourceVector held;
    held.cpu = MilliCpu{1000};
    held.named = {{"licence", 1}};
    witness.add_beside(job, band, held);
    return std::pair{held.cpu.value(), amount_of(held.named, "licence")};
  };
  EXPECT_EQ(beside(JobId{2}, kBand), (std::pair<std::int64_t, std::int64_t>{1500, 3}));
  EXPECT_EQ(beside(kGang, kBand), (std::pair<std::int64_t, std::int64_t>{1000, 1})) << "its own";
  EXPECT_EQ(beside(JobId{2}, BandIndex{1}), (std::pair<std::int64_t, std::int64_t>{1000, 1})) << "elsewhere";
  witness.told(asked(0), kNow, 1s);
  EXPECT_EQ(beside(JobId{2}, kBand), (std::pair<std::int64_t, std::int64_t>{1000, 1})) << "it has begun";
}

TEST(ReservationWitness, WhatIsNotGivenBackInTimeIsOverdue) {
  ReservationWitness witness;
  witness.told(asked(5), kNow, 1s);
  witness.told(asked(5), kNow + 2s, 1s);
  EXPECT_EQ(witness.overdue(kNow + 4s - Duration{1}), "");
  EXPECT_EQ(witness.overdue(kNow + 4s), "slots stay reserved for the gang of job-1 past their time");
  witness.forgotten(kGang);
  EXPECT_EQ(witness.overdue(kNow + 4s), "");
}

TEST(BarrierWitness, AGangThatBeginsWithoutAnyBarrierIsSeenOnce) {
  BarrierWitness witness;
  EXPECT_FALSE(witness.begins_unasked(WorkerId{1}, BandKind::Cpu, asked(5), true));
  EXPECT_FALSE(witness.begins_unasked(WorkerId{1}, BandKind::Cpu, asked(0, 0), true));
  EXPECT_TRUE(witness.begins_unasked(WorkerId{1}, BandKind::Cpu, asked(0), true));
  EXPECT_FALSE(witness.begins_unasked(WorkerId{2}, BandKind::Cpu, asked(0), true)) << "it has begun";
  BarrierWitness another;
  another.told(WorkerId{1}, asked(5));
  another.told(WorkerId{2}, asked(5));
  EXPECT_EQ(another.asked_for(kGang, 5), kOneSlot * 4);
  EXPECT_FALSE(another.begins_unasked(WorkerId{1}, BandKind::Cpu, asked(0), true));
  BarrierWitness older;
  EXPECT_FALSE(older.begins_unasked(WorkerId{1}, BandKind::Cpu, asked(5), false));
  EXPECT_FALSE(older.begins_unasked(WorkerId{2}, BandKind::Cpu, asked(0), true)) << "it has begun on the older worker";
}

TEST(BarrierWitness, KnowsWhatAGangWasLetBeginOnUntilSomethingElseIsSaid) {
  const BarrierWitness::Place first{WorkerId{1}, kBand};
  const BarrierWitness::Place second{WorkerId{2}, kBand};
  const BarrierAnswer gives_back{kGang, kBand, 5, MilliSlots{}};
  BarrierWitness witness;
  for (const std::uint32_t worker : {1U, 2U}) witness.told(WorkerId{worker}, asked(5));
  EXPECT_FALSE(witness.has_begun_on(first, gives_back));
  for (const std::uint32_t worker : {1U, 2U}) witness.told(WorkerId{worker}, asked(0));
  EXPECT_TRUE(witness.has_begun_on(first, gives_back));
  EXPECT_TRUE(witness.has_begun_on(second, gives_back));
  EXPECT_FALSE(witness.has_begun_on(second, {kGang, kBand, 4, MilliSlots{}})) << "of an earlier one";
  EXPECT_FALSE(witness.has_begun_on(second, {kGang, kBand, 5, kOneSlot})) << "it holds it";
  witness.told(WorkerId{2}, asked(0, 1));
  EXPECT_TRUE(witness.has_begun_on(second, gives_back)) << "a part of it";
  witness.told(WorkerId{2}, asked(0, 0));
  EXPECT_FALSE(witness.has_begun_on(second, gives_back));
  witness.told(WorkerId{1}, asked(6));
  EXPECT_FALSE(witness.has_begun_on(first, gives_back));
}

TEST(BarrierWitness, KnowsWhatABarrierNeedsWhenItIsOpened) {
  BarrierWitness witness;
  EXPECT_EQ(witness.told(WorkerId{1}, asked(5)), 0U);
  EXPECT_EQ(witness.told(WorkerId{2}, asked(5)), 0U);
  EXPECT_EQ(witness.told(WorkerId{3}, asked(5)), 0U);
  EXPECT_EQ(witness.told(WorkerId{3}, asked(0, 0)), 0U) << "that is given back";
  EXPECT_EQ(witness.told(WorkerId{1}, asked(0)), 5U);
  EXPECT_EQ(witness.places_of(kGang, 5),
            (std::vector<BarrierWitness::Place>{{WorkerId{1}, kBand}, {WorkerId{2}, kBand}}));
  EXPECT_EQ(witness.told(WorkerId{2}, asked(0)), 0U) << "once";
}

}  // namespace
}  // namespace penstock::simulation
