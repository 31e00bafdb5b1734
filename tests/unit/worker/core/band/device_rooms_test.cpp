#include "worker/core/band/device_rooms.hpp"

#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/latched_queue_words.hpp"
#include "worker/core/band/latched_queue.hpp"
#include "worker/core/band/queue_search.hpp"

namespace penstock::worker {
namespace {

ResourceVector gpus(std::int64_t milli, Bytes memory = {}) {
  ResourceVector request;
  request.slots = MilliSlots{milli};
  request.gpu = MilliGpu{milli};
  request.device_memory = memory;
  return request;
}

DeviceDescription device(std::uint32_t linked = 0, std::uint32_t node = 0, Bytes memory = kGiB * 80) {
  return {"GPU", "", "", memory, node, linked};
}

constexpr JobSlot kJob{0};
constexpr JobSlot kOther{1};

constexpr SlotIndex lane(std::uint16_t number) { return SlotIndex{number}; }

TEST(DeviceRooms, PartsFillTheFullestDeviceThatHasRoom) {
  DeviceRooms rooms{{device(), device(), device()}};
  rooms.take(kJob, lane(0), gpus(500));
  rooms.take(kJob, lane(1), gpus(700));
  rooms.take(kJob, lane(2), gpus(300));
  rooms.take(kJob, lane(3), gpus(400));
  EXPECT_EQ(rooms.of(lane(0), gpus(1000)), 0b001U);
  EXPECT_EQ(rooms.of(lane(1), gpus(1000)), 0b010U);
  EXPECT_EQ(rooms.of(lane(2), gpus(1000)), 0b010U) << "700 and 300 fill one";
  EXPECT_EQ(rooms.of(lane(3), gpus(1000)), 0b001U);
  EXPECT_TRUE(rooms.fit(kJob, gpus(1000)));
  EXPECT_FALSE(rooms.fit(kJob, gpus(2000))) << "one is whole, though 1,100 thousandths are free";
}

TEST(DeviceRooms, APartIsHeldBackByTheMemoryOfItsDeviceAlone) {
  DeviceRooms rooms{{device(), device()}};
  rooms.take(kJob, lane(0), gpus(100, kGiB * 60));
  rooms.take(kJob, lane(1), gpus(100, kGiB * 30));
  EXPECT_EQ(rooms.of(lane(1), gpus(1000)), 0b10U);
  EXPECT_FALSE(rooms.fit(kJob, gpus(100, kGiB * 60))) << "70 GiB are free, on two devices";
  rooms.give_back(kJob, lane(0), gpus(100, kGiB * 60));
  EXPECT_TRUE(rooms.fit(kJob, gpus(100, kGiB * 60)));
}

TEST(DeviceRooms, SeveralComeFromTheSmallestLinkedSetThatSuffices) {
  DeviceRooms rooms{{device(1, 0), device(2, 0), device(2, 1), device(1, 1), device(1, 1)}};
  PENSTOCK_EXPECT_COVERAGE_MARK("a run has several devices", rooms.take(kJob, lane(0), gpus(2000)));
  EXPECT_EQ(rooms.of(lane(0), gpus(1000)), 0b00110U) << "the pair, so that the three stay together";
  rooms.take(kJob, lane(1), gpus(2000));
  EXPECT_EQ(rooms.of(lane(1), gpus(1000)), 0b01001U);
  EXPECT_FALSE(rooms.fit(kJob, gpus(2000)));
  EXPECT_TRUE(rooms.fit(kJob, gpus(1000)));
}

TEST(DeviceRooms, WithoutLinksSeveralComeFromOneNode) {
  DeviceRooms rooms{{device(0, 0), device(0, 1), device(0, 0), device(0, 1), device(0, 1)}};
  rooms.take(kJob, lane(0), gpus(3000));
  EXPECT_EQ(rooms.of(lane(0), gpus(1000)), 0b11010U);
  rooms.take(kJob, lane(1), gpus(2000));
  EXPECT_EQ(rooms.of(lane(1), gpus(1000)), 0b00101U);
}

TEST(DeviceRooms, ALaneGetsTheDevicesThatItsRunnerKnows) {
  DeviceRooms rooms{{device(), device(), device()}};
  rooms.take(kJob, lane(0), gpus(1000));
  rooms.take(kJob, lane(1), gpus(1000));
  rooms.give_back(kJob, lane(0), gpus(1000));
  rooms.give_back(kJob, lane(1), gpus(1000));
  rooms.take(kJob, lane(1), gpus(1000));
  EXPECT_EQ(rooms.of(lane(1), gpus(1000)), 0b010U);
  EXPECT_TRUE(rooms.fit(kJob, gpus(1000), lane(0)));
  EXPECT_FALSE(rooms.fit(kJob, gpus(1000), lane(1)));
}

TEST(DeviceRooms, ALaneDoesNotKeepDevicesThatAreFarApart) {
  DeviceRooms rooms{{device(0, 0), device(0, 1), device(0, 0), device(0, 1)}};
  rooms.take(kJob, lane(0), gpus(1000));
  rooms.take(kJob, lane(1), gpus(1000));
  ASSERT_EQ(rooms.of(lane(1), gpus(1000)), 0b0100U);
  rooms.take(kJob, lane(2), gpus(1000));
  rooms.give_back(kJob, lane(0), gpus(1000));
  rooms.take(kJob, lane(3), gpus(2000));
  ASSERT_EQ(rooms.of(lane(3), gpus(2000)), 0b1001U) << "no node has two";
  rooms.give_back(kJob, lane(3), gpus(2000));
  rooms.give_back(kJob, lane(1), gpus(1000));
  rooms.take(kJob, lane(3), gpus(2000));
  EXPECT_EQ(rooms.of(lane(3), gpus(2000)), 0b0101U);
}

TEST(DeviceRooms, DevicesThatAreTooSmallAreLeftOut) {
  const std::vector<DeviceDescription> devices{device(0, 0, kGiB * 16), device(), device()};
  DeviceRooms rooms{devices};
  EXPECT_TRUE(rooms.fit(kJob, gpus(2000, kGiB * 40)));
  rooms.take(kJob, lane(0), gpus(1000, kGiB * 40));
  EXPECT_EQ(rooms.of(lane(0), gpus(1000)), 0b010U);
  EXPECT_FALSE(rooms.fit(kJob, gpus(2000, kGiB * 40)));
}

TEST(DeviceRooms, AJobIsKeptToItsPartOfEachDevice) {
  DeviceRooms rooms{{device(), device(), device()}};
  rooms.take(kOther, lane(0), gpus(500));
  rooms.keep_to(kJob, {0, 500, 1000});
  EXPECT_TRUE(rooms.any_kept());
  rooms.take(kJob, lane(1), gpus(500));
  EXPECT_EQ(rooms.of(lane(1), gpus(1000)), 0b010U) << "the first is fuller, and another job's";
  rooms.take(kJob, lane(2), gpus(400));
  EXPECT_EQ(rooms.of(lane(2), gpus(1000)), 0b100U);
  EXPECT_TRUE(rooms.exceeds_kept(kJob, gpus(700)));
  EXPECT_FALSE(rooms.exceeds_kept(kJob, gpus(600)));
  EXPECT_TRUE(rooms.exceeds_kept(kJob, gpus(2000)));
  EXPECT_FALSE(rooms.exceeds_kept(kOther, gpus(2000))) << "devices are not free, but it may use any";
  rooms.give_back(kJob, lane(1), gpus(500));
  rooms.keep_to(kJob, {});
  EXPECT_FALSE(rooms.any_kept());
  rooms.take(kJob, lane(1), gpus(500));
  EXPECT_EQ(rooms.of(lane(1), gpus(1000)), 0b001U);
}

TEST(DeviceRooms, WholeDevicesKeepOffThoseThatOthersShare) {
  DeviceRooms rooms{{device(1), device(1), device(2), device(2)}};
  rooms.keep_to(kJob, {0, 1000, 1000, 1000});
  rooms.take(kJob, lane(0), gpus(1000));
  EXPECT_EQ(rooms.of(lane(0), gpus(1000)), 0b0010U) << "of the smallest set of free ones";
  EXPECT_TRUE(rooms.fit(kJob, gpus(2000)));
  EXPECT_FALSE(rooms.fit(kJob, gpus(3000)));
  EXPECT_TRUE(rooms.fit(kOther, gpus(3000)));
}

TEST(DeviceRooms, ARunOfAnotherJobThatFollowsIsCountedAsItsOwn) {
  DeviceRooms rooms{{device(), device()}};
  rooms.take(kJob, lane(0), gpus(500));
  rooms.hand_over(kJob, kOther, lane(0), gpus(500));
  rooms.keep_to(kOther, {500, 0});
  EXPECT_TRUE(rooms.exceeds_kept(kOther, gpus(100)));
  rooms.keep_to(kJob, {500, 0});
  EXPECT_FALSE(rooms.exceeds_kept(kJob, gpus(500)));
  const ResourceVector half = gpus(500);
  EXPECT_TRUE(rooms.agree({{kOther, lane(0), &half}}));
  EXPECT_FALSE(rooms.agree({}));
}

class LatchedDevices : public ::testing::Test {
 protected:
  static ResourceVector capacity() {
    ResourceVector all = gpus(4000, kGiB * 320);
    return all;
  }
  void put(std::uint32_t record, const ResourceVector& request, JobSlot job = kJob) {
    queue.put(QueueItem{RecordIndex{record}, job, 0, record, &request, Bytes{0}});
    queue.validate();
  }
  std::vector<std::uint32_t> take() { return take_all(queue); }

