#include "supervisor/core/worker_table.hpp"

#include <gtest/gtest.h>

#include "common/protocol/policy_config.hpp"

namespace penstock::supervisor {
namespace {

Register worker_with(std::vector<std::int64_t> milli_slots, const std::string& name = "w") {
  Register description;
  description.name = name;
  for (const std::int64_t slots : milli_slots) {
    BandDescription band;
    band.name = "numa-" + std::to_string(description.bands.size());
    band.capacity.slots = MilliSlots{slots};
    description.bands.push_back(band);
  }
  return description;
}

TEST(WorkerTable, FindsWorkersByIdByNameAndByNumber) {
  WorkerTable table;
  const WorkerSlot slot = table.add(WorkerId{7}, Incarnation{1}, worker_with({1000}, "big"));
  EXPECT_EQ(table.find(WorkerId{7}), slot);
  EXPECT_EQ(table.find("big"), slot);
  EXPECT_EQ(table.find("w7"), slot);
  EXPECT_FALSE(table.find(WorkerId{8}).valid());
  EXPECT_FALSE(table.find("small").valid());
}

// Found with two workers that came in another order than their names have.
TEST(WorkerTable, ANameWinsOverANumber) {
  WorkerTable table;
  const WorkerSlot first = table.add(WorkerId{1}, Incarnation{1}, worker_with({1000}, "w2"));
  EXPECT_EQ(table.find("w1"), first) << "nobody has that name";
  const WorkerSlot second = table.add(WorkerId{2}, Incarnation{2}, worker_with({1000}, "w1"));
  EXPECT_EQ(table.find("w1"), second);
  EXPECT_EQ(table.find("w2"), first);
  const BandEntry& of_first = table[table[first].bands.front()];
  const BandEntry& of_second = table[table[second].bands.front()];
  EXPECT_FALSE(table.selects({"w1", {}}, of_first));
  EXPECT_TRUE(table.selects({"w1", {}}, of_second));
  EXPECT_TRUE(table.selects({"w2", "numa-0"}, of_first));
  EXPECT_FALSE(table.selects({"w2", "numa-1"}, of_first));
  const std::uint64_t epoch = table.epoch();
  const BandSlot band_of_first = table[first].bands.front();
  table.remove(second);
  std::vector<BandSlot> looked_at_again;
  ASSERT_TRUE(table.remembers(epoch));
  for (const BandSlot band : table.changed_since(epoch)) looked_at_again.push_back(band);
  EXPECT_NE(std::find(looked_at_again.begin(), looked_at_again.end(), band_of_first), looked_at_again.end())
      << "w1 means the first from now on";
}

TEST(WorkerTable, SlotsAreRoundedUpAndNeverNone) {
  WorkerTable table;
  const WorkerSlot slot = table.add(WorkerId{1}, Incarnation{1}, worker_with({4000, 1500, 0, -5, INT64_MAX}));
  const std::vector<BandSlot>& bands = table[slot].bands;
  EXPECT_EQ(table[bands[0]].slots, 4U);
  EXPECT_EQ(table[bands[1]].slots, 2U);
  EXPECT_EQ(table[bands[2]].slots, 1U);
  EXPECT_EQ(table[bands[3]].slots, 1U);
  EXPECT_GE(table[bands[4]].slots, 1U);
  EXPECT_LE(table[bands[4]].slots, 1'000'000U);
}

TEST(Registration, WhatCannotBeIsRefused) {
  const auto refusal = [](auto change) {
    Register description = worker_with({1000}, "good");
    change(description);
    const Result<void> result = check_registration(description, 64);
    return result.has_value() ? std::string{} : result.error().message;
  };
  EXPECT_EQ(refusal([](Register&) {}), "");
  EXPECT_EQ(refusal([](Register& r) { r.name.clear(); }), "has no name");
  EXPECT_EQ(refusal([](Register& r) { r.name = "evil\x1b[2J"; }), "contains a control character");
  EXPECT_EQ(refusal([](Register& r) { r.host = std::string(1, '\0'); }), "contains a control character");
  EXPECT_EQ(refusal([](Register& r) { r.name = std::string(64, 'x'); }), "");
  EXPECT_EQ(refusal([](Register& r) { r.name = std::string(65, 'x'); }), "is 65 bytes long; at most 64 are allowed");
  EXPECT_EQ(refusal([](Register& r) { r.bands[0].name = "../up"; }), "contains '..' as a path component");
  const auto with_devices = [&](std::size_t count, std::int64_t gpu) {
    return refusal([&](Register& r) {
      r.bands[0].capacity.gpu = MilliGpu{gpu};
      r.bands[0].devices.assign(count, DeviceDescription{});
    });
  };
  EXPECT_EQ(with_devices(kBandDevicesMax, 16'000), "");
  EXPECT_NE(with_devices(kBandDevicesMax + 1, 17'000), "");
  EXPECT_NE(with_devices(2, 1000), "") << "the amounts of a band are those of its devices";
  EXPECT_EQ(refusal([](Register& r) { r.operators = {"a\n"}; }), "contains a control character");
  EXPECT_EQ(refusal([](Register& r) { r.crash = OperatorCrash{.message = std::string(1024, 'x')}; }), "");
  EXPECT_EQ(refusal([](Register& r) { r.crash = OperatorCrash{.message = std::string(1025, 'x')}; }),
            "is 1025 bytes long; at most 1024 are allowed");
  EXPECT_EQ(refusal([](Register& r) { r.crash = OperatorCrash{.message = "\x1b"}; }), "contains a control character");
  EXPECT_EQ(refusal([](Register& r) { r.bands[0].capacity.memory = Bytes{-1}; }),
            "says of its band 'numa-0' that it has less than nothing");
  EXPECT_EQ(refusal([](Register& r) {
              r.bands[0].capacity.named = {{"licences", -1}};
            }),
            "has less than nothing of 'licences'");
  EXPECT_EQ(refusal([](Register& r) { r.bands.resize(kWorkerBandsMax); }), "");
  EXPECT_EQ(refusal([](Register& r) { r.bands.resize(kWorkerBandsMax + 1); }),
            "has 1025 bands; at most 1024 are allowed");
}

// Spec: policy-determined 9.4.
TEST(Registration, AWorkerThatComesAgainIsInItsPoolWithItsDevices) {
  PolicyConfig policy;
  policy.pools = {{.name = "gpu", .workers = {"g*"}}, {.name = "rest"}};
  Register known;
  known.name = "g1";
  known.bands.resize(2);
  known.bands[1].kind = BandKind::Gpu;
  known.bands[1].devices = {{"u0", "", "", Bytes{}, 0, 0}};
  EXPECT_TRUE(check_unchanged(known, known, policy));
  const auto refusal = [&](const Register& now) { return to_string(check_unchanged(known, now, policy).error()); };
  Register now = known;
  now.name = "w1";
  EXPECT_EQ(refusal(now), "worker 'g1': its resource pool has changed: it was 'gpu' (restart the worker)");
  now = known;
  now.bands.pop_back();
  EXPECT_EQ(refusal(now), "worker 'g1': its device count has changed: it was 1, and is 0 (restart the worker)");
  now = known;
  now.bands[1].devices.front().uuid = "u1";
  EXPECT_EQ(refusal(now), "worker 'g1': its device properties have changed (restart the worker)");
}

TEST(WorkerTable, PlacesOfTheGoneAreUsedAgain) {
  WorkerTable table;
  const WorkerSlot first = table.add(WorkerId{1}, Incarnation{1}, worker_with({1000, 1000}));
  table.add(WorkerId{2}, Incarnation{2}, worker_with({1000}));
  EXPECT_EQ(table.alive_bands(), 3U);
  table.remove(first);
  EXPECT_EQ(table.alive_bands(), 1U);
  EXPECT_EQ(table.alive_workers(), 1U);
  EXPECT_FALSE(table.find(WorkerId{1}).valid());
  EXPECT_FALSE(table.find("w1").valid());
  const WorkerSlot third = table.add(WorkerId{3}, Incarnation{3}, worker_with({2000, 1000}));
  EXPECT_EQ(third, first);
  EXPECT_EQ(table.band_slots(), 3U);
  EXPECT_EQ(table.worker_slots(), 2U);
  for (const BandSlot band : table[third].bands) {
    EXPECT_TRUE(table[band].alive);
    EXPECT_EQ(table[band].id.worker, WorkerId{3});
    EXPECT_EQ(table.worker_of(band).id, WorkerId{3});
    EXPECT_EQ(table[band].in_flight, 0U);
  }
}

TEST(WorkerTable, EveryChangeOfTheBandsBeginsAnEpoch) {
  WorkerTable table;
  const std::uint64_t empty = table.epoch();
  const WorkerSlot slot = table.add(WorkerId{1}, Incarnation{1}, worker_with({1000}));
  const std::uint64_t joined = table.epoch();
  EXPECT_NE(joined, empty);
  table.touch(BandSlot{0});
  EXPECT_NE(table.epoch(), joined);
  const std::uint64_t touched = table.epoch();
  table.remove(slot);
  EXPECT_NE(table.epoch(), touched);
}

}  // namespace
}  // namespace penstock::supervisor
