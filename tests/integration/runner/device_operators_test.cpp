// Operators with data that stay on the device of their band, through the lanes that run them: on a driver of the tests'
// own.
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <mutex>

#include "worker/runner/native/device_run.hpp"
#include "worker/runner/native/native_lanes.hpp"
#include "worker/runner/native/operator_registry.hpp"

namespace penstock::worker {
namespace {

constexpr Bytes kDevice{1000};
constexpr Bytes kAll{1600};  ///< Of the device; the data may have `kDevice` of it.

class DeviceOperators : public ::testing::Test {
 protected:
  DeviceOperators() {
    const Result<void> loaded = registry.load(PENSTOCK_DEVICE_OPERATORS);
    EXPECT_TRUE(loaded.has_value()) << to_string(loaded.error());
    auto made = std::make_shared<DeviceTier>(store, "GPU-11111111-aaaa-bbbb-cccc-000000000001", kDevice, kAll,
                                             PENSTOCK_FAKE_CUDA);
    tier = made.get();
    store.add_tier(std::move(made));
    lanes = std::make_unique<NativeLanes>(store, config_of(tier), [this] { tell(); });
  }

  static NativeLanesConfig config_of(DeviceTier* tier) {
    NativeLanesConfig config;
    config.devices = BandDevices{{{"GPU-1", tier}}};
    return config;
  }
  void tell() {
    const std::lock_guard lock{mutex};
    ended = true;
    news.notify_one();
  }
  /// Runs one operator to its end; its output.
  DataKey run(const std::string& name, const std::string& payload, std::vector<DataKey> inputs = {}) {
    const OperatorRegistry::Found found = registry.find(name);
    program.request.device_memory = requested;
    NativeRun what;
    what.program = &program;
    what.id = {JobId{1}, SubtaskIndex{++runs}};
    what.attempt = Attempt{1};
    what.function = found.run;
    what.on_devices = found.on_devices && knows_devices;
    what.payload = payload;
    std::unique_lock lock{mutex};
    ended = false;
    lanes->start(SlotIndex{0}, what, std::move(inputs));
    lanes->open_offers();
    EXPECT_TRUE(news.wait_for(lock, std::chrono::seconds{30}, [&] { return ended; }));
    std::vector<NativeEnd> ends;
    lanes->withdraw(ends);
    EXPECT_EQ(ends.size(), 1U);
    if (!ends.empty()) end = std::move(ends.front());
    return {what.id, 0};
  }
  std::string text_at(const DataKey& key) {
    const BlobPtr blob = store.find(key);
    return blob == nullptr ? "none"
                           : std::string{reinterpret_cast<const char*>(blob->bytes().data()), blob->bytes().size()};
  }
  std::string why() const { return end.failure == nullptr ? "" : end.failure->message; }

