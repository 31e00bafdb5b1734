#include "worker/core/runs/band_pump.hpp"

#include "tests/support/coverage_marks.hpp"
#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

TEST(BandPump, ItemsMoveAsFarAsPermitsMemoryAndSlotsAllow) {
  WorkerParts parts;
  parts.program.request.memory = Bytes{400};
  const RecordIndex first = parts.run(0);
  const RecordIndex second = parts.run(1);
  const RecordIndex third = parts.run(2);
  EXPECT_EQ(parts.record(first).state, SubtaskState::Running);
  EXPECT_EQ(parts.record(second).state, SubtaskState::Ready);
  EXPECT_EQ(parts.record(third).state, SubtaskState::Quota);
  EXPECT_FALSE(parts.band().dirty);
  parts.band().validate(parts.tables.subtasks, false);
}

TEST(BandPump, APreparedSubtaskOfAClosedJobGivesItsMemoryToTheFirstInLine) {
  WorkerParts parts;
  parts.run(0);
  parts.program.request.memory = Bytes{600};
  const RecordIndex closed = parts.run(1);
  ASSERT_EQ(parts.record(closed).state, SubtaskState::Ready);
  parts.band().set_entitlement(parts.job, MilliSlots{}, 0);
  parts.job = parts.tables.open_job(JobId{2});
  const RecordIndex open = parts.run(0);
  EXPECT_EQ(parts.record(open).state, SubtaskState::Ready);
  EXPECT_TRUE(parts.record(open).holds_quota);
  EXPECT_FALSE(parts.record(closed).holds_quota);
  EXPECT_EQ(parts.tables.counters.demoted, 1U);
}

// Found by seeds: the policy had given the slot to a job that waited for the memory of the run that wanted it back.
TEST(BandPump, ARunThatHasLentItsSlotGoesOnWhereOthersWaitForItsMemory) {
  WorkerParts parts;
  parts.program.request.memory = Bytes{600};
  const RecordIndex lender = parts.run(0);
  Band& band = parts.band();
  ASSERT_TRUE(band.execute.yield_slot(lender));
  parts.tables.subtasks.move(parts.record(lender), SubtaskState::Yielded);
  band.set_entitlement(parts.job, MilliSlots{}, 0);
  parts.job = parts.tables.open_job(JobId{2});
  const RecordIndex waits = parts.run(1);
  ASSERT_EQ(parts.record(waits).state, SubtaskState::Quota);
  ASSERT_TRUE(band.execute.resume_slot(lender, 0));
  band.dirty = true;
  PENSTOCK_EXPECT_COVERAGE_MARK("a run got its slot back as others waited for its memory", parts.runs.pump.pump_all());
  EXPECT_TRUE(band.execute.holds(lender));
  EXPECT_EQ(parts.record(lender).state, SubtaskState::Running);
  EXPECT_EQ(parts.record(waits).state, SubtaskState::Quota);
}

TEST(BandPump, ARunWithoutAShareWaitsForItsSlotWhereNobodyWaitsForItsMemory) {
  WorkerParts parts;
  const RecordIndex lender = parts.run(0);
  Band& band = parts.band();
  ASSERT_TRUE(band.execute.yield_slot(lender));
  parts.tables.subtasks.move(parts.record(lender), SubtaskState::Yielded);
  band.set_entitlement(parts.job, MilliSlots{}, 0);
  ASSERT_TRUE(band.execute.resume_slot(lender, 0));
  band.dirty = true;
  parts.runs.pump.pump_all();
  EXPECT_FALSE(band.execute.holds(lender));
}

TEST(BandPump, WithoutGrantsReadySubtasksGoBack) {
  WorkerParts parts;
  parts.run(0);
  const RecordIndex ready = parts.run(1);
  ASSERT_EQ(parts.record(ready).state, SubtaskState::Ready);
  parts.band().quota.set_paused(true);
  parts.runs.pump.unready(parts.band());
  EXPECT_EQ(parts.record(ready).state, SubtaskState::Queued);
}

TEST(BandPump, MembersOfAGangThatDoesNotBeginHoldNothing) {
  WorkerParts parts;
  parts.program.request.memory = Bytes{100};
  parts.run(0);
  const RecordIndex member = parts.run(1);
  parts.runs.pump.unprepare(parts.job, parts.band());
  EXPECT_TRUE(parts.record(member).holds_quota) << "its job is not closed";
  parts.band().execute.set_entitlement(parts.job, MilliSlots{}, 0);
  parts.runs.pump.unprepare(parts.job, parts.band());
  EXPECT_FALSE(parts.record(member).holds_quota);
  EXPECT_EQ(parts.record(member).state, SubtaskState::Queued);
}

}  // namespace
}  // namespace penstock::worker
