#include "worker/core/band/band.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

Entitlement gang_of(std::int64_t slots, std::uint64_t barrier = 1) {
  Entitlement entitlement;
  entitlement.job = JobId{1};
  entitlement.slots = kOneSlot * slots;
  entitlement.barrier = barrier;
  entitlement.barrier_max = std::chrono::seconds{10};
  return entitlement;
}

TEST(Band, AnEntitlementLimitsPermitsAndSlotsAlike) {
  WorkerParts parts{{}, 4};
  parts.band().set_entitlement(parts.job, MilliSlots{1500}, 0);
  std::vector<RecordIndex> records;
  for (std::uint32_t i = 0; i < 4; ++i) {
    parts.program.request.memory = Bytes{1};
    records.push_back(parts.add(i));
    parts.runs.flow.enqueue(records.back());
  }
  std::vector<Taken> taken;
  parts.band().prepare.take(taken);
  EXPECT_EQ(taken.size(), 2U) << "a permit for each slot that is begun";
  parts.band().lift_entitlement(parts.job);
  parts.band().prepare.take(taken);
  EXPECT_EQ(taken.size(), 4U);
}

TEST(Band, ARecordGivesBackItsPermitItsMemoryAndItsPlace) {
  WorkerParts parts;
  parts.program.request.memory = Bytes{300};
  const RecordIndex first = parts.run(0);
  const RecordIndex second = parts.run(1);
  EXPECT_EQ(parts.record(second).state, SubtaskState::Ready);
  EXPECT_EQ(parts.band().quota.used(), Bytes{600});
  parts.band().dirty = false;
  parts.band().give_back(second, parts.record(second));
  EXPECT_TRUE(parts.band().dirty) << "others may use it";
  EXPECT_EQ(parts.band().quota.used(), Bytes{300});
  EXPECT_FALSE(parts.band().execute.waits(second));
  EXPECT_FALSE(parts.band().prepare.holds(second));
  EXPECT_TRUE(parts.band().execute.holds(first));
}

TEST(Band, AGangIsReadyWhenAllItsSlotsAreHeld) {
  WorkerParts parts{{}, 2};
  const RecordIndex before = parts.run(0);
  Band& band = parts.band();
  const JobSlot gang = parts.tables.open_job(JobId{2});
  band.join_barrier(gang, gang_of(2), parts.event.now, std::chrono::seconds{5});
  ASSERT_EQ(band.barriers.size(), 1U);
  EXPECT_EQ(band.barriers[0].until, parts.event.now + std::chrono::seconds{15});
  EXPECT_TRUE(band.waits_at_barrier(gang));
  const auto ready = [&] {
    return band.is_ready_to_begin(band.barriers[0], parts.tables.jobs, parts.tables.subtasks, parts.event.now);
  };
  EXPECT_FALSE(ready()) << "another run has one of them";
  band.execute.remove(before);
  parts.runs.pump.pump_all();
  EXPECT_TRUE(ready());
  band.give_back_barrier(band.barriers[0]);
  EXPECT_FALSE(band.waits_at_barrier(gang));
}

TEST(Band, OnlyAJobThatWaitedInVainIsToldSo) {
  WorkerParts parts{{}, 2};
  Band& band = parts.band();
  EXPECT_FALSE(band.leave_barrier(parts.job, false)) << "it was at none";
  band.join_barrier(parts.job, gang_of(1), parts.event.now, {});
  EXPECT_FALSE(band.leave_barrier(parts.job, true)) << "it begins";
  band.join_barrier(parts.job, gang_of(1), parts.event.now, {});
  EXPECT_TRUE(band.leave_barrier(parts.job, false));
  EXPECT_TRUE(band.barriers.empty());
}

TEST(Band, ItsLoadCountsEachStage) {
  WorkerParts parts;
  parts.program.request.memory = Bytes{10};
  parts.run(0);
  parts.run(1);
  const BandLoad load = parts.band().load(Bytes{77});
  EXPECT_EQ(load.running, 1U);
  EXPECT_EQ(load.ready, 1U);
  EXPECT_EQ(load.queued, 0U);
  EXPECT_EQ(load.quota_used, Bytes{20});
  EXPECT_EQ(load.store_used, Bytes{77});
}

TEST(Band, AFreeSlotBesideAnItemIsABreach) {
  WorkerParts parts;
  parts.runs.flow.enqueue(parts.add(0));
  parts.band().validate(parts.tables.subtasks, false);
  parts.band().dirty = false;
  EXPECT_DEATH(parts.band().validate(parts.tables.subtasks, false), "1:0 may start");
}

}  // namespace
}  // namespace penstock::worker