  ObjectStore store;
  DeviceTier* tier = nullptr;
  OperatorRegistry registry;
  Template program;
  std::mutex mutex;
  std::condition_variable news;
  bool ended = false;
  std::uint32_t runs = 0;
  Bytes requested;            ///< Of the device, by the next runs.
  bool knows_devices = true;  ///< As if their library had said PENSTOCK_ON_DEVICES.
  NativeEnd end;
  std::unique_ptr<NativeLanes> lanes;
};

TEST_F(DeviceOperators, OutputsStayOnTheDeviceAndAreReadThere) {
  const DataKey one = run("device_literal", "ab");
  ASSERT_TRUE(end.succeeded) << why();
  EXPECT_EQ(end.outputs, (std::vector<OutputReport>{{0, 2}}));
  const DataKey both = run("device_concatenate", "", {one, one});
  ASSERT_TRUE(end.succeeded) << why();
  EXPECT_EQ(store.find_here(one), nullptr);
  EXPECT_EQ(tier->used(), Bytes{6});
  EXPECT_EQ(text_at(run("device_tell", "", {both, one})), "device:ababdevice:ab");
}

TEST_F(DeviceOperators, WhoKnowsNoDevicesFindsThemOnTheHost) {
  const DataKey one = run("device_literal", "ab");
  const DataKey two = run("device_literal", "cd");
  EXPECT_EQ(text_at(run("concatenate", "", {one, two})), "abcd");
  EXPECT_EQ(text_at(run("device_tell", "", {one})), "host:ab") << "it is in both places now";
}

TEST_F(DeviceOperators, WhatIsOnTheHostIsBroughtToTheDevice) {
  const DataKey host = run("literal", "abc");
  EXPECT_EQ(text_at(run("device_concatenate", "", {host, host})), "abcabc");
}

TEST_F(DeviceOperators, WhatIsDroppedIsGoneFromTheDevice) {
  const DataKey one = run("device_literal", "ab");
  store.drop(one);
  EXPECT_EQ(tier->used(), Bytes{0});
  EXPECT_EQ(text_at(one), "none");
  run("device_concatenate", "", {one});
  EXPECT_EQ(why(), "input " + to_string(one) + " is not in the store");
}

TEST_F(DeviceOperators, MoreThanTheDeviceHoldsGoesThroughTheHost) {
  std::vector<DataKey> made;
  for (char letter = 'a'; letter < 'g'; ++letter) made.push_back(run("device_literal", std::string(300, letter)));
  EXPECT_LE(tier->used(), kDevice);
  for (std::size_t i = 0; i < made.size(); ++i)
    EXPECT_EQ(text_at(run("device_concatenate", "", {made[i]})), std::string(300, static_cast<char>('a' + i)));
}

TEST_F(DeviceOperators, WhatCanNeverFitFailsWithTheNumbers) {
  run("device_literal", std::string(1001, 'x'));
  ASSERT_FALSE(end.succeeded);
  EXPECT_NE(why().find("1001 bytes"), std::string::npos) << why();
  EXPECT_EQ(tier->used(), Bytes{0});
}

// Lack of room for now is no mistake of the operator's, and is charged to no subtask.
TEST_F(DeviceOperators, WhatFindsNoRoomForNowIsRunElsewhereOrLater) {
  const DataKey large = run("device_literal", std::string(900, 'x'));
  DeviceStore* const device = tier->open().value();
  const Result<std::uint64_t> pinned = device->pin(large);
  ASSERT_TRUE(pinned);
  run("device_literal", std::string(200, 'y'));
  ASSERT_FALSE(end.succeeded);
  EXPECT_EQ(end.failure->failure, FailureClass::Exhausted) << why();
  device->unpin(large, *pinned);
  run("device_literal", std::string(200, 'y'));
  EXPECT_TRUE(end.succeeded) << why();
}

// The run was placed, as the band has so much memory, and then found the device taken by data.
TEST_F(DeviceOperators, DataLeaveTheDeviceBeforeARunThatRequestsItsMemory) {
  const DataKey one = run("device_literal", std::string(400, 'x'));
  const DataKey two = run("device_literal", std::string(400, 'y'));
  requested = Bytes{1000};
  EXPECT_EQ(text_at(run("literal", "abc")), "abc");
  EXPECT_NE(store.find_here(one), nullptr);
  EXPECT_EQ(store.find_here(two), nullptr) << "there is room for it beside the run";
  EXPECT_EQ(tier->used(), Bytes{400});
  // Inputs and outputs of one that knows devices are a part of what it requests.
  requested = Bytes{1600};
  run("device_concatenate", "", {two, two});
  ASSERT_FALSE(end.succeeded) << "the device's data may not take so much";
  requested = Bytes{1200};
  run("device_concatenate", "", {two});
  EXPECT_TRUE(end.succeeded) << why();
  requested = {};
  EXPECT_EQ(text_at(run("device_concatenate", "", {one})), std::string(400, 'x')) << "what was given is given back";
}

// Found by a review: the store could never bring them, as all of the device was claimed by the run itself.
TEST_F(DeviceOperators, WhoRequestsAllOfADeviceFindsItsInputsThere) {
  const DataKey host = run("literal", std::string(400, 'x'));
  requested = kAll;
  for (const bool knows : {false, true}) {
    knows_devices = knows;
    const DataKey made = run("device_concatenate", "", {host});
    ASSERT_TRUE(end.succeeded) << why();
    EXPECT_EQ(text_at(made), std::string(400, 'x'));
  }
}

TEST_F(DeviceOperators, InputsThatAreNotOnTheDeviceAreNoPartOfWhatIsFree) {
  const DataKey host = run("literal", std::string(500, 'x'));
  const DataKey other = run("device_literal", std::string(900, 'y'));
  requested = Bytes{800};
  EXPECT_EQ(text_at(run("device_tell", "", {host})), "host:" + std::string(500, 'x'));
  EXPECT_NE(store.find_here(other), nullptr) << "the run might have found 700 bytes only";
}

TEST_F(DeviceOperators, ADatumThatIsTwoInputsIsOnTheDeviceOnce) {
  const DataKey twice = run("device_literal", std::string(100, 'x'));
  const DataKey other = run("device_literal", std::string(900, 'y'));
  requested = Bytes{800};
  run("device_tell", "", {twice, twice});
  ASSERT_TRUE(end.succeeded) << why();
  EXPECT_NE(store.find_here(other), nullptr);
}

TEST_F(DeviceOperators, AnInputThatIsReadOnTheHostLeavesTheDeviceToTheRun) {
  const DataKey one = run("device_literal", std::string(400, 'x'));
  requested = kAll;
  EXPECT_EQ(text_at(run("device_tell", "", {one})), "device:" + std::string(400, 'x'));
  EXPECT_EQ(tier->used(), Bytes{0});
}

TEST_F(DeviceOperators, AnOutputThatIsMadeElsewhereAfterAllIsFreeForTheRunAgain) {
  DeviceStore* const device = tier->open().value();
  {
    DeviceRun run{tier, {}, kAll};
    ASSERT_TRUE(run.output(0, Bytes{500}));
    ASSERT_TRUE(run.output(0, Bytes{700}));
    run.take_back(0);
    EXPECT_EQ(tier->used(), Bytes{0});
    EXPECT_EQ(device->allocate(Bytes{1}).error().code, ErrorCode::ResourceExhausted);
  }
  EXPECT_TRUE(device->allocate(kDevice));
}

// Found by a review: the oldest left, and came straight back.
TEST_F(DeviceOperators, ARunsOwnInputsDoNotLeaveForIt) {
  const DataKey one = run("device_literal", std::string(300, 'x'));
  const DataKey two = run("device_literal", std::string(500, 'y'));
  requested = Bytes{1300};
  run("device_concatenate", "", {one});
  ASSERT_TRUE(end.succeeded) << why();
  EXPECT_EQ(store.find_here(one), nullptr);
  EXPECT_NE(store.find_here(two), nullptr);
}

TEST_F(DeviceOperators, WhatIsMadeAgainOnTheHostReplacesWhatTheDeviceHas) {
  const DataKey made = run("device_literal", "old");
  const auto blob = Blob::allocate(3);
  std::memcpy(blob->data(), "new", 3);
  store.put(made, blob);
  EXPECT_EQ(tier->bytes_of(made), Bytes{0});
  EXPECT_EQ(text_at(run("device_concatenate", "", {made})), "new");
}

TEST_F(DeviceOperators, ABandWithoutADeviceSaysSo) {
  lanes = std::make_unique<NativeLanes>(store, config_of(nullptr), [this] { tell(); });
  run("device_literal", "ab");
  EXPECT_FALSE(end.succeeded);
  EXPECT_NE(why().find("this band has none"), std::string::npos) << why();
}

TEST_F(DeviceOperators, ANewLifeBeginsWithAnEmptyDevice) {
  run("device_literal", "ab");
  store.clear();
  EXPECT_EQ(tier->used(), Bytes{0});
}

}  // namespace
}  // namespace penstock::worker