  using List = std::vector<std::uint32_t>;
  const ResourceVector kHalf = gpus(500);
  const ResourceVector kTwo = gpus(2000);
  LatchedQueue queue{capacity(), {.bypass_max = 2, .scan_max = 8}, {device(), device(), device(), device()}};
};

TEST_F(LatchedDevices, AnItemWaitsForDevicesThatAreWhole) {
  put(0, kHalf);
  put(1, kTwo);
  put(2, kHalf);
  put(3, kHalf);
  EXPECT_EQ(take(), (List{0, 1, 2, 3})) << "halves share two devices";
  EXPECT_TRUE(queue.release(RecordIndex{0}));
  put(4, kTwo);
  EXPECT_EQ(take(), List{});
  EXPECT_EQ(obstacle(queue, RecordIndex{4}), "milli-slots 2000 > 1000") << "by the sums";
  EXPECT_TRUE(queue.release(RecordIndex{1}));
  put(5, kTwo);
  EXPECT_EQ(take(), List{4});
  EXPECT_TRUE(queue.release(RecordIndex{2}));
  EXPECT_TRUE(queue.release(RecordIndex{3}));
  EXPECT_EQ(take(), List{5});
}

TEST_F(LatchedDevices, PartsDoNotPassAnItemThatHasReservedForEver) {
  for (std::uint32_t i = 0; i < 5; ++i) put(i, kHalf);
  EXPECT_EQ(take(), (List{0, 1, 2, 3, 4}));
  EXPECT_TRUE(queue.release(RecordIndex{0}));
  EXPECT_TRUE(queue.release(RecordIndex{2}));
  put(10, kTwo);
  EXPECT_EQ(take(), List{});
  EXPECT_EQ(obstacle(queue, RecordIndex{10}), "gpu 2 > 1 free devices");
  put(11, kHalf);
  EXPECT_EQ(take(), List{11});
  put(12, kHalf);
  EXPECT_EQ(take(), List{12});
  put(13, kHalf);
  EXPECT_EQ(take(), List{}) << "it was passed twice";
  EXPECT_TRUE(queue.release(RecordIndex{11}));
  EXPECT_TRUE(queue.release(RecordIndex{12}));
  for (const std::uint32_t each : {1U, 3U}) EXPECT_TRUE(queue.release(RecordIndex{each}));
  EXPECT_EQ(take(), (List{10, 13}));
}

TEST_F(LatchedDevices, ARunThatFollowsHasTheDevicesOfItsLane) {
  put(0, kTwo);
  put(1, kTwo);
  put(2, kTwo);
  EXPECT_EQ(take(), (List{0, 1}));
  const std::vector<RecordIndex> running{RecordIndex{0}, RecordIndex{1}};
  std::vector<RecordIndex> offered;
  queue.offer(
      1, running, [](const QueueItem&) { return true; }, offered);
  ASSERT_EQ(offered.size(), 1U);
  const SlotIndex lane = queue.hand_over(RecordIndex{1}, RecordIndex{2});
  queue.validate();
  EXPECT_EQ(queue.lanes().devices.of(lane, kTwo), 0b1100U);
}

TEST_F(LatchedDevices, ARunThatHasLentItsSlotWaitsForItsOwnDevices) {
  put(0, kTwo);
  EXPECT_EQ(take(), List{0});
  EXPECT_TRUE(queue.yield_slot(RecordIndex{0}));
  queue.validate();
  put(1, kTwo);
  put(2, kHalf);
  EXPECT_EQ(take(), (List{1, 2}));
  EXPECT_TRUE(queue.resume_slot(RecordIndex{0}, 1));
  EXPECT_EQ(take(), List{});
  EXPECT_TRUE(queue.release(RecordIndex{2}));
  EXPECT_EQ(take(), List{});
  EXPECT_EQ(obstacle(queue, RecordIndex{0}), "gpu: another run is on its devices");
  EXPECT_TRUE(queue.release(RecordIndex{1}));
  EXPECT_EQ(take(), List{0});
}

TEST_F(LatchedDevices, AJobThatMayHaveNoMoreOfItsDevicesHidesNoOther) {
  queue.set_entitlement(kJob, MilliSlots::max(), 0, {500, 0, 0, 0});
  for (std::uint32_t record = 0; record < 20; ++record) put(record, kHalf);
  put(20, kTwo, kOther);
  EXPECT_EQ(take(), (List{0, 20}));
  queue.validate();
  EXPECT_EQ(obstacle(queue, RecordIndex{1}), "entitlement: the job holds all that it may on its devices of the band");
  EXPECT_FALSE(left_idle(queue).valid());
  queue.set_entitlement(kJob, MilliSlots::max(), 0, {500, 0, 0, 500});
  EXPECT_EQ(take(), List{1});
  EXPECT_TRUE(queue.release(RecordIndex{0}));
  EXPECT_EQ(take(), List{2});
  queue.set_entitlement(kJob, MilliSlots::max(), 0, {});
  EXPECT_EQ(take(), (List{3, 4})) << "the rest of two devices";
  queue.validate();
}

TEST_F(LatchedDevices, NothingIsOfferedWhileAJobIsKeptToDevices) {
  put(0, kTwo);
  put(1, kTwo);
  put(2, kTwo);
  EXPECT_EQ(take(), (List{0, 1}));
  queue.set_entitlement(kOther, MilliSlots::max(), 0, {0, 0, 0, 500});
  const std::vector<RecordIndex> running{RecordIndex{0}, RecordIndex{1}};
  std::vector<RecordIndex> offered;
  queue.offer(
      1, running, [](const QueueItem&) { return true; }, offered);
  EXPECT_TRUE(offered.empty());
}

TEST_F(LatchedDevices, ARunThatResumesGoesToItsOwnDevice) {
  put(0, kHalf);
  EXPECT_EQ(take(), List{0});
  EXPECT_TRUE(queue.yield_slot(RecordIndex{0}));
  queue.set_entitlement(kJob, MilliSlots::max(), 0, {0, 500, 0, 0});
  EXPECT_TRUE(queue.resume_slot(RecordIndex{0}, 1));
  EXPECT_EQ(take(), List{0});
  queue.validate();
}

}  // namespace
}  // namespace penstock::worker
